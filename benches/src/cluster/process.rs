//! This process, as the system sees it.

use std::time::Duration;
use std::{fs, io};

use tokio::time::sleep;

use crate::clock::Stopwatch;

/// How long nothing is done in a process at rest, and in how many steps that is looked at.
const REST: Duration = Duration::from_secs(1);
const STEPS: u32 = 10;
/// What a process at rest still does in that time.
const LITTLE: Duration = Duration::from_millis(20);

/// The memory that is resident, in bytes.
pub(super) fn resident() -> io::Result<u64> {
    status("VmRSS:")
}

/// The most that was resident at any time, in bytes.
pub(super) fn most_resident() -> io::Result<u64> {
    status("VmHWM:")
}

/// Returns when the process has come to rest, with the processors' time of the rest.
pub(super) async fn at_rest() -> Duration {
    loop {
        let stopwatch = Stopwatch::start();
        let mut took = Duration::ZERO;
        for _ in 0..STEPS {
            sleep(REST / STEPS).await;
            took = stopwatch.stop().processors;
            if took > LITTLE {
                break;
            }
        }
        if took <= LITTLE {
            return took;
        }
    }
}

fn status(name: &str) -> io::Result<u64> {
    let text = fs::read_to_string("/proc/self/status")?;
    let line = text.lines().find_map(|line| line.strip_prefix(name));
    let kilobytes = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    kilobytes
        .map(|kilobytes| kilobytes << 10)
        .ok_or_else(|| io::Error::other(format!("/proc/self/status has no {name}")))
}
