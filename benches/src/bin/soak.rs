//! Runs informers for a long time and reports whether memory or tasks have grown.

use std::alloc::System;

use bench::Outcome;
use bench::soak::{self, Plan};
use clap::Parser;
use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};

#[global_allocator]
static COUNTING: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

#[derive(Debug, Parser)]
struct SoakArguments {
    #[command(flatten)]
    plan: Plan,
}

#[tokio::main]
async fn main() -> Outcome {
    // One handler panics on purpose, hundreds of times.
    std::panic::set_hook(Box::new(|panic| {
        let words = panic.payload_as_str().unwrap_or_default();
        if !words.contains("on purpose") {
            eprintln!("{panic}");
        }
    }));
    soak::run(&SoakArguments::parse().plan, COUNTING).await
}
