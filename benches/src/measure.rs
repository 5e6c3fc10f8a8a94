//! Measurements that all subjects share.

use std::alloc::System;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use stats_alloc::StatsAlloc;
use tokio::sync::Notify;
use tokio::time::Instant;

/// Number of calls that are timed together: so few that most chunks are not interrupted by other programs.
const CHUNK: usize = 1_000;

/// Returns nanoseconds per call, as the median of chunks of calls. `call` gets the number of the call.
pub fn per_call(calls: usize, call: impl FnMut(usize)) -> f64 {
    per_call_in(CHUNK, calls, call)
}

/// Like [`per_call`], with another chunk size for long calls.
pub fn per_call_in(chunk: usize, calls: usize, mut call: impl FnMut(usize)) -> f64 {
    let mut chunks: Vec<f64> = (0..calls / chunk)
        .map(|at| {
            let start = Instant::now();
            for number in at * chunk..(at + 1) * chunk {
                call(number);
            }
            start.elapsed().as_secs_f64() * 1e9 / chunk as f64
        })
        .collect();
    chunks.sort_by(f64::total_cmp);
    chunks[chunks.len() / 2]
}

/// The longest of many calls.
#[derive(Debug, Clone, Copy, Default)]
pub struct Longest {
    /// The longest of all calls.
    pub any: Duration,
    /// The longest call that the system did not interrupt for another thread.
    pub let_run: Duration,
}

/// A shorter call was not interrupted.
const SHORT: Duration = Duration::from_micros(5);

/// Calls a function while `going` is set. Returns the longest call.
pub fn longest_call(going: &AtomicBool, mut call: impl FnMut(usize)) -> Longest {
    let mut longest = Longest::default();
    let mut number = 0;
    let mut interruptions = interruptions();
    while going.load(Ordering::Relaxed) {
        let start = Instant::now();
        call(number);
        let took = start.elapsed();
        longest.any = longest.any.max(took);
        if took > SHORT {
            let before = std::mem::replace(&mut interruptions, self::interruptions());
            if interruptions == before {
                longest.let_run = longest.let_run.max(took);
            }
        }
        number += 1;
    }
    longest
}

/// Returns how often the system has interrupted this thread.
fn interruptions() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/thread-self/status").ok()?;
    let count = status
        .lines()
        .find_map(|line| line.strip_prefix("nonvoluntary_ctxt_switches:"))?;
    count.trim().parse().ok()
}

/// Returns the bytes in use.
#[must_use]
pub fn allocated(counting: &StatsAlloc<System>) -> f64 {
    let stats = counting.stats();
    stats.bytes_allocated as f64 - stats.bytes_deallocated as f64
}

/// Waits until a number of participants are done.
#[derive(Debug, Clone)]
pub struct Countdown {
    shared: Arc<(AtomicUsize, Notify)>,
}

impl Countdown {
    /// Returns a countdown for a number of participants.
    #[must_use]
    pub fn of(parties: usize) -> Countdown {
        Countdown {
            shared: Arc::new((AtomicUsize::new(parties), Notify::new())),
        }
    }

    /// Records that one participant is done.
    pub fn one_is_done(&self) {
        if self.shared.0.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.shared.1.notify_one();
        }
    }

    /// Waits for all participants.
    pub async fn all_are_done(&self) {
        self.shared.1.notified().await;
    }
}

/// Records the longest time between two deliveries.
#[derive(Debug, Clone)]
pub struct Gaps {
    start: Instant,
    shared: Arc<GapTimes>,
}

#[derive(Debug, Default)]
struct GapTimes {
    last: AtomicU64,
    longest: AtomicU64,
}

impl Gaps {
    /// Returns an empty recorder.
    #[must_use]
    pub fn new() -> Gaps {
        Gaps {
            start: Instant::now(),
            shared: Arc::default(),
        }
    }

    /// Records a delivery.
    pub fn delivered(&self) {
        let now = u64::try_from(self.start.elapsed().as_nanos()).unwrap_or(u64::MAX);
        let last = self.shared.last.swap(now, Ordering::Relaxed);
        if last > 0 {
            self.shared
                .longest
                .fetch_max(now.saturating_sub(last), Ordering::Relaxed);
        }
    }

    /// Returns the longest gap since the last call.
    #[must_use]
    pub fn take_longest(&self) -> Duration {
        Duration::from_nanos(self.shared.longest.swap(0, Ordering::Relaxed))
    }
}

impl Default for Gaps {
    fn default() -> Gaps {
        Gaps::new()
    }
}
