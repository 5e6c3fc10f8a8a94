//! Time on the wall and on the processors.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use tokio::time::Instant;

/// Runs from its start on.
#[derive(Debug, Clone, Copy)]
pub struct Stopwatch {
    wall: Instant,
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
            wall: Instant::now(),
            processors: processors(),
        }
    }

    /// What it took until now.
    #[must_use]
    pub fn stop(self) -> Took {
        Took {
            wall: self.wall.elapsed(),
            processors: processors().saturating_sub(self.processors),
        }
    }
}

fn processors() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    let seconds = u64::try_from(time.tv_sec).unwrap_or_default();
    let nanoseconds = u64::try_from(time.tv_nsec).unwrap_or_default();
    Duration::from_secs(seconds) + Duration::from_nanos(nanoseconds)
}
