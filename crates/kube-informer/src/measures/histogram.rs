//! Histograms of durations.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// The upper bounds of client-go's buckets for informers.
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

/// A histogram that one task at a time writes and any task reads.
#[derive(Debug, Default)]
pub(crate) struct Histogram {
    buckets: [AtomicU64; BOUNDS.len() + 1],
    nanos: AtomicU64,
}

/// A histogram of durations: their number, their sum, and their distribution.
///
/// Returned by [`Registration::calls`](crate::Registration::calls) for handlers, and contained in
/// [`Status::processing`](crate::status::Status::processing) for the cache.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Durations {
    /// Number of durations.
    pub count: u64,
    /// Sum of all durations.
    pub sum: Duration,
    /// Upper bound of each bucket, and the number of durations that are not longer than that and longer than the
    /// previous bound. The last bucket has no bound.
    pub buckets: Vec<(Option<Duration>, u64)>,
}

impl Histogram {
    /// Adds a duration. Single writer; no lock needed.
    pub(crate) fn record(&self, took: Duration) {
        let bucket = BOUNDS
            .iter()
            .position(|bound| took <= *bound)
            .unwrap_or(BOUNDS.len());
        add_unshared(&self.buckets[bucket], 1);
        add_unshared(&self.nanos, u64::try_from(took.as_nanos()).unwrap_or(u64::MAX));
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

/// Adds to a counter that has a single writer.
pub(crate) fn add_unshared(counter: &AtomicU64, more: u64) {
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
            histogram.record(Duration::from_millis(millis));
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
