//! Measures the size of a queued item without its key, by counting allocations.

use std::alloc::System;

use bench::measure::allocated;
use bench::queue::{QueueSize, QueueSubject, memory};
use bench::report::Report;
use clap::Parser;
use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};

#[global_allocator]
static COUNTING: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

#[derive(Debug, Parser)]
struct QueueMemoryArguments {
    subject: QueueSubject,
    /// The same for all programs
    #[arg(value_parser = ["memory"])]
    scenario: String,
    #[command(flatten)]
    size: QueueSize,
}

fn main() {
    let cli = QueueMemoryArguments::parse();
    let QueueSubject::KubeWorkqueue = cli.subject;
    memory(Report::of("kube-workqueue"), cli.size, || allocated(COUNTING));
}
