//! A builder without metrics, whatever features the library has.

use std::sync::Arc;

use crate::limit::{RateLimiter, default_limiter};
use crate::queue::{Shared, Work, WorkQueue};

pub(crate) struct QueueBuilder<T> {
    name: String,
    limiter: Option<Box<dyn RateLimiter<T>>>,
}

impl<T: Work> QueueBuilder<T> {
    pub(crate) fn new(name: String) -> QueueBuilder<T> {
        QueueBuilder { name, limiter: None }
    }

    pub(crate) fn limiter(mut self, limiter: impl RateLimiter<T>) -> Self {
        self.limiter = Some(Box::new(limiter));
        self
    }

    pub(crate) fn build(self) -> WorkQueue<T> {
        let limiter = self.limiter.unwrap_or_else(|| Box::new(default_limiter()));
        WorkQueue {
            shared: Arc::new(Shared::new(self.name, limiter, None)),
        }
    }
}
