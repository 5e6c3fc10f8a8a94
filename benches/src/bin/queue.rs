//! Runs one scenario of the work queue.

use bench::Outcome;
use bench::queue::{Scenario, Size, Subject, cycles, delays, limits};
use bench::report::Report;
use clap::Parser;
use tokio::runtime::Builder;

#[derive(Debug, Parser)]
struct Cli {
    subject: Subject,
    scenario: Scenario,
    #[command(flatten)]
    size: Size,
}

fn main() -> Outcome {
    let Cli {
        subject,
        scenario,
        size,
    } = Cli::parse();
    let Subject::KubeWorkqueue = subject;
    let report = Report::of("kube-workqueue");
    // As many processors as the Go side has.
    let busy = Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?;
    // A clock that stands still can only be had with one thread.
    let stopped = Builder::new_current_thread()
        .enable_all()
        .start_paused(true)
        .build()?;
    match scenario {
        Scenario::Cycles => busy.block_on(async { tokio::spawn(cycles(report, size)).await? })?,
        Scenario::Delays => stopped.block_on(delays(report, size)),
        Scenario::Limits => stopped.block_on(limits(report, size)),
    }
    Ok(())
}
