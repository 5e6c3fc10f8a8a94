//! Times that one task notes and others read.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::time::Instant;

/// Where moments are counted from.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Clock {
    zero: Instant,
}

/// A time that something happened at, or not yet.
#[derive(Debug, Default)]
pub(crate) struct AtomicInstant {
    /// Nanoseconds of the clock and one; nothing has happened yet at none.
    nanos: AtomicU64,
}

impl Clock {
    /// Counts from now on; moments before are now.
    pub(crate) fn start() -> Clock {
        Clock { zero: Instant::now() }
    }

    fn nanos(&self, at: Instant) -> u64 {
        let since = at.saturating_duration_since(self.zero).as_nanos();
        u64::try_from(since).unwrap_or(u64::MAX - 1)
    }
}

impl AtomicInstant {
    pub(crate) fn set(&self, clock: &Clock, at: Instant) {
        self.nanos.store(clock.nanos(at) + 1, Ordering::Relaxed);
    }

    /// Notes the first time only.
    pub(crate) fn set_once(&self, clock: &Clock, at: Instant) {
        let first = clock.nanos(at) + 1;
        let _noted_before = self
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

    /// How long it is past.
    pub(crate) fn ago(&self, clock: &Clock, now: Instant) -> Option<Duration> {
        let at = self.get(clock)?;
        Some(now.saturating_duration_since(at))
    }
}
