//! Add, get and done, as workers do it.
//!
//! In a burst on tokio the one who adds calls a worker whose task then stands in the queue of its own thread, so that with one
//! worker almost everything is added before anything is taken. It measures a line of a million items that fills and
//! empties, which the memory decides, and not how fast tasks take turns.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures::future::try_join_all;
use kube_workqueue::WorkQueue;

use super::keys::keys;
use super::{COPIED, Key, Size};
use crate::Outcome;
use crate::clock::{Stopwatch, Took};
use crate::measure::Countdown;
use crate::report::Report;

/// Keys that go round.
const HOT: usize = 16;

/// Measures on the runtime that it is called on.
///
/// # Errors
/// A worker panicked.
pub async fn cycles(report: Report, size: Size) -> Outcome {
    of_keys::<Arc<str>>(report, size, "").await?;
    of_keys::<String>(report, size, COPIED).await
}

async fn of_keys<T: Key>(report: Report, size: Size, manner: &str) -> Outcome {
    let name = |what: &str| format!("{what}, {} workers", size.workers);
    let in_all = size.items() / size.workers * size.workers;
    let took = distinct::<T>(size).await?;
    report.each(&name("cycle of distinct keys"), manner, in_all, took);
    let took = go_round::<T>(size).await?;
    report.each(&name("cycle of hot keys"), manner, in_all, took);
    let took = burst::<T>(size).await?;
    report.each(&name("cycle of a burst"), manner, size.items(), took);
    Ok(())
}

/// Each worker adds keys that are not added again, and takes whichever is next. So each add is one to take, and nobody waits
/// in vain.
async fn distinct<T: Key>(size: Size) -> Outcome<Took> {
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
    // The keys are let go of when the clock has stopped, not on it.
    let _shares = try_join_all(workers).await?;
    Ok(watch.stop())
}

/// Workers add what they work on once more, so that it comes back when they are done.
async fn go_round<T: Key>(size: Size) -> Outcome<Took> {
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

/// One adds everything, as an informer does, while workers wait for it.
async fn burst<T: Key>(size: Size) -> Outcome<Took> {
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
