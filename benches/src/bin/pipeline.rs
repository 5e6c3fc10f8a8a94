//! Runs one scenario of one subject.
//!
//! What is measured is mostly the allocator: each event makes a pod garbage. Go brings an allocator of its own, and so does
//! this program, for both subjects in Rust. With glibc's, threads that free what others have made wait for each other.

use bench::Outcome;
use bench::pipeline::scenario::{Scenario, Size};
use bench::pipeline::subjects::{Subject, kube_informer, kube_runtime};
use clap::Parser;
use mimalloc::MiMalloc;

#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

#[derive(Debug, Parser)]
struct Cli {
    subject: Subject,
    scenario: Scenario,
    #[command(flatten)]
    size: Size,
}

#[tokio::main]
async fn main() -> Outcome {
    let cli = Cli::parse();
    match cli.subject {
        Subject::KubeInformer => kube_informer::run(cli.scenario, cli.size).await,
        Subject::KubeRuntime => kube_runtime::run(cli.scenario, cli.size).await,
    }
}
