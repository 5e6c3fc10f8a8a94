//! One subject of the benchmark on a cluster.

use bench::Outcome;
use bench::cluster::{Choice, run};
use clap::Parser;

#[derive(Debug, Parser)]
struct Cli {
    #[command(subcommand)]
    choice: Choice,
}

fn main() -> Outcome {
    run(Cli::parse().choice, None)
}
