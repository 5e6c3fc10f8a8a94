//! Points in time that one task writes and others read.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::time::Instant;

/// The origin from which points in time are measured.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Clock {
    zero: Instant,
}

/// A point in time, or none.
#[derive(Debug, Default)]
pub(crate) struct AtomicInstant {
    /// Nanoseconds since the clock's origin plus one; zero for none.
    nanos: AtomicU64,
}

/// Starts at the current time. Earlier points in time count as the current time.
impl Default for Clock {
    fn default() -> Clock {
        Clock { zero: Instant::now() }
    }
}

impl Clock {
    fn nanos(&self, at: Instant) -> u64 {
        let since = at.saturating_duration_since(self.zero).as_nanos();
        u64::try_from(since).unwrap_or(u64::MAX - 1)
    }
}

impl AtomicInstant {
    pub(crate) fn set(&self, clock: &Clock, at: Instant) {
        self.nanos.store(clock.nanos(at) + 1, Ordering::Relaxed);
    }

    /// Stores the time, unless one is stored already.
    pub(crate) fn set_once(&self, clock: &Clock, at: Instant) {
        let first = clock.nanos(at) + 1;
        let _already_set = self
            .nanos
            .compare_exchange(0, first, Ordering::Relaxed, Ordering::Relaxed);
    }

    pub(crate) fn clear(&self) {
        self.nanos.store(0, Ordering::Relaxed);
    }

    pub(crate) fn get(&self, clock: &Clock) -> Option<Instant> {
        match self.nanos.load(Ordering::Relaxed) {
            0 => None,
            nanos => Some(clock.zero + Duration::from_nanos(nanos - 1)),
        }
    }

    /// Returns the time elapsed since then.
    pub(crate) fn elapsed(&self, clock: &Clock, now: Instant) -> Option<Duration> {
        let at = self.get(clock)?;
        Some(now.saturating_duration_since(at))
    }
}
