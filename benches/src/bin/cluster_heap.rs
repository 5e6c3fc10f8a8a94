//! One subject of the benchmark on a cluster, with everything counted that it allocates.

use std::alloc::System;

use bench::Outcome;
use bench::cluster::{Choice, run};
use bench::measure::allocated;
use clap::Parser;
use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};

#[global_allocator]
static COUNTING: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

#[derive(Debug, Parser)]
struct Cli {
    #[command(subcommand)]
    choice: Choice,
}

fn main() -> Outcome {
    run(Cli::parse().choice, Some(|| allocated(COUNTING)))
}
