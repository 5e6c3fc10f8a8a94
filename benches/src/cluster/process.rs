//! Memory and CPU time of this process.

use std::time::Duration;
use std::{fs, io};

use tokio::time::sleep;

use crate::clock::Stopwatch;

/// Interval of checks whether the process is idle.
const STEP: Duration = Duration::from_millis(100);
/// CPU time of an idle process, as a part of one CPU.
const IDLE_SHARE: f64 = 0.02;

/// Returns the resident memory, in bytes.
pub(super) fn resident() -> io::Result<u64> {
    status("VmRSS:")
}

/// Returns the peak of the resident memory, in bytes.
pub(super) fn most_resident() -> io::Result<u64> {
    status("VmHWM:")
}

/// Waits until the process was idle for a time. Returns the CPU time of that wait.
pub(super) async fn at_rest(long: Duration) -> Duration {
    loop {
        let stopwatch = Stopwatch::start();
        loop {
            sleep(STEP).await;
            let took = stopwatch.stop();
            if took.processors > long.mul_f64(IDLE_SHARE) {
                break;
            }
            if took.wall >= long {
                return took.processors;
            }
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
