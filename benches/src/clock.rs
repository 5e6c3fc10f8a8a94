//! Time on the wall and on the processors.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// Runs from its start on, also while tokio's clock stands still.
#[derive(Debug, Clone, Copy)]
pub struct Stopwatch {
    wall: Duration,
    processors: Duration,
}

/// What something took.
#[derive(Debug, Clone, Copy)]
pub struct Took {
    /// From beginning to end.
    pub wall: Duration,
    /// All threads of the process together.
    pub processors: Duration,
}

impl Stopwatch {
    /// Starts now.
    #[must_use]
    pub fn start() -> Stopwatch {
        Stopwatch {
            wall: since_some_time(ClockId::Monotonic),
            processors: since_some_time(ClockId::ProcessCPUTime),
        }
    }

    /// What it took until now.
    #[must_use]
    pub fn stop(self) -> Took {
        Took {
            wall: since_some_time(ClockId::Monotonic).saturating_sub(self.wall),
            processors: since_some_time(ClockId::ProcessCPUTime).saturating_sub(self.processors),
        }
    }
}

fn since_some_time(clock: ClockId) -> Duration {
    let time = clock_gettime(clock);
    let seconds = u64::try_from(time.tv_sec).unwrap_or_default();
    let nanoseconds = u64::try_from(time.tv_nsec).unwrap_or_default();
    Duration::from_secs(seconds) + Duration::from_nanos(nanoseconds)
}
