//! One subject of the benchmark on a cluster.

use bench::Outcome;
use bench::cluster::{SubjectOptions, run};
use clap::Parser;

#[derive(Debug, Parser)]
struct ClusterArguments {
    #[command(subcommand)]
    subject: SubjectOptions,
}

fn main() -> Outcome {
    run(ClusterArguments::parse().subject, None)
}
