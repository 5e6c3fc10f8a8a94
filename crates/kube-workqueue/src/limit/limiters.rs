//! Rate limiters, most of them as in client-go.

use std::fmt;
use std::time::Duration;

use tokio::time::Instant;

use super::RateLimiter;
use super::counts::FailureCounts;
use crate::queue::QueueItem;

/// Doubles the delay after each failure of an item, up to a limit.
///
/// # Examples
/// ```
/// use kube_workqueue::{Exponential, RateLimiter};
/// use std::time::Duration;
///
/// let mut limiter = Exponential::new(Duration::from_millis(5), Duration::from_millis(15));
/// let delays = [(); 3].map(|()| limiter.when(&"a").as_millis());
/// assert_eq!(delays, [5, 10, 15]);
/// ```
#[doc(alias("ItemExponentialFailureRateLimiter", "TypedItemExponentialFailureRateLimiter"))]
#[derive(Debug, Clone)]
pub struct Exponential<T> {
    first: Duration,
    longest: Duration,
    failures: FailureCounts<T>,
}

impl<T: QueueItem> Exponential<T> {
    /// Creates a limiter with the delay `first` after the first failure and at most `longest` later.
    #[must_use]
    pub fn new(first: Duration, longest: Duration) -> Exponential<T> {
        Exponential {
            first,
            longest,
            failures: FailureCounts::default(),
        }
    }
}

const NANOS_PER_SECOND: u128 = 1_000_000_000;

impl<T: QueueItem> RateLimiter<T> for Exponential<T> {
    fn when(&mut self, item: &T) -> Duration {
        let failures = self.failures.add(item);
        let times = 1_u128 << (failures - 1).min(u128::BITS - 1);
        let nanos = self.first.as_nanos().saturating_mul(times);
        if nanos >= self.longest.as_nanos() {
            return self.longest;
        }
        let seconds = u64::try_from(nanos / NANOS_PER_SECOND).unwrap_or(u64::MAX);
        let rest = u32::try_from(nanos % NANOS_PER_SECOND).unwrap_or_default();
        Duration::new(seconds, rest)
    }

    fn forget(&mut self, item: &T) {
        self.failures.forget(item);
    }

    fn requeues(&self, item: &T) -> u32 {
        self.failures.get(item)
    }
}

/// Returns a short delay for the first failures of an item, and a long one for all further failures.
///
/// # Examples
/// ```
/// use kube_workqueue::{FastSlow, RateLimiter};
/// use std::time::Duration;
///
/// let mut limiter = FastSlow::new(Duration::from_secs(1), Duration::from_secs(60), 2);
/// let delays = [(); 3].map(|()| limiter.when(&"a").as_secs());
/// assert_eq!(delays, [1, 1, 60]);
/// ```
#[doc(alias("ItemFastSlowRateLimiter", "TypedItemFastSlowRateLimiter"))]
#[derive(Debug, Clone)]
pub struct FastSlow<T> {
    fast: Duration,
    slow: Duration,
    fast_attempts: u32,
    failures: FailureCounts<T>,
}

impl<T: QueueItem> FastSlow<T> {
    /// Creates a limiter with the delay `fast` for the first `fast_attempts` failures of an item, then `slow`.
    #[must_use]
    pub fn new(fast: Duration, slow: Duration, fast_attempts: u32) -> FastSlow<T> {
        FastSlow {
            fast,
            slow,
            fast_attempts,
            failures: FailureCounts::default(),
        }
    }
}

impl<T: QueueItem> RateLimiter<T> for FastSlow<T> {
    fn when(&mut self, item: &T) -> Duration {
        if self.failures.add(item) <= self.fast_attempts {
            self.fast
        } else {
            self.slow
        }
    }

    fn forget(&mut self, item: &T) {
        self.failures.forget(item);
    }

    fn requeues(&self, item: &T) -> u32 {
        self.failures.get(item)
    }
}

/// A token bucket: limits the rate of all items together, and allows bursts.
///
/// Part of [`default_limiter`](crate::default_limiter).
#[doc(alias("BucketRateLimiter", "TypedBucketRateLimiter"))]
#[derive(Debug, Clone)]
pub struct Bucket {
    interval: Duration,
    burst: u32,
    /// When the bucket is full again. Each token that is taken moves this by one interval, at most `burst` without delay.
    full: Option<Instant>,
}

impl Bucket {
    /// Creates a bucket that gains `per_second` tokens each second and holds at most `burst`. With a rate of zero or less,
    /// the burst passes without delay, and everything after it gets the longest delay.
    #[must_use]
    pub fn new(per_second: f64, burst: u32) -> Bucket {
        let interval = Duration::try_from_secs_f64(1.0 / per_second.max(0.0)).unwrap_or(LONGEST);
        Bucket {
            interval: interval.min(LONGEST),
            burst,
            full: None,
        }
    }
}

/// Longest interval between tokens. Long enough to mean never, and it does not overflow when added to an `Instant`.
const LONGEST: Duration = Duration::from_secs(365 * 24 * 60 * 60);

impl<T> RateLimiter<T> for Bucket {
    fn when(&mut self, _: &T) -> Duration {
        let now = Instant::now();
        let full = self.full.map_or(now, |full| full.max(now));
        let full = full + self.interval;
        self.full = Some(full);
        let burst = self.interval.saturating_mul(self.burst);
        full.duration_since(now).saturating_sub(burst)
    }

    fn forget(&mut self, _: &T) {}

    fn requeues(&self, _: &T) -> u32 {
        0
    }
}

/// Returns the longest delay of several limiters. Each of them counts every failure.
///
/// # Examples
/// ```
/// use kube_workqueue::{Exponential, FastSlow, MaxOf, RateLimiter};
/// use std::time::Duration;
///
/// let mut limiter = MaxOf::new()
///     .and(Exponential::new(Duration::from_secs(1), Duration::from_secs(60)))
///     .and(FastSlow::new(Duration::ZERO, Duration::from_secs(10), 1));
/// let delays = [(); 2].map(|()| limiter.when(&"a").as_secs());
/// assert_eq!(delays, [1, 10]);
/// ```
#[doc(alias("MaxOfRateLimiter", "TypedMaxOfRateLimiter"))]
pub struct MaxOf<T> {
    limiters: Vec<Box<dyn RateLimiter<T>>>,
}

impl<T> MaxOf<T> {
    /// Creates a limiter without parts, which never delays.
    #[must_use]
    pub fn new() -> MaxOf<T> {
        MaxOf { limiters: Vec::new() }
    }

    /// Adds a limiter.
    #[must_use]
    pub fn and(mut self, limiter: impl RateLimiter<T>) -> MaxOf<T> {
        self.limiters.push(Box::new(limiter));
        self
    }
}

impl<T> Default for MaxOf<T> {
    fn default() -> MaxOf<T> {
        MaxOf::new()
    }
}

impl<T: 'static> RateLimiter<T> for MaxOf<T> {
    fn when(&mut self, item: &T) -> Duration {
        // Every limiter is called, because each one counts the failure.
        let delays = self.limiters.iter_mut().map(|limiter| limiter.when(item));
        delays.max().unwrap_or_default()
    }

    fn forget(&mut self, item: &T) {
        for limiter in &mut self.limiters {
            limiter.forget(item);
        }
    }

    fn requeues(&self, item: &T) -> u32 {
        let counts = self.limiters.iter().map(|limiter| limiter.requeues(item));
        counts.max().unwrap_or_default()
    }
}

impl<T> fmt::Debug for MaxOf<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MaxOf({} limiters)", self.limiters.len())
    }
}

/// Caps the delay of another limiter.
///
/// # Examples
/// ```
/// use kube_workqueue::{Exponential, MaxWait, RateLimiter};
/// use std::time::Duration;
///
/// let slow = Exponential::new(Duration::from_secs(40), Duration::from_secs(3_600));
/// let mut limiter = MaxWait::new(slow, Duration::from_secs(60));
/// let delays = [(); 2].map(|()| limiter.when(&"a").as_secs());
/// assert_eq!(delays, [40, 60]);
/// ```
#[doc(alias("WithMaxWaitRateLimiter", "TypedWithMaxWaitRateLimiter"))]
#[derive(Debug, Clone)]
pub struct MaxWait<L> {
    limiter: L,
    longest: Duration,
}

impl<L> MaxWait<L> {
    /// Creates a limiter that returns at most `longest`.
    #[must_use]
    pub fn new(limiter: L, longest: Duration) -> MaxWait<L> {
        MaxWait { limiter, longest }
    }
}

impl<T, L: RateLimiter<T>> RateLimiter<T> for MaxWait<L> {
    fn when(&mut self, item: &T) -> Duration {
        self.limiter.when(item).min(self.longest)
    }

    fn forget(&mut self, item: &T) {
        self.limiter.forget(item);
    }

    fn requeues(&self, item: &T) -> u32 {
        self.limiter.requeues(item)
    }
}

/// Adds a random part to the delay of another limiter, so that items that failed together are not retried together.
///
/// # Examples
/// ```
/// use kube_workqueue::{Exponential, Jitter, RateLimiter};
/// use std::time::Duration;
///
/// let exact = Exponential::new(Duration::from_secs(10), Duration::from_secs(60));
/// let mut limiter = Jitter::new(exact, 0.5);
/// assert!((10..=15).contains(&limiter.when(&"a").as_secs()));
/// ```
#[derive(Debug, Clone)]
pub struct Jitter<L> {
    limiter: L,
    fraction: f64,
    random: fastrand::Rng,
}

impl<L> Jitter<L> {
    /// Creates a limiter that adds up to `fraction` of the delay: with 0.1, up to a tenth. A negative fraction counts as 0.
    #[must_use]
    pub fn new(limiter: L, fraction: f64) -> Jitter<L> {
        Jitter {
            limiter,
            fraction: fraction.max(0.0),
            random: fastrand::Rng::new(),
        }
    }

    /// Sets the random seed, for reproducible delays.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Jitter<L> {
        self.random = fastrand::Rng::with_seed(seed);
        self
    }
}

impl<T, L: RateLimiter<T>> RateLimiter<T> for Jitter<L> {
    fn when(&mut self, item: &T) -> Duration {
        let delay = self.limiter.when(item);
        let jitter = Duration::try_from_secs_f64(delay.as_secs_f64() * self.fraction * self.random.f64());
        delay.saturating_add(jitter.unwrap_or_default())
    }

    fn forget(&mut self, item: &T) {
        self.limiter.forget(item);
    }

    fn requeues(&self, item: &T) -> u32 {
        self.limiter.requeues(item)
    }
}
