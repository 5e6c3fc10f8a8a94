//! Measures what an item of a queue takes beyond its key, by counting what is allocated.

use std::alloc::System;

use bench::measure::allocated;
use bench::queue::{Size, Subject, memory};
use bench::report::Report;
use clap::Parser;
use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};

#[global_allocator]
static COUNTING: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

#[derive(Debug, Parser)]
struct Cli {
    subject: Subject,
    /// As all programs are called
    #[arg(value_parser = ["memory"])]
    scenario: String,
    #[command(flatten)]
    size: Size,
}

fn main() {
    let cli = Cli::parse();
    let Subject::KubeWorkqueue = cli.subject;
    memory(Report::of("kube-workqueue"), cli.size, || allocated(COUNTING));
}
