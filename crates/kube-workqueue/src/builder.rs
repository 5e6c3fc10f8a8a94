//! Builder of a queue.

use std::fmt;
use std::sync::Arc;

use crate::limit::{RateLimiter, default_limiter};
use crate::metrics::Meter;
use crate::queue::{QueueItem, Shared, WorkQueue};

/// Builder of a queue. Created by [`WorkQueue::builder`].
///
/// # Examples
/// ```
/// use kube_workqueue::{Exponential, WorkQueue};
/// use std::time::Duration;
///
/// let limiter = Exponential::new(Duration::from_millis(100), Duration::from_secs(60));
/// let queue: WorkQueue<String> = WorkQueue::builder("websites").limiter(limiter).build();
/// assert_eq!(queue.name(), "websites");
/// ```
#[doc(alias = "TypedRateLimitingQueueConfig")]
#[must_use = "call `build` to create the queue"]
pub struct QueueBuilder<T> {
    pub(crate) name: String,
    limiter: Option<Box<dyn RateLimiter<T>>>,
    pub(crate) meter: Option<Meter>,
    tracks_times: bool,
}

impl<T: QueueItem> QueueBuilder<T> {
    pub(crate) fn new(name: String) -> QueueBuilder<T> {
        QueueBuilder {
            name,
            limiter: None,
            meter: None,
            tracks_times: false,
        }
    }

    /// Sets the rate limiter, which returns the delays of failed items; [`default_limiter`] by default.
    pub fn limiter(mut self, limiter: impl RateLimiter<T>) -> Self {
        self.limiter = Some(Box::new(limiter));
        self
    }

    /// Records when items are queued, for [`QueueStats::oldest`](crate::QueueStats::oldest). This costs a call of the clock
    /// for each add, and eight bytes for each item. Queues with metrics always do.
    pub fn track_age(mut self) -> Self {
        self.tracks_times = true;
        self
    }

    /// Builds the queue.
    #[must_use]
    pub fn build(self) -> WorkQueue<T> {
        let limiter = self.limiter.unwrap_or_else(|| Box::new(default_limiter()));
        let shared = Arc::new(Shared::new(self.name, limiter, self.meter, self.tracks_times));
        if let Some(meter) = &shared.meter {
            meter.register(&shared);
        }
        WorkQueue { shared }
    }
}

impl<T> fmt::Debug for QueueBuilder<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("QueueBuilder")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}
