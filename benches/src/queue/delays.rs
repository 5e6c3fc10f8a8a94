//! Delayed items that all become due at the same time.

use std::sync::Arc;
use std::time::Duration;

use kube_workqueue::{Exponential, WorkQueue};

use super::{COPIED, Key, QueueSize, keys};
use crate::clock::Stopwatch;
use crate::report::Report;

/// Returns a queue with a limiter per item.
pub(super) fn queue<T: Key>() -> WorkQueue<T> {
    let limiter = Exponential::new(Duration::from_millis(5), Duration::from_secs(1_000));
    WorkQueue::with_limiter("delays", limiter)
}

/// Measures items that are added with a delay. Requires a paused clock.
pub async fn delays(report: Report, size: QueueSize) {
    delays_of::<Arc<str>>(report, size, "").await;
    delays_of::<String>(report, size, COPIED).await;
}

async fn delays_of<T: Key>(report: Report, size: QueueSize, manner: &str) {
    let queue = queue::<T>();
    let (keys, delays) = (keys::keys::<T>(size.items()), keys::delays(size.items()));
    let watch = Stopwatch::start();
    for (key, delay) in keys.iter().zip(&delays) {
        queue.add_after(key.clone(), *delay);
    }
    report.each("insert a delayed item", manner, keys.len(), watch.stop());

    let watch = Stopwatch::start();
    tokio::time::advance(Duration::from_hours(2)).await;
    for _ in &keys {
        drop(queue.get().await);
    }
    report.each("take a delayed item", manner, keys.len(), watch.stop());
}

/// Measures items that are delayed by a limiter, become due, and are forgotten. Requires a paused clock.
pub async fn limits(report: Report, size: QueueSize) {
    limits_of::<Arc<str>>(report, size, "").await;
    limits_of::<String>(report, size, COPIED).await;
}

async fn limits_of<T: Key>(report: Report, size: QueueSize, manner: &str) {
    let queue = queue::<T>();
    let keys = keys::keys::<T>(size.items());
    let watch = Stopwatch::start();
    for key in &keys {
        queue.add_rate_limited(key.clone());
    }
    report.each("insert a rate-limited item", manner, keys.len(), watch.stop());

    let watch = Stopwatch::start();
    tokio::time::advance(Duration::from_hours(1)).await;
    for _ in &keys {
        if let Some(item) = queue.get().await {
            queue.forget(&item);
        }
    }
    report.each(
        "take and forget a rate-limited item",
        manner,
        keys.len(),
        watch.stop(),
    );
}
