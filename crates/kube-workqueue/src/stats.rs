//! How a queue is at a moment, for those who look at it.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::queue::{Work, WorkQueue, wake};

/// How a queue is at one moment, and what it has done so far. Made by [`WorkQueue::stats`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct QueueStats {
    /// Items in line.
    pub queued: usize,
    /// Items that are worked on.
    pub running: usize,
    /// Items whose time has not come.
    pub delayed: usize,
    /// How long the first in line has been there; of several priorities, the longest. Only of a queue that was made with
    /// [`timed`](crate::QueueBuilder::timed) or with metrics.
    pub oldest: Option<Duration>,
    /// When the next delayed item is due.
    pub next_due: Option<Duration>,
    /// Items that came in line, or were added while they were worked on; folded ones are not counted.
    pub adds: u64,
    /// Adds with a delay, or held back by the rate limiter.
    pub retries: u64,
    /// Attempts of [`workers`](crate::workers) that went well.
    pub done: u64,
    /// Those that failed, panicked or took too long, or asked to be tried again.
    pub failed: u64,
    /// Those that gave their item up.
    pub given_up: u64,
    /// Whether the queue takes nothing any more.
    pub is_shut_down: bool,
}

/// What is counted whether somebody looks or not, because it costs next to nothing.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    retries: AtomicU64,
    done: AtomicU64,
    failed: AtomicU64,
    given_up: AtomicU64,
}

/// What came of an attempt, as far as it is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Attempted {
    Done,
    Failed,
    GivenUp,
}

impl Tally {
    pub(crate) fn retried(&self) {
        self.retries.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn attempted(&self, attempted: Attempted) {
        let count = match attempted {
            Attempted::Done => &self.done,
            Attempted::Failed => &self.failed,
            Attempted::GivenUp => &self.given_up,
        };
        count.fetch_add(1, Ordering::Relaxed);
    }
}

impl<T: Work> WorkQueue<T> {
    /// How the queue is.
    ///
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
        let called = {
            let mut state = shared.state.lock();
            let (queued, called) = shared.in_line(&mut state, now);
            let ago = |since| Duration::from_nanos(now.saturating_sub(since));
            stats.queued = queued;
            stats.running = state.core.running();
            stats.delayed = state.core.delayed();
            stats.oldest = shared.is_timed.then(|| state.core.oldest().map(ago)).flatten();
            stats.next_due = state
                .core
                .next_due()
                .map(|at| Duration::from_nanos(at.saturating_sub(now)));
            stats.adds = state.core.all_adds();
            stats.is_shut_down = state.core.is_closed();
            called
        };
        wake(called);
        let count = |count: &AtomicU64| count.load(Ordering::Relaxed);
        stats.retries = count(&shared.tally.retries);
        stats.done = count(&shared.tally.done);
        stats.failed = count(&shared.tally.failed);
        stats.given_up = count(&shared.tally.given_up);
        stats
    }
}
