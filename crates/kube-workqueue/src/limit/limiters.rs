//! The limiters that client-go has.

use std::fmt;
use std::time::Duration;

use tokio::time::Instant;

use super::RateLimiter;
use super::counts::Counts;
use crate::queue::Work;

/// Twice as long after each failure of an item, up to a limit.
///
/// ```
/// use kube_workqueue::{Exponential, RateLimiter};
/// use std::time::Duration;
///
/// let mut limiter = Exponential::new(Duration::from_millis(5), Duration::from_millis(15));
/// let waits = [(); 3].map(|()| limiter.when(&"a").as_millis());
/// assert_eq!(waits, [5, 10, 15]);
/// ```
#[doc(alias = "TypedItemExponentialFailureRateLimiter")]
#[derive(Debug, Clone)]
pub struct Exponential<T> {
    first: Duration,
    longest: Duration,
    failures: Counts<T>,
}

impl<T: Work> Exponential<T> {
    /// `first` after the first failure, and never more than `longest`.
    #[must_use]
    pub fn new(first: Duration, longest: Duration) -> Exponential<T> {
        Exponential {
            first,
            longest,
            failures: Counts::default(),
        }
    }
}

const NANOS_PER_SECOND: u128 = 1_000_000_000;

impl<T: Work> RateLimiter<T> for Exponential<T> {
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
        self.failures.of(item)
    }
}

/// A short wait for an item's first failures, and a long one for all others.
///
/// ```
/// use kube_workqueue::{FastSlow, RateLimiter};
/// use std::time::Duration;
///
/// let mut limiter = FastSlow::new(Duration::from_secs(1), Duration::from_secs(60), 2);
/// let waits = [(); 3].map(|()| limiter.when(&"a").as_secs());
/// assert_eq!(waits, [1, 1, 60]);
/// ```
#[doc(alias = "TypedItemFastSlowRateLimiter")]
#[derive(Debug, Clone)]
pub struct FastSlow<T> {
    fast: Duration,
    slow: Duration,
    fast_ones: u32,
    failures: Counts<T>,
}

impl<T: Work> FastSlow<T> {
    /// `fast` for the first `fast_ones` failures, then `slow`.
    #[must_use]
    pub fn new(fast: Duration, slow: Duration, fast_ones: u32) -> FastSlow<T> {
        FastSlow {
            fast,
            slow,
            fast_ones,
            failures: Counts::default(),
        }
    }
}

impl<T: Work> RateLimiter<T> for FastSlow<T> {
    fn when(&mut self, item: &T) -> Duration {
        if self.failures.add(item) <= self.fast_ones {
            self.fast
        } else {
            self.slow
        }
    }

    fn forget(&mut self, item: &T) {
        self.failures.forget(item);
    }

    fn requeues(&self, item: &T) -> u32 {
        self.failures.of(item)
    }
}

/// So many a second for all items together, after some that need not wait: a token bucket.
///
/// See [`default_limiter`](crate::default_limiter), which has one.
#[doc(alias = "TypedBucketRateLimiter")]
#[derive(Debug, Clone)]
pub struct Bucket {
    interval: Duration,
    burst: u32,
    /// When the bucket is full again. Each token takes an interval, and a bucket that was full a whole burst ago has one.
    full: Option<Instant>,
}

impl Bucket {
    /// `per_second` tokens come each second, and at most `burst` are kept. Without a rate, or with one below zero, only the
    /// burst passes without a wait, and all others wait for as long as can be.
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

/// As good as for ever, and still a time that can be added to others.
const LONGEST: Duration = Duration::from_secs(365 * 24 * 60 * 60);

impl<T> RateLimiter<T> for Bucket {
    fn when(&mut self, _: &T) -> Duration {
        let now = Instant::now();
        let full = self.full.map_or(now, |full| full.max(now));
        let taken = full + self.interval;
        self.full = Some(taken);
        let kept = self.interval.saturating_mul(self.burst);
        taken.duration_since(now).saturating_sub(kept)
    }

    fn forget(&mut self, _: &T) {}

    fn requeues(&self, _: &T) -> u32 {
        0
    }
}

/// The longest wait of several limiters, each of which counts.
///
/// ```
/// use kube_workqueue::{Exponential, FastSlow, MaxOf, RateLimiter};
/// use std::time::Duration;
///
/// let mut limiter = MaxOf::new()
///     .and(Exponential::new(Duration::from_secs(1), Duration::from_secs(60)))
///     .and(FastSlow::new(Duration::ZERO, Duration::from_secs(10), 1));
/// let waits = [(); 2].map(|()| limiter.when(&"a").as_secs());
/// assert_eq!(waits, [1, 10]);
/// ```
#[doc(alias = "TypedMaxOfRateLimiter")]
pub struct MaxOf<T> {
    limiters: Vec<Box<dyn RateLimiter<T>>>,
}

impl<T> MaxOf<T> {
    /// Of none, which lets everything pass.
    #[must_use]
    pub fn new() -> MaxOf<T> {
        MaxOf { limiters: Vec::new() }
    }

    /// And of this one.
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
        // Each of them is asked, because each of them counts.
        let waits = self.limiters.iter_mut().map(|limiter| limiter.when(item));
        waits.max().unwrap_or_default()
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

/// Another limiter's wait, but never more than this.
///
/// ```
/// use kube_workqueue::{Exponential, MaxWait, RateLimiter};
/// use std::time::Duration;
///
/// let slow = Exponential::new(Duration::from_secs(40), Duration::from_secs(3_600));
/// let mut limiter = MaxWait::new(slow, Duration::from_secs(60));
/// let waits = [(); 2].map(|()| limiter.when(&"a").as_secs());
/// assert_eq!(waits, [40, 60]);
/// ```
#[doc(alias = "TypedWithMaxWaitRateLimiter")]
#[derive(Debug, Clone)]
pub struct MaxWait<L> {
    limiter: L,
    longest: Duration,
}

impl<L> MaxWait<L> {
    /// At most `longest`.
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

/// Another limiter's wait and a random part of it on top, so that items that failed together do not come back together.
///
/// ```
/// use kube_workqueue::{Exponential, Jittered, RateLimiter};
/// use std::time::Duration;
///
/// let exact = Exponential::new(Duration::from_secs(10), Duration::from_secs(60));
/// let mut limiter = Jittered::new(exact, 0.5);
/// assert!((10..=15).contains(&limiter.when(&"a").as_secs()));
/// ```
#[derive(Debug, Clone)]
pub struct Jittered<L> {
    limiter: L,
    part: f64,
    random: fastrand::Rng,
}

impl<L> Jittered<L> {
    /// Up to `part` of the wait on top: with 0.1 up to a tenth. Anything below zero counts as none.
    #[must_use]
    pub fn new(limiter: L, part: f64) -> Jittered<L> {
        Jittered {
            limiter,
            part: part.max(0.0),
            random: fastrand::Rng::new(),
        }
    }

    /// The same in each run.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Jittered<L> {
        self.random = fastrand::Rng::with_seed(seed);
        self
    }
}

impl<T, L: RateLimiter<T>> RateLimiter<T> for Jittered<L> {
    fn when(&mut self, item: &T) -> Duration {
        let wait = self.limiter.when(item);
        let more = Duration::try_from_secs_f64(wait.as_secs_f64() * self.part * self.random.f64());
        wait.saturating_add(more.unwrap_or_default())
    }

    fn forget(&mut self, item: &T) {
        self.limiter.forget(item);
    }

    fn requeues(&self, item: &T) -> u32 {
        self.limiter.requeues(item)
    }
}
