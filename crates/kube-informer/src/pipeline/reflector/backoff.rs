//! The backoff after failed requests.

use std::time::Duration;

use tokio::time::Instant;

use crate::util::MAX_DURATION;

/// The delays between failed requests of one informer: exponential, with jitter and a cap.
///
/// The delays start again at `initial` only after a healthy period (contract 9).
///
/// ```
/// use kube_informer::Backoff;
/// use std::time::Duration;
///
/// let slower = Backoff { initial: Duration::from_secs(2), ..Backoff::default() };
/// assert_eq!(slower.cap, Duration::from_secs(30));
/// ```
#[doc(alias("wait.Backoff", "default_backoff"))]
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Backoff {
    /// First delay, before jitter.
    pub initial: Duration,
    /// Factor between consecutive delays.
    pub factor: f64,
    /// Maximum delay, before jitter.
    pub cap: Duration,
    /// Maximum random addition to a delay, as a fraction of it: 1.0 adds up to 100 %.
    pub jitter: f64,
    /// Healthy period after which the delays start again at `initial`.
    pub reset: Duration,
}

/// client-go's values: 800 ms, doubling to 30 s, with up to 100 % jitter, reset after two minutes.
impl Default for Backoff {
    fn default() -> Self {
        Backoff {
            initial: Duration::from_millis(800),
            factor: 2.0,
            cap: Duration::from_secs(30),
            jitter: 1.0,
            reset: Duration::from_secs(2 * 60),
        }
    }
}

/// Lower limit of all delays, whatever the settings, so that no informer sends requests in a tight loop.
const MIN_BACKOFF: Duration = Duration::from_millis(50);

/// The current delay of one informer.
#[derive(Debug)]
pub(super) struct BackoffState {
    settings: Backoff,
    next: Duration,
    healthy_since: Option<Instant>,
}

impl BackoffState {
    pub(super) fn new(settings: Backoff) -> BackoffState {
        BackoffState {
            settings,
            next: settings.initial,
            healthy_since: None,
        }
    }

    /// Records a success. Only the first success after a failure starts the healthy period.
    pub(super) fn succeeded(&mut self, now: Instant) {
        self.healthy_since.get_or_insert(now);
    }

    /// Records a failure and returns the delay. An outage does not count as healthy, so its delays stay at
    /// the cap.
    pub(super) fn failed(&mut self, now: Instant, random: &mut fastrand::Rng) -> Duration {
        let settings = &self.settings;
        if let Some(since) = self.healthy_since.take()
            && now.duration_since(since) >= settings.reset
        {
            self.next = settings.initial;
        }
        let base = self.next.min(settings.cap).max(MIN_BACKOFF);
        // Protects against user settings that would shrink or overflow a delay.
        let grown = base.as_secs_f64() * settings.factor.max(1.0);
        self.next = Duration::try_from_secs_f64(grown)
            .unwrap_or(settings.cap)
            .min(settings.cap);
        let jitter = base.as_secs_f64() * settings.jitter.max(0.0) * random.f64();
        base.saturating_add(Duration::try_from_secs_f64(jitter).unwrap_or_default())
            .min(MAX_DURATION)
    }
}

#[cfg(test)]
mod tests {
    use super::{Backoff, BackoffState, MAX_DURATION};
    use std::time::Duration;
    use tokio::time::Instant;

    #[test]
    fn delays_double_up_to_the_cap_with_jitter() {
        let mut random = fastrand::Rng::with_seed(1);
        let mut waits = BackoffState::new(Backoff::default());
        let now = Instant::now();
        for base in [0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 30.0, 30.0, 30.0] {
            let wait = waits.failed(now, &mut random).as_secs_f64();
            assert!((base..2.0 * base).contains(&wait), "{wait} for {base}");
        }
    }

    #[test]
    fn jitter_adds_at_most_its_fraction_of_a_delay() {
        for (jitter, most) in [(0.0, 0.0), (0.5, 0.4), (3.0, 2.4)] {
            let added = |seed| {
                let mut waits = BackoffState::new(Backoff {
                    jitter,
                    ..Backoff::default()
                });
                let wait = waits.failed(Instant::now(), &mut fastrand::Rng::with_seed(seed));
                wait.as_secs_f64() - 0.8
            };
            let longest = (0..1000).map(added).fold(0.0, f64::max);
            assert!(
                longest <= most && longest >= 0.95 * most,
                "{longest} for {jitter}"
            );
        }
    }

    #[test]
    fn an_outage_does_not_count_as_healthy() {
        let mut random = fastrand::Rng::with_seed(1);
        let mut waits = BackoffState::new(Backoff {
            jitter: 0.0,
            ..Backoff::default()
        });
        let mut now = Instant::now();
        for _ in 0..500 {
            now += waits.failed(now, &mut random);
        }
        assert_eq!(waits.failed(now, &mut random), Duration::from_secs(30));
    }

    #[test]
    fn the_backoff_resets_after_two_healthy_minutes() {
        let mut random = fastrand::Rng::with_seed(1);
        let mut waits = BackoffState::new(Backoff {
            jitter: 0.0,
            ..Backoff::default()
        });
        let mut now = Instant::now();
        for _ in 0..3 {
            waits.failed(now, &mut random);
        }
        waits.succeeded(now);
        now += Duration::from_secs(119);
        waits.succeeded(now);
        assert_eq!(
            waits.failed(now, &mut random),
            Duration::from_millis(6400),
            "119 s of health"
        );
        waits.succeeded(now);
        now += Duration::from_mins(2);
        assert_eq!(
            waits.failed(now, &mut random),
            Duration::from_millis(800),
            "120 s of health"
        );
    }

    #[test]
    fn contract_9_a_zero_delay_is_raised_to_the_minimum() {
        let zero = Backoff {
            initial: Duration::ZERO,
            cap: Duration::ZERO,
            jitter: 0.0,
            ..Backoff::default()
        };
        let mut waits = BackoffState::new(zero);
        let mut random = fastrand::Rng::with_seed(1);
        for _ in 0..3 {
            assert_eq!(waits.failed(Instant::now(), &mut random), super::MIN_BACKOFF);
        }
    }

    #[test]
    fn extreme_settings_are_limited() {
        let extreme = Backoff {
            initial: Duration::MAX,
            factor: f64::NAN,
            cap: Duration::MAX,
            jitter: f64::INFINITY,
            ..Backoff::default()
        };
        let mut waits = BackoffState::new(extreme);
        let mut random = fastrand::Rng::with_seed(1);
        for _ in 0..3 {
            assert_eq!(waits.failed(Instant::now(), &mut random), MAX_DURATION);
        }
    }
}
