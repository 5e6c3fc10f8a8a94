//! How long things took.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// client-go's buckets for what takes time in an informer: the longest time of each.
const BOUNDS: [Duration; 12] = [
    Duration::from_millis(1),
    Duration::from_millis(5),
    Duration::from_millis(10),
    Duration::from_millis(25),
    Duration::from_millis(50),
    Duration::from_millis(100),
    Duration::from_millis(250),
    Duration::from_millis(500),
    Duration::from_secs(1),
    Duration::from_millis(2_500),
    Duration::from_secs(5),
    Duration::from_secs(10),
];

/// Durations, noted by one task at a time and read by anyone.
#[derive(Debug, Default)]
pub(crate) struct Histogram {
    buckets: [AtomicU64; BOUNDS.len() + 1],
    nanos: AtomicU64,
}

/// How long something took, each time: how often, how long together, and how often up to which time.
///
/// Of handlers: [`Registration::calls`](crate::Registration::calls). Of the cache: [`Status::processing`](crate::status::Status::processing).
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Durations {
    /// How often.
    pub count: u64,
    /// All of them together.
    pub sum: Duration,
    /// How often it took no longer than a time and longer than the one before; behind the last one everything that took
    /// longer still.
    pub buckets: Vec<(Option<Duration>, u64)>,
}

impl Histogram {
    /// Notes one. Whoever does it does it alone, so nothing need be locked.
    pub(crate) fn note(&self, took: Duration) {
        let bucket = BOUNDS
            .iter()
            .position(|bound| took <= *bound)
            .unwrap_or(BOUNDS.len());
        add_alone(&self.buckets[bucket], 1);
        add_alone(&self.nanos, u64::try_from(took.as_nanos()).unwrap_or(u64::MAX));
    }

    pub(crate) fn read(&self) -> Durations {
        let bounds = BOUNDS.iter().copied().map(Some).chain([None]);
        let counts = self.buckets.iter().map(|bucket| bucket.load(Ordering::Relaxed));
        let buckets: Vec<_> = bounds.zip(counts).collect();
        Durations {
            count: buckets.iter().map(|(_, count)| count).sum(),
            sum: Duration::from_nanos(self.nanos.load(Ordering::Relaxed)),
            buckets,
        }
    }
}

/// Adds to a counter that nobody else adds to meanwhile.
pub(crate) fn add_alone(counter: &AtomicU64, more: u64) {
    let sum = counter.load(Ordering::Relaxed).saturating_add(more);
    counter.store(sum, Ordering::Relaxed);
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::Histogram;

    #[test]
    fn a_duration_falls_into_the_first_bucket_that_it_is_not_too_long_for() {
        let histogram = Histogram::default();
        for millis in [0, 1, 2, 10_000, 10_001] {
            histogram.note(Duration::from_millis(millis));
        }
        let read = histogram.read();
        assert_eq!((read.count, read.sum), (5, Duration::from_millis(20_004)));
        let filled: Vec<_> = read.buckets.into_iter().filter(|(_, count)| *count > 0).collect();
        let millis = |millis| Some(Duration::from_millis(millis));
        assert_eq!(
            filled,
            [(millis(1), 2), (millis(5), 1), (millis(10_000), 1), (None, 1)]
        );
    }
}
