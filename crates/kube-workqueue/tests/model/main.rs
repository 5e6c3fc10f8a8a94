//! Wake-ups of the queue, under all interleavings of threads.
//!
//! The sources of the queue are compiled here once more, with loom's locks and with models of tokio's `Notify` and clock in
//! place of `src/sync.rs`. Loom runs each scenario in all orders of its steps, up to a number of preemptions. It reports a
//! lost wake-up as a deadlock.

#![allow(
    dead_code,
    unreachable_pub,
    clippy::unused_self,
    reason = "the sources are a library's, and the model uses a part of them"
)]

#[path = "../../src/builder.rs"]
mod builder;
#[path = "../../src/core/mod.rs"]
mod core;
#[path = "../../src/guard.rs"]
mod guard;
#[path = "../../src/hash.rs"]
mod hash;
#[path = "../../src/limit/mod.rs"]
mod limit;
/// Without metrics, whatever features are enabled.
#[path = "../../src/metrics/none.rs"]
mod metrics;
#[path = "../../src/outcome.rs"]
mod outcome;
#[path = "../../src/queue.rs"]
mod queue;
#[path = "../../src/stats.rs"]
mod stats;
mod sync;
#[path = "../../src/wait.rs"]
mod wait;
#[path = "../../src/waiters.rs"]
mod waiters;

mod delays;
mod shutdown;
mod waiting;

use loom::thread::{JoinHandle, spawn};

use crate::limit::FastSlow;
use crate::queue::WorkQueue;

/// Runs a scenario in all orders with at most three preemptions. A thread that waits is not preempted.
fn in_all_orders(scenario: impl Fn() + Send + Sync + 'static) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(3);
    model.check(scenario);
}

fn queue() -> WorkQueue<u8> {
    let wait = std::time::Duration::from_secs(1);
    WorkQueue::with_limiter("q", FastSlow::new(wait, wait, 0))
}

/// Spawns a thread that waits for an item, finishes and returns it.
fn getter(queue: &WorkQueue<u8>) -> JoinHandle<Option<u8>> {
    let queue = queue.clone();
    spawn(move || loom::future::block_on(queue.get()).map(|item| *item))
}

/// Polls for an item once and drops the wait.
fn begin_to_wait(queue: &WorkQueue<u8>) -> Option<u8> {
    futures::FutureExt::now_or_never(queue.get())
        .flatten()
        .map(|item| *item)
}

fn sorted<const N: usize>(getters: [JoinHandle<Option<u8>>; N]) -> [Option<u8>; N] {
    let mut items = getters.map(|getter| getter.join().expect("a getter"));
    items.sort_unstable();
    items
}
