//! Delays of the rate limiters.

use std::time::Duration;

use super::{Bucket, Exponential, FastSlow, Jitter, MaxOf, MaxWait, RateLimiter, default_limiter};

const fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

fn waits(limiter: &mut impl RateLimiter<&'static str>, item: &'static str, count: usize) -> Vec<Duration> {
    (0..count).map(|_| limiter.when(&item)).collect()
}

#[test]
fn exponential_doubles_per_item() {
    let mut limiter = Exponential::new(millis(1), Duration::from_secs(1));
    assert_eq!(waits(&mut limiter, "a", 5), [1, 2, 4, 8, 16].map(millis));
    assert_eq!(limiter.requeues(&"a"), 5);
    assert_eq!(waits(&mut limiter, "b", 2), [1, 2].map(millis));
    limiter.forget(&"a");
    assert_eq!((limiter.requeues(&"a"), limiter.requeues(&"b")), (0, 2));
    assert_eq!(limiter.when(&"a"), millis(1));
}

#[test]
fn exponential_stays_at_its_limit_without_overflow() {
    let longest = Duration::from_secs(1_000);
    let mut limiter = Exponential::new(millis(1), longest);
    let all = waits(&mut limiter, "a", 200);
    assert!(all.is_sorted());
    assert_eq!((all[19], all[20], all[199]), (millis(1 << 19), longest, longest));
    let mut huge = Exponential::new(Duration::MAX, Duration::MAX);
    assert_eq!(waits(&mut huge, "a", 2), [Duration::MAX; 2]);
}

#[test]
fn exponential_doubles_up_to_its_limit_after_any_number_of_failures() {
    let day = Duration::from_hours(24);
    let mut limiter = Exponential::new(Duration::from_micros(1), day);
    let all = waits(&mut limiter, "a", 40);
    let micros = |doublings: u32| Duration::from_micros(1 << doublings);
    assert_eq!(all[31..34], [31, 32, 33].map(micros));
    assert_eq!(all[36..39], [micros(36), day, day]);
    let mut endless = Exponential::new(Duration::from_nanos(1), Duration::MAX);
    let all = waits(&mut endless, "a", 200);
    assert_eq!((all[90], all[199]), (2 * all[89], Duration::MAX));
}

#[test]
fn exponential_without_a_first_delay_never_delays() {
    let mut limiter = Exponential::new(Duration::ZERO, Duration::from_secs(1_000));
    assert!(waits(&mut limiter, "a", 200).iter().all(Duration::is_zero));
}

#[test]
fn fast_then_slow() {
    let mut limiter = FastSlow::new(millis(5), Duration::from_secs(10), 3);
    let slow = Duration::from_secs(10);
    assert_eq!(
        waits(&mut limiter, "a", 5),
        [millis(5), millis(5), millis(5), slow, slow]
    );
    limiter.forget(&"a");
    assert_eq!(limiter.when(&"a"), millis(5));
}

#[tokio::test(start_paused = true)]
async fn a_bucket_limits_all_items_together() {
    let mut limiter = Bucket::new(10.0, 3);
    assert_eq!(waits(&mut limiter, "a", 3), [Duration::ZERO; 3]);
    assert_eq!(limiter.when(&"b"), millis(100));
    assert_eq!(limiter.when(&"c"), millis(200));
    tokio::time::advance(millis(250)).await;
    assert_eq!(limiter.when(&"a"), millis(50));
    tokio::time::advance(Duration::from_mins(1)).await;
    assert_eq!(
        waits(&mut limiter, "a", 4)[2..],
        [Duration::ZERO, millis(100)],
        "no more than the burst is kept"
    );
    assert_eq!(RateLimiter::<&str>::requeues(&limiter, &"a"), 0);
    let mut never = Bucket::new(0.0, 1);
    assert_eq!(never.when(&"a"), Duration::ZERO);
    assert!(never.when(&"a") > Duration::from_hours(1_000));
    assert!(Bucket::new(f64::NAN, 0).when(&"a") > Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn max_of_returns_the_longest_delay_and_counts_in_all_limiters() {
    let mut limiter = MaxOf::new()
        .and(FastSlow::new(millis(5), Duration::from_secs(3), 3))
        .and(Exponential::new(millis(1), Duration::from_secs(1)));
    let slow = Duration::from_secs(3);
    assert_eq!(
        waits(&mut limiter, "a", 5),
        [millis(5), millis(5), millis(5), slow, slow]
    );
    assert_eq!(limiter.requeues(&"a"), 5);
    limiter.forget(&"a");
    assert_eq!(limiter.requeues(&"a"), 0);
    assert_eq!(MaxOf::new().when(&"a"), Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn the_default_limiter_is_client_gos() {
    let mut limiter = default_limiter();
    assert_eq!(waits(&mut limiter, "a", 4), [5, 10, 20, 40].map(millis));
    for _ in 4..100 {
        limiter.when(&"b");
    }
    assert_eq!(
        limiter.when(&"c"),
        millis(100),
        "the hundred and first waits for a token"
    );
    for _ in 0..30 {
        limiter.when(&"a");
    }
    assert_eq!(limiter.when(&"a"), Duration::from_secs(1_000));
}

#[test]
fn max_wait_caps_the_delay() {
    let mut limiter = MaxWait::new(Exponential::new(millis(1), Duration::from_secs(9)), millis(3));
    assert_eq!(waits(&mut limiter, "a", 4), [1, 2, 3, 3].map(millis));
    assert_eq!(limiter.requeues(&"a"), 4);
    limiter.forget(&"a");
    assert_eq!(limiter.when(&"a"), millis(1));
}

#[test]
fn jitter_adds_a_random_part() {
    let limiter = || Jitter::new(FastSlow::new(millis(100), millis(100), 0), 0.5).seed(7);
    let all = waits(&mut limiter(), "a", 100);
    assert!(all.iter().all(|wait| (millis(100)..=millis(150)).contains(wait)));
    assert!(all.iter().any(|wait| *wait > millis(140)) && all.iter().any(|wait| *wait < millis(110)));
    assert_eq!(waits(&mut limiter(), "a", 100), all, "a seed repeats itself");
}

#[tokio::test(start_paused = true)]
async fn a_very_slow_bucket_delays_everything_after_the_burst() {
    for per_second in [1e-6, 1e-9, 1e-18, f64::MIN_POSITIVE] {
        let mut limiter = Bucket::new(per_second, 2);
        let all = waits(&mut limiter, "a", 4);
        assert_eq!(all[..2], [Duration::ZERO; 2], "{per_second}");
        assert!(all[2] > Duration::from_hours(24), "{per_second}: {all:?}");
        assert_eq!(all[3], 2 * all[2], "{per_second}");
    }
}

#[test]
fn the_longest_duration_does_not_overflow() {
    let longest = || FastSlow::new(Duration::MAX, Duration::MAX, 1);
    for part in [0.0, 0.5, f64::MAX, f64::INFINITY, f64::NAN] {
        let mut limiter = Jitter::new(longest(), part);
        assert_eq!(waits(&mut limiter, "a", 2), [Duration::MAX; 2], "{part}");
    }
    let mut limiter = MaxOf::new().and(longest()).and(Bucket::new(0.0, 0));
    assert_eq!(waits(&mut limiter, "a", 2), [Duration::MAX; 2]);
    let mut limiter = MaxWait::new(longest(), Duration::MAX);
    assert_eq!(waits(&mut limiter, "a", 2), [Duration::MAX; 2]);
}
