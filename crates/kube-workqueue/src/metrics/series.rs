//! What is counted and measured of the queues of one name, and by whom.

use std::collections::HashMap;
use std::sync::{Arc, Weak};
use std::time::Duration;

use foldhash::fast::RandomState;
use parking_lot::Mutex;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::histogram::Histogram;

use crate::core::{Nanos, SlotId};
use crate::queue::{Shared, Work, wake};
use crate::worker::Failure;
use crate::workers::Outcome;

/// The queues of one name. It lives as long as one of them.
pub(super) struct Series {
    pub(super) adds: Counter,
    pub(super) retries: Counter,
    pub(super) queued: Histogram,
    pub(super) worked: Histogram,
    pub(super) attempts: [Counter; Verdict::ALL.len()],
    queues: Mutex<Vec<Weak<dyn Live>>>,
}

/// One queue's way to its series.
pub(crate) struct Meter {
    series: Arc<Series>,
    /// When the work on items began.
    running: Mutex<HashMap<SlotId, Nanos, RandomState>>,
}

/// How queues are at a moment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Reading {
    pub(super) depth: usize,
    pub(super) delayed: usize,
    pub(super) running: usize,
    /// How long the items that are worked on are so: all together, and the longest.
    pub(super) unfinished: Duration,
    pub(super) longest: Duration,
}

/// What came of a worker's attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    Done,
    RequeueAfter,
    Requeue,
    GiveUp,
    Error,
    Panic,
    Timeout,
}

/// A queue that can be read, of whatever items.
trait Live: Send + Sync {
    fn read(&self) -> Reading;
}

impl Series {
    pub(super) fn new() -> Series {
        Series {
            adds: Counter::default(),
            retries: Counter::default(),
            queued: Histogram::new(buckets()),
            worked: Histogram::new(buckets()),
            attempts: Default::default(),
            queues: Mutex::default(),
        }
    }

    /// How its queues are, together.
    pub(super) fn read(&self) -> Reading {
        let alive: Vec<Arc<dyn Live>> = self.queues.lock().iter().filter_map(Weak::upgrade).collect();
        let readings = alive.iter().map(|queue| queue.read());
        readings.fold(Reading::default(), Reading::and)
    }
}

impl Reading {
    fn and(self, other: Reading) -> Reading {
        Reading {
            depth: self.depth + other.depth,
            delayed: self.delayed + other.delayed,
            running: self.running + other.running,
            unfinished: self.unfinished + other.unfinished,
            longest: self.longest.max(other.longest),
        }
    }
}

impl Meter {
    pub(super) fn new(series: Arc<Series>) -> Meter {
        Meter {
            series,
            running: Mutex::default(),
        }
    }

    /// The queue it is in is to be read.
    pub(crate) fn watch<T: Work>(&self, queue: &Arc<Shared<T>>) {
        let queue: Weak<Shared<T>> = Arc::downgrade(queue);
        let mut queues = self.series.queues.lock();
        queues.retain(|queue| queue.strong_count() > 0);
        queues.push(queue);
    }

    pub(crate) fn added(&self, adds: u64) {
        if adds > 0 {
            self.series.adds.inc_by(adds);
        }
    }

    pub(crate) fn retried(&self) {
        self.series.retries.inc();
    }

    pub(crate) fn began(&self, slot: SlotId, now: Nanos, waited: Nanos) {
        self.running.lock().insert(slot, now);
        self.series.queued.observe(seconds(waited));
    }

    pub(crate) fn ended(&self, slot: SlotId, now: Nanos) {
        let began = self.running.lock().remove(&slot);
        if let Some(began) = began {
            self.series.worked.observe(seconds(now.saturating_sub(began)));
        }
    }

    pub(crate) fn judged(&self, verdict: Verdict) {
        self.series.attempts[verdict as usize].inc();
    }
}

impl<T: Work> Live for Shared<T> {
    fn read(&self) -> Reading {
        let mut reading = Reading::default();
        let called = {
            let mut state = self.state.lock();
            let (in_line, called) = self.in_line(&mut state, self.now());
            reading.depth = in_line + state.core.again();
            reading.delayed = state.core.delayed();
            reading.running = state.core.running();
            called
        };
        wake(called);
        if let Some(meter) = &self.meter {
            let now = self.now();
            for began in meter.running.lock().values() {
                let so_far = Duration::from_nanos(now.saturating_sub(*began));
                reading.unfinished += so_far;
                reading.longest = reading.longest.max(so_far);
            }
        }
        reading
    }
}

impl Verdict {
    pub(super) const ALL: [Verdict; 7] = [
        Verdict::Done,
        Verdict::RequeueAfter,
        Verdict::Requeue,
        Verdict::GiveUp,
        Verdict::Error,
        Verdict::Panic,
        Verdict::Timeout,
    ];

    pub(crate) fn of(outcome: &Result<Outcome, Failure>) -> Verdict {
        match outcome {
            Ok(Outcome::Done) => Verdict::Done,
            Ok(Outcome::RequeueAfter(_)) => Verdict::RequeueAfter,
            Ok(Outcome::Requeue) => Verdict::Requeue,
            Ok(Outcome::GiveUp(_)) => Verdict::GiveUp,
            Err(Failure::Error(_)) => Verdict::Error,
            Err(Failure::Panic(_)) => Verdict::Panic,
            Err(Failure::Late(_)) => Verdict::Timeout,
        }
    }

    pub(super) fn label(self) -> &'static str {
        match self {
            Verdict::Done => "done",
            Verdict::RequeueAfter => "requeue_after",
            Verdict::Requeue => "requeue",
            Verdict::GiveUp => "give_up",
            Verdict::Error => "error",
            Verdict::Panic => "panic",
            Verdict::Timeout => "timeout",
        }
    }
}

/// Ten, from 10 ns to 10 s. Multiplied step by step as client-go's are, because then they are the same to the last bit, and
/// histograms of both can be summed.
fn buckets() -> impl Iterator<Item = f64> {
    std::iter::successors(Some(1e-8), |bucket| Some(bucket * 10.0)).take(10)
}

fn seconds(time: Nanos) -> f64 {
    Duration::from_nanos(time).as_secs_f64()
}
