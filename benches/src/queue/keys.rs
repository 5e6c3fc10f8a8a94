//! Keys and delays; `client_go/queue` generates the same.

use std::time::Duration;

use super::Key;

pub(super) fn keys<T: Key>(count: usize) -> Vec<T> {
    let key = |number| T::from(&format!("team-{:03}/web-{number:06}", number % 100));
    (0..count).map(key).collect()
}

/// Returns pseudorandom delays of up to an hour.
pub(super) fn delays(count: usize) -> Vec<Duration> {
    let hour = Duration::from_hours(1).as_secs_f64();
    let mut random = fastrand::Rng::with_seed(7);
    let delay = |_| Duration::from_millis(1) + Duration::from_secs_f64(random.f64() * hour);
    (0..count).map(delay).collect()
}
