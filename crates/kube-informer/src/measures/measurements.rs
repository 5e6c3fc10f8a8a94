//! Counters and times of one informer.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::time::Instant;

use super::RelistCause;
use super::{AtomicInstant, Clock, Histogram};
use crate::error::Operation;

/// Counters and times of one informer.
#[derive(Debug, Default)]
pub(crate) struct Measurements {
    pub(crate) clock: Clock,
    pub(crate) lists: AtomicU64,
    pub(crate) watches: AtomicU64,
    pub(crate) streaming_lists: AtomicU64,
    pub(crate) errors: AtomicU64,
    pub(crate) went_back: AtomicU64,
    pub(crate) checks: AtomicU64,
    pub(crate) unchecked: AtomicU64,
    pub(crate) inconsistencies: AtomicU64,
    relists: [AtomicU64; RelistCause::ALL.len()],
    /// Objects received in lists and watches.
    pub(crate) received: ObjectVolume,
    /// The received objects that were decoded or packed, and the time that took.
    pub(crate) decoded: ObjectVolume,
    decode_nanos: AtomicU64,
    pub(crate) added: AtomicU64,
    pub(crate) updated: AtomicU64,
    pub(crate) deleted: AtomicU64,
    /// The time to apply a batch of changes to the cache and queue it for the handlers.
    pub(crate) processing: Histogram,
    pub(crate) started: AtomicInstant,
    pub(crate) synced: AtomicInstant,
    pub(crate) failed: AtomicInstant,
    scopes: Box<[ScopeMeasurements]>,
}

/// Number and size of objects.
#[derive(Debug, Default)]
pub(crate) struct ObjectVolume {
    pub(crate) objects: AtomicU64,
    pub(crate) bytes: AtomicU64,
}

/// Times of one reflector.
#[derive(Debug, Default)]
pub(crate) struct ScopeMeasurements {
    pub(crate) watch_opened: AtomicInstant,
    pub(crate) last_activity: AtomicInstant,
    pub(crate) waiting_until: AtomicInstant,
}

impl Measurements {
    /// Creates the measurements of an informer with this number of reflectors.
    pub(crate) fn new(scopes: usize) -> Measurements {
        Measurements {
            scopes: (0..scopes).map(|_| ScopeMeasurements::default()).collect(),
            ..Measurements::default()
        }
    }

    /// Returns the times of a reflector.
    pub(crate) fn scope(&self, number: usize) -> Option<&ScopeMeasurements> {
        self.scopes.get(number)
    }

    pub(crate) fn requested(&self, operation: Operation) {
        let count = match operation {
            Operation::List => &self.lists,
            Operation::StreamingList => &self.streaming_lists,
            Operation::Watch => &self.watches,
            // The reflector sends no other requests.
            _ => return,
        };
        count.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn relisted(&self, cause: RelistCause) {
        self.relists[cause as usize].fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn relists(&self, cause: RelistCause) -> u64 {
        self.relists[cause as usize].load(Ordering::Relaxed)
    }

    pub(crate) fn decoded(&self, bytes: usize, took: Duration) {
        self.decoded.add(bytes);
        let nanos = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
        self.decode_nanos.fetch_add(nanos, Ordering::Relaxed);
    }

    pub(crate) fn decode_time(&self) -> Duration {
        Duration::from_nanos(self.decode_nanos.load(Ordering::Relaxed))
    }

    /// Returns the average size of an object as received, in bytes.
    pub(crate) fn average_size(&self) -> u64 {
        let (objects, bytes) = (self.decoded.objects(), self.decoded.bytes());
        bytes.checked_div(objects).unwrap_or(0)
    }

    /// Returns for how long every scope has had an open watch; `None` if a scope has none.
    pub(crate) fn watch_age(&self, now: Instant) -> Option<Duration> {
        let ages = self
            .scopes
            .iter()
            .map(|scope| scope.watch_opened.elapsed(&self.clock, now));
        // `None` is less than any age, so it is the minimum if a scope has no watch.
        ages.min().flatten()
    }

    /// Returns the longest time without activity among all scopes.
    pub(crate) fn silence(&self, now: Instant) -> Option<Duration> {
        let silences = self
            .scopes
            .iter()
            .map(|scope| scope.last_activity.elapsed(&self.clock, now));
        silences.max().flatten()
    }

    /// Returns the time until the next request, if all scopes only wait for a time.
    pub(crate) fn next_attempt(&self, now: Instant) -> Option<Duration> {
        let ends = self
            .scopes
            .iter()
            .filter_map(|scope| scope.waiting_until.get(&self.clock));
        ends.map(|end| end.saturating_duration_since(now)).min()
    }
}

impl ObjectVolume {
    pub(crate) fn add(&self, bytes: usize) {
        self.objects.fetch_add(1, Ordering::Relaxed);
        self.bytes.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    pub(crate) fn objects(&self) -> u64 {
        self.objects.load(Ordering::Relaxed)
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }
}
