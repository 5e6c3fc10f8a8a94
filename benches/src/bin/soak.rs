//! Runs informers for a long time and says whether anything has grown.

use std::alloc::System;

use bench::Outcome;
use bench::soak::{self, Plan};
use clap::Parser;
use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};

#[global_allocator]
static COUNTING: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

#[derive(Debug, Parser)]
struct Cli {
    #[command(flatten)]
    plan: Plan,
}

#[tokio::main]
async fn main() -> Outcome {
    // The handler that stumbles does so on purpose, and hundreds of times.
    std::panic::set_hook(Box::new(|panic| {
        let words = panic.payload_as_str().unwrap_or_default();
        if !words.contains("on purpose") {
            eprintln!("{panic}");
        }
    }));
    soak::run(&Cli::parse().plan, COUNTING).await
}
