//! One subject of the benchmark on a cluster, counting all allocations.

use std::alloc::System;

use bench::Outcome;
use bench::cluster::{SubjectOptions, run};
use bench::measure::allocated;
use clap::Parser;
use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};

#[global_allocator]
static COUNTING: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

#[derive(Debug, Parser)]
struct ClusterHeapArguments {
    #[command(subcommand)]
    subject: SubjectOptions,
}

fn main() -> Outcome {
    run(
        ClusterHeapArguments::parse().subject,
        Some(|| allocated(COUNTING)),
    )
}
