//! Rate limiters: how long an item waits after a failure.

mod counts;
mod limiters;
#[cfg(test)]
mod tests;

use std::time::Duration;

pub use self::limiters::{Bucket, Exponential, FastSlow, Jittered, MaxOf, MaxWait};
use crate::queue::Work;

/// Says how long an item has to wait before it is worked on again.
///
/// Users implement it as they like. It stands for client-go's `TypedRateLimiter`.
///
/// One that panics does so to whoever asked the queue. [Workers](crate::workers) log it and go on: an item that it cannot say
/// a wait for comes back after ten seconds, one whose failures it cannot count is at its first attempt.
///
/// ```
/// use kube_workqueue::{RateLimiter, WorkQueue};
/// use std::time::Duration;
///
/// /// A second, each time.
/// struct Patient;
///
/// impl RateLimiter<String> for Patient {
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
/// let queue = WorkQueue::with_limiter("websites", Patient);
/// queue.add_rate_limited("shop/cart".to_owned());
/// assert_eq!(queue.delayed(), 1);
/// ```
#[doc(alias = "TypedRateLimiter")]
pub trait RateLimiter<T>: Send + 'static {
    /// Counts a failure of the item, and says how long it has to wait.
    fn when(&mut self, item: &T) -> Duration;

    /// Forgets the failures of the item.
    fn forget(&mut self, item: &T);

    /// How many failures of the item are counted.
    fn requeues(&self, item: &T) -> u32;
}

/// client-go's default for controllers: five milliseconds after the first failure and twice as much after each further one,
/// up to a thousand seconds; and all items together ten times a second, after a hundred that need not wait.
#[doc(alias("DefaultTypedControllerRateLimiter", "DefaultControllerRateLimiter"))]
#[must_use]
pub fn default_limiter<T: Work>() -> MaxOf<T> {
    MaxOf::new()
        .and(Exponential::new(
            Duration::from_millis(5),
            Duration::from_secs(1_000),
        ))
        .and(Bucket::new(10.0, 100))
}
