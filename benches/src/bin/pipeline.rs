//! Runs one scenario of one subject.

use bench::scenario::{Scenario, Size};
use bench::subjects::{Outcome, kube_informer, kube_runtime};
use clap::{Parser, ValueEnum};

#[derive(Debug, Parser)]
struct Cli {
    subject: Subject,
    scenario: Scenario,
    #[command(flatten)]
    size: Size,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Subject {
    KubeInformer,
    KubeRuntime,
}

#[tokio::main]
async fn main() -> Outcome {
    let cli = Cli::parse();
    match cli.subject {
        Subject::KubeInformer => kube_informer::run(cli.scenario, cli.size).await,
        Subject::KubeRuntime => kube_runtime::run(cli.scenario, cli.size).await,
    }
}
