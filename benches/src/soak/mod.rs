//! A long run: informers, handlers and workers under steady changes and faults. At the end memory and tasks
//! must not have grown, and every cache must equal the server's state.

mod changes;
mod faults;
mod gauge;
mod system;

use std::alloc::System;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use kube_embedded::Server;
use stats_alloc::StatsAlloc;
use tokio::runtime::Handle;
use tokio::time::{Instant, interval, sleep};
use tokio_util::sync::CancellationToken;

use self::changes::Changes;
use self::faults::FaultInjector;
use self::gauge::{Gauge, Sample};
use self::system::SystemUnderTest;
use crate::Outcome;
use crate::measure::allocated;

/// Timeout for everything to become idle.
const REST: Duration = Duration::from_mins(1);
/// Number of changes that the server remembers: few, because their memory varies with compactions and would
/// hide growth.
const HISTORY: usize = 200;
const SECOND: Duration = Duration::from_secs(1);

/// Options of a run.
#[derive(Debug, Clone, Args)]
pub struct Plan {
    /// Duration, in seconds
    #[arg(long, default_value_t = 3_600)]
    pub seconds: u64,
    /// Number of objects
    #[arg(long, default_value_t = 2_000)]
    pub objects: usize,
    /// Changes per second
    #[arg(long, default_value_t = 200)]
    pub rate: u32,
    /// Random seed
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Leak memory with every event, to check that this is detected
    #[arg(long)]
    pub leak: bool,
}

/// Runs the test and prints the results. Fails if memory or tasks grow, or if a cache is wrong.
pub async fn run(plan: &Plan, counting: &StatsAlloc<System>) -> Outcome {
    let server = Server::builder()
        .seed(plan.seed)
        .history(HISTORY)
        .bookmark_interval(SECOND)
        .start()
        .await?;
    let server = Arc::new(server);
    let writing = server.direct_client();
    let changes = Changes::begin(writing, plan.objects, plan.seed).await?;
    let tasks_before = tasks();
    let system = SystemUnderTest::open(&server, plan.leak).await?;
    let began = Instant::now();
    let end = began + Duration::from_secs(plan.seconds);
    let stop = CancellationToken::new();
    let injecting =
        tokio::spawn(FaultInjector::new(plan.seed).run(Arc::clone(&server), system.clone(), stop.clone()));
    let changing = tokio::spawn(changes.make(plan.rate, stop.clone()));

    let mut gauge = Gauge::new(Duration::from_secs(plan.seconds));
    let mut second = interval(SECOND);
    println!("{}", Sample::HEADS);
    while Instant::now() < end && !changing.is_finished() {
        second.tick().await;
        // The server's record of requests grows and is not under test.
        server.forget_requests();
        gauge.add(Sample {
            at: began.elapsed(),
            live: allocated(counting),
            resident: gauge::resident()?,
            tasks: tasks(),
            waiting: system.waiting(),
        });
    }
    stop.cancel();
    let changes = changing.await??;
    injecting.await?;
    println!("{} changes, {}", changes.made(), system.summary());

    system.compare_with(&server, &changes, REST).await?;
    system.close().await?;
    tasks_are_at_most(tasks_before).await?;
    if let Some(server) = Arc::into_inner(server) {
        server.stop().await;
    }
    gauge.verdict().map_err(Into::into)
}

fn tasks() -> usize {
    Handle::current().metrics().num_alive_tasks()
}

/// Waits until the informers' tasks have ended. Connections close with a delay.
async fn tasks_are_at_most(before: usize) -> Outcome {
    let began = Instant::now();
    while tasks() > before {
        if began.elapsed() > REST {
            return Err(format!("{} tasks of the informers are left", tasks() - before).into());
        }
        sleep(SECOND / 10).await;
    }
    Ok(())
}
