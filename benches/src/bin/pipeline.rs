//! Runs one scenario of one subject.
//!
//! The allocator dominates the measurement: each event makes a pod garbage. Go has its own allocator, and
//! this program uses mimalloc for both subjects in Rust. With glibc's, threads that free objects of other
//! threads block each other.

use bench::Outcome;
use bench::pipeline::scenario::{PipelineScenario, PipelineSize};
use bench::pipeline::subjects::{PipelineSubject, kube_informer, kube_runtime};
use clap::Parser;
use mimalloc::MiMalloc;

#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

#[derive(Debug, Parser)]
struct PipelineArguments {
    subject: PipelineSubject,
    scenario: PipelineScenario,
    #[command(flatten)]
    size: PipelineSize,
}

#[tokio::main]
async fn main() -> Outcome {
    let cli = PipelineArguments::parse();
    match cli.subject {
        PipelineSubject::KubeInformer => kube_informer::run(cli.scenario, cli.size).await,
        PipelineSubject::KubeRuntime => kube_runtime::run(cli.scenario, cli.size).await,
    }
}
