//! Add, get and done, like workers do.
//!
//! In a burst on tokio, the adding task wakes a worker that is scheduled on the same thread. So with one
//! worker, almost all items are added before any is taken. This measures filling and emptying a queue of a
//! million items, which is limited by memory, and not task switches.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures::future::try_join_all;
use kube_workqueue::WorkQueue;

use super::keys::keys;
use super::{COPIED, Key, QueueSize};
use crate::Outcome;
use crate::clock::{ElapsedTime, Stopwatch};
use crate::measure::Countdown;
use crate::report::Report;

/// Number of keys that are requeued.
const HOT: usize = 16;

/// Runs on the current runtime.
///
/// # Errors
/// A worker panicked.
pub async fn cycles(report: Report, size: QueueSize) -> Outcome {
    of_keys::<Arc<str>>(report, size, "").await?;
    of_keys::<String>(report, size, COPIED).await
}

async fn of_keys<T: Key>(report: Report, size: QueueSize, manner: &str) -> Outcome {
    let name = |what: &str| format!("{what}, {} workers", size.workers);
    let in_all = size.items() / size.workers * size.workers;
    let took = distinct::<T>(size).await?;
    report.each(&name("cycle of distinct keys"), manner, in_all, took);
    let took = requeue_hot_keys::<T>(size).await?;
    report.each(&name("cycle of hot keys"), manner, in_all, took);
    let took = burst::<T>(size).await?;
    report.each(&name("cycle of a burst"), manner, size.items(), took);
    Ok(())
}

/// Lets each worker add new keys and take the next one. So each add is followed by one get, and no worker
/// waits without a key.
async fn distinct<T: Key>(size: QueueSize) -> Outcome<ElapsedTime> {
    let queue = WorkQueue::new("distinct");
    let keys: Vec<T> = keys(size.items());
    let each = size.items() / size.workers;
    let shares: Vec<Vec<T>> = keys.chunks_exact(each).map(<[T]>::to_vec).collect();
    let watch = Stopwatch::start();
    let workers = shares.into_iter().map(|own| {
        let queue = queue.clone();
        tokio::spawn(async move {
            for key in &own {
                queue.add(key.clone());
                drop(queue.get().await);
            }
            own
        })
    });
    // The keys are dropped after the measurement.
    let _shares = try_join_all(workers).await?;
    Ok(watch.stop())
}

/// Lets workers add their current key again, so that it is requeued when they are done.
async fn requeue_hot_keys<T: Key>(size: QueueSize) -> Outcome<ElapsedTime> {
    let queue = WorkQueue::new("hot");
    for key in keys::<T>(HOT) {
        queue.add(key);
    }
    let each = size.items() / size.workers;
    let watch = Stopwatch::start();
    let workers = (0..size.workers).map(|_| {
        let queue = queue.clone();
        tokio::spawn(async move {
            for _ in 0..each {
                if let Some(item) = queue.get().await {
                    queue.add(T::clone(&item));
                }
            }
        })
    });
    try_join_all(workers).await?;
    Ok(watch.stop())
}

/// Adds all keys at once, like an informer does, while workers wait.
async fn burst<T: Key>(size: QueueSize) -> Outcome<ElapsedTime> {
    let queue = WorkQueue::<T>::new("burst");
    let keys: Vec<T> = keys(size.items());
    let left = Arc::new(AtomicUsize::new(keys.len()));
    let all = Countdown::of(1);
    let watch = Stopwatch::start();
    for _ in 0..size.workers {
        let (queue, left, all) = (queue.clone(), Arc::clone(&left), all.clone());
        tokio::spawn(async move {
            while let Some(item) = queue.get().await {
                item.done();
                if left.fetch_sub(1, Ordering::Relaxed) == 1 {
                    all.one_is_done();
                }
            }
        });
    }
    let adds = queue.clone();
    let adding = tokio::spawn(async move {
        for key in &keys {
            adds.add(key.clone());
        }
        keys
    });
    all.all_are_done().await;
    let took = watch.stop();
    queue.shut_down();
    drop(adding.await?);
    Ok(took)
}
