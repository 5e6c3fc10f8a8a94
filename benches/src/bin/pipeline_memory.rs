//! Measures the size of a cache entry without its object, by counting allocations.

#![allow(
    clippy::cast_precision_loss,
    reason = "measurements are printed with few digits"
)]

use std::alloc::System;
use std::sync::Arc;
use std::time::Duration;

use bench::Outcome;
use bench::measure::allocated;
use bench::pipeline::pods;
use bench::pipeline::scenario::PipelineSize;
use bench::pipeline::subjects::{PipelineSubject, kube_informer, kube_runtime};
use bench::report::Report;
use clap::Parser;
use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};

#[global_allocator]
static COUNTING: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// Time for background work to release memory after the cache is filled.
const SETTLING: Duration = Duration::from_millis(500);

#[derive(Debug, Parser)]
struct PipelineMemoryArguments {
    subject: PipelineSubject,
    /// The same for all programs
    #[arg(value_parser = ["memory"])]
    scenario: String,
    #[command(flatten)]
    size: PipelineSize,
}

#[tokio::main]
async fn main() -> Outcome {
    let cli = PipelineMemoryArguments::parse();
    let objects = cli.size.objects();
    let before = allocated(COUNTING);
    let bare: Vec<_> = pods::pods(objects, 1).into_iter().map(Arc::new).collect();
    let bare_bytes = allocated(COUNTING) - before - (bare.capacity() * size_of::<Arc<()>>()) as f64;
    drop(bare);

    let before = allocated(COUNTING);
    let (subject, bytes) = match cli.subject {
        PipelineSubject::KubeInformer => {
            let filled = kube_informer::filled(objects).await?;
            tokio::time::sleep(SETTLING).await;
            let bytes = allocated(COUNTING) - before;
            filled.shutdown().await;
            ("kube-informer", bytes)
        }
        PipelineSubject::KubeRuntime => {
            let filled = kube_runtime::filled(objects).await?;
            tokio::time::sleep(SETTLING).await;
            let bytes = allocated(COUNTING) - before;
            drop(filled);
            ("kube-runtime", bytes)
        }
    };
    Report::of(subject).figure(
        "memory of an entry beyond its object",
        "bytes",
        (bytes - bare_bytes) / objects as f64,
    );
    Ok(())
}
