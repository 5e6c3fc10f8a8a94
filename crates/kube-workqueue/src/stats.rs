//! Statistics of a queue.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::outcome::{AttemptResult, Outcome};
use crate::queue::{QueueItem, WorkQueue, wake_all};

/// State of a queue, and counts since it was created. Returned by [`WorkQueue::stats`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct QueueStats {
    /// Number of queued items.
    pub queued: usize,
    /// Number of items being processed.
    pub running: usize,
    /// Number of delayed items.
    pub delayed: usize,
    /// Age of the first item in the queue; with several priorities, the largest age of their first items. None unless the
    /// queue was built with [`track_age`](crate::QueueBuilder::track_age) or with metrics.
    pub oldest: Option<Duration>,
    /// Time until the next delayed item is due.
    pub next_due: Option<Duration>,
    /// Number of adds, also those of running items. Duplicates are not counted.
    pub adds: u64,
    /// Number of adds with a delay or a rate limit.
    pub retries: u64,
    /// Number of attempts of [`workers`](crate::workers) that succeeded.
    pub done: u64,
    /// Number of attempts that failed, panicked, exceeded the deadline or returned
    /// [`Outcome::Requeue`](crate::Outcome::Requeue).
    pub failed: u64,
    /// Number of attempts that returned [`Outcome::GiveUp`](crate::Outcome::GiveUp).
    pub given_up: u64,
    /// Whether the queue is shut down.
    pub is_shut_down: bool,
}

/// Counts of every queue, also without metrics.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    retries: AtomicU64,
    done: AtomicU64,
    failed: AtomicU64,
    given_up: AtomicU64,
}

impl Counters {
    pub(crate) fn count_retry(&self) {
        self.retries.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn count_attempt(&self, result: &AttemptResult) {
        let counter = match result {
            AttemptResult::Returned(Outcome::Done | Outcome::RequeueAfter(_)) => &self.done,
            AttemptResult::Returned(Outcome::GiveUp(_)) => &self.given_up,
            AttemptResult::Returned(Outcome::Requeue)
            | AttemptResult::Error(_)
            | AttemptResult::Panic(_)
            | AttemptResult::Timeout(_) => &self.failed,
        };
        counter.fetch_add(1, Ordering::Relaxed);
    }
}

impl<T: QueueItem> WorkQueue<T> {
    /// Returns the statistics of the queue.
    ///
    /// # Examples
    /// ```
    /// use kube_workqueue::WorkQueue;
    ///
    /// let queue = WorkQueue::new("names");
    /// queue.add("shop/cart");
    /// let stats = queue.stats();
    /// assert_eq!((stats.queued, stats.running, stats.adds), (1, 0, 1));
    /// ```
    #[must_use]
    pub fn stats(&self) -> QueueStats {
        let shared = &self.shared;
        let (now, mut stats) = (shared.now(), QueueStats::default());
        let wakers = {
            let mut state = shared.state.lock();
            let (queued, wakers) = shared.count_queued(&mut state, now);
            let age = |since| Duration::from_nanos(now.saturating_sub(since));
            stats.queued = queued;
            stats.running = state.core.running();
            stats.delayed = state.core.delayed();
            stats.oldest = shared
                .tracks_times
                .then(|| state.core.oldest().map(age))
                .flatten();
            stats.next_due = state
                .core
                .next_due()
                .map(|due| Duration::from_nanos(due.saturating_sub(now)));
            stats.adds = state.core.total_adds();
            stats.is_shut_down = state.core.is_closed();
            wakers
        };
        wake_all(wakers);
        let load = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        stats.retries = load(&shared.counters.retries);
        stats.done = load(&shared.counters.done);
        stats.failed = load(&shared.counters.failed);
        stats.given_up = load(&shared.counters.given_up);
        stats
    }
}
