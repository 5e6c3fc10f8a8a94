//! A long run: informers, handlers and workers under steady changes and faults. In the end nothing has grown, and every cache
//! is what the server has.

mod changes;
mod gauge;
mod house;
mod trouble;

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
use self::gauge::{Gauge, Sample};
use self::house::House;
use self::trouble::Trouble;
use crate::Outcome;
use crate::measure::allocated;

/// How long things may take to come to rest.
const REST: Duration = Duration::from_mins(1);
/// How many changes the server remembers: few, because they come and go with compactions and would hide what grows.
const HISTORY: usize = 200;
const SECOND: Duration = Duration::from_secs(1);

/// What is chosen of a run.
#[derive(Debug, Clone, Args)]
pub struct Plan {
    /// How long it takes
    #[arg(long, default_value_t = 3_600)]
    pub seconds: u64,
    /// How many objects there are
    #[arg(long, default_value_t = 2_000)]
    pub objects: usize,
    /// How many changes there are each second
    #[arg(long, default_value_t = 200)]
    pub rate: u32,
    /// What chance is made of
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Keep something of every event, to see that it is noticed
    #[arg(long)]
    pub leak: bool,
}

/// Runs it and prints how it went; an error if it did not go well.
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
    let house = House::open(&server, plan.leak).await?;
    let began = Instant::now();
    let end = began + Duration::from_secs(plan.seconds);
    let stop = CancellationToken::new();
    let troubled =
        tokio::spawn(Trouble::new(plan.seed).make(Arc::clone(&server), house.clone(), stop.clone()));
    let changing = tokio::spawn(changes.make(plan.rate, stop.clone()));

    let mut gauge = Gauge::new(Duration::from_secs(plan.seconds));
    let mut second = interval(SECOND);
    println!("{}", Sample::HEADS);
    while Instant::now() < end && !changing.is_finished() {
        second.tick().await;
        // The server remembers thousands, which is no growth of anything that is looked at here.
        server.forget_requests();
        gauge.add(Sample {
            at: began.elapsed(),
            live: allocated(counting),
            resident: gauge::resident()?,
            tasks: tasks(),
            waiting: house.waiting(),
        });
    }
    stop.cancel();
    let changes = changing.await??;
    troubled.await?;
    println!("{} changes, {}", changes.made(), house.told());

    house.compare_with(&server, &changes, REST).await?;
    house.close().await?;
    tasks_are_at_most(tasks_before).await?;
    if let Some(server) = Arc::into_inner(server) {
        server.stop().await;
    }
    gauge.verdict().map_err(Into::into)
}

fn tasks() -> usize {
    Handle::current().metrics().num_alive_tasks()
}

/// Connections close after those who used them.
async fn tasks_are_at_most(before: usize) -> Outcome {
    let began = Instant::now();
    while tasks() > before {
        if began.elapsed() > REST {
            return Err(format!("{} tasks are left of those that informers had", tasks() - before).into());
        }
        sleep(SECOND / 10).await;
    }
    Ok(())
}
