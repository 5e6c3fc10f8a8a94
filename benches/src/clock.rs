//! Elapsed time and CPU time.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// A stopwatch that also runs while tokio's clock is paused.
#[derive(Debug, Clone, Copy)]
pub struct Stopwatch {
    wall: Duration,
    processors: Duration,
}

/// The time between start and stop.
#[derive(Debug, Clone, Copy)]
pub struct ElapsedTime {
    /// Elapsed time.
    pub wall: Duration,
    /// CPU time of all threads of the process.
    pub processors: Duration,
}

impl Stopwatch {
    /// Starts the stopwatch.
    #[must_use]
    pub fn start() -> Stopwatch {
        Stopwatch {
            wall: clock_time(ClockId::Monotonic),
            processors: clock_time(ClockId::ProcessCPUTime),
        }
    }

    /// Returns the time since the start.
    #[must_use]
    pub fn stop(self) -> ElapsedTime {
        ElapsedTime {
            wall: clock_time(ClockId::Monotonic).saturating_sub(self.wall),
            processors: clock_time(ClockId::ProcessCPUTime).saturating_sub(self.processors),
        }
    }
}

fn clock_time(clock: ClockId) -> Duration {
    let time = clock_gettime(clock);
    let seconds = u64::try_from(time.tv_sec).unwrap_or_default();
    let nanoseconds = u64::try_from(time.tv_nsec).unwrap_or_default();
    Duration::from_secs(seconds) + Duration::from_nanos(nanoseconds)
}
