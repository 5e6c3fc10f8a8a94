//! Runs one scenario of one subject.

use bench::Outcome;
use bench::pipeline::scenario::{Scenario, Size};
use bench::pipeline::subjects::{Subject, kube_informer, kube_runtime};
use clap::Parser;

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
