//! This process, as the system sees it.

use std::time::Duration;
use std::{fs, io};

use tokio::time::sleep;

use crate::clock::Stopwatch;

/// How often is looked whether anything is done.
const STEP: Duration = Duration::from_millis(100);
/// What a process at rest still does, of one processor.
const LITTLE: f64 = 0.02;

/// The memory that is resident, in bytes.
pub(super) fn resident() -> io::Result<u64> {
    status("VmRSS:")
}

/// The most that was resident at any time, in bytes.
pub(super) fn most_resident() -> io::Result<u64> {
    status("VmHWM:")
}

/// Returns when next to nothing was done for so long, with the processors' time of that.
pub(super) async fn at_rest(long: Duration) -> Duration {
    loop {
        let stopwatch = Stopwatch::start();
        loop {
            sleep(STEP).await;
            let took = stopwatch.stop();
            if took.processors > long.mul_f64(LITTLE) {
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
