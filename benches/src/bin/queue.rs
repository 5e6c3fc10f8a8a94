//! Runs one scenario of the work queue.

use bench::Outcome;
use bench::queue::{QueueScenario, QueueSize, QueueSubject, cycles, delays, limits};
use bench::report::Report;
use clap::Parser;
use tokio::runtime::Builder;

#[derive(Debug, Parser)]
struct QueueArguments {
    subject: QueueSubject,
    scenario: QueueScenario,
    #[command(flatten)]
    size: QueueSize,
}

fn main() -> Outcome {
    let QueueArguments {
        subject,
        scenario,
        size,
    } = QueueArguments::parse();
    let QueueSubject::KubeWorkqueue = subject;
    let report = Report::of("kube-workqueue");
    // As many threads as on the Go side.
    let busy = Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?;
    // A paused clock requires a single thread.
    let stopped = Builder::new_current_thread()
        .enable_all()
        .start_paused(true)
        .build()?;
    match scenario {
        QueueScenario::Cycles => busy.block_on(async { tokio::spawn(cycles(report, size)).await? })?,
        QueueScenario::Delays => stopped.block_on(delays(report, size)),
        QueueScenario::Limits => stopped.block_on(limits(report, size)),
    }
    Ok(())
}
