//! Rate limiters: delays of items after failures.

mod counts;
mod limiters;
#[cfg(test)]
mod tests;

use std::time::Duration;

pub use self::limiters::{Bucket, Exponential, FastSlow, Jitter, MaxOf, MaxWait};
use crate::queue::QueueItem;

/// Returns the delay of an item after a failure.
///
/// Corresponds to client-go's `TypedRateLimiter`.
///
/// # Panics
/// A panic reaches the caller of the queue's method. [Workers](crate::workers) catch and log it: if [`RateLimiter::when`]
/// panics, the item is retried after ten seconds; if [`RateLimiter::requeues`] panics, the attempt counts as the first.
///
/// # Examples
/// ```
/// use kube_workqueue::{RateLimiter, WorkQueue};
/// use std::time::Duration;
///
/// /// Always delays by one second.
/// struct Constant;
///
/// impl RateLimiter<String> for Constant {
///     fn when(&mut self, _: &String) -> Duration {
///         Duration::from_secs(1)
///     }
///
///     fn forget(&mut self, _: &String) {}
///
///     fn requeues(&self, _: &String) -> u32 {
///         0
///     }
/// }
///
/// let queue = WorkQueue::with_limiter("websites", Constant);
/// queue.add_rate_limited("shop/cart".to_owned());
/// assert_eq!(queue.delayed(), 1);
/// ```
#[doc(alias = "TypedRateLimiter")]
pub trait RateLimiter<T>: Send + 'static {
    /// Counts a failure of the item, and returns the delay before its next attempt.
    fn when(&mut self, item: &T) -> Duration;

    /// Forgets the failures of the item.
    fn forget(&mut self, item: &T);

    /// Returns the number of failures of the item since they were last forgotten.
    fn requeues(&self, item: &T) -> u32;
}

/// Returns client-go's default limiter for controllers.
///
/// Each item waits 5 milliseconds after its first failure and twice as long after each further one, up to 1000 seconds. All
/// items together are limited to 10 per second after a burst of 100.
#[doc(alias("DefaultTypedControllerRateLimiter", "DefaultControllerRateLimiter"))]
#[must_use]
pub fn default_limiter<T: QueueItem>() -> MaxOf<T> {
    MaxOf::new()
        .and(Exponential::new(
            Duration::from_millis(5),
            Duration::from_secs(1_000),
        ))
        .and(Bucket::new(10.0, 100))
}
