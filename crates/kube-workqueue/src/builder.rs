//! A queue with choices.

use std::fmt;
use std::sync::Arc;

use crate::limit::{RateLimiter, default_limiter};
use crate::metrics::Meter;
use crate::queue::{Shared, Work, WorkQueue};

/// What a queue is to be like. Made by [`WorkQueue::builder`].
///
/// ```
/// use kube_workqueue::{Exponential, WorkQueue};
/// use std::time::Duration;
///
/// let limiter = Exponential::new(Duration::from_millis(100), Duration::from_secs(60));
/// let queue: WorkQueue<String> = WorkQueue::builder("websites").limiter(limiter).build();
/// assert_eq!(queue.name(), "websites");
/// ```
#[doc(alias = "TypedRateLimitingQueueConfig")]
#[must_use = "nothing is made before `build`"]
pub struct QueueBuilder<T> {
    pub(crate) name: String,
    limiter: Option<Box<dyn RateLimiter<T>>>,
    pub(crate) meter: Option<Meter>,
    timed: bool,
}

impl<T: Work> QueueBuilder<T> {
    pub(crate) fn new(name: String) -> QueueBuilder<T> {
        QueueBuilder {
            name,
            limiter: None,
            meter: None,
            timed: false,
        }
    }

    /// How long items wait after failures; as client-go's [`default_limiter`] says, unless told otherwise.
    pub fn limiter(mut self, limiter: impl RateLimiter<T>) -> Self {
        self.limiter = Some(Box::new(limiter));
        self
    }

    /// Keeps in mind since when items are in line, so that [`WorkQueue::stats`] tells how old the oldest is. It costs a look
    /// at the clock and eight bytes for each item. With metrics it is so anyway.
    pub fn timed(mut self) -> Self {
        self.timed = true;
        self
    }

    /// The queue.
    #[must_use]
    pub fn build(self) -> WorkQueue<T> {
        let limiter = self.limiter.unwrap_or_else(|| Box::new(default_limiter()));
        let shared = Arc::new(Shared::new(self.name, limiter, self.meter, self.timed));
        if let Some(meter) = &shared.meter {
            meter.watch(&shared);
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
