//! Counters and histograms of the queues with one name.

use std::collections::HashMap;
use std::sync::{Arc, Weak};
use std::time::Duration;

use foldhash::fast::RandomState;
use parking_lot::Mutex;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::histogram::Histogram;

use crate::core::{Nanos, SlotId};
use crate::outcome::AttemptResult;
use crate::queue::{QueueItem, Shared, wake_all};

/// Metrics of the queues with one name. Dropped with the last of these queues.
pub(super) struct QueueMetrics {
    pub(super) adds: Counter,
    pub(super) retries: Counter,
    pub(super) queue_duration: Histogram,
    pub(super) work_duration: Histogram,
    /// By label, in the order of `AttemptResult::LABELS`.
    pub(super) attempts: [Counter; AttemptResult::LABELS.len()],
    queues: Mutex<Vec<Weak<dyn Gauges>>>,
}

/// Records the metrics of one queue.
pub(crate) struct Meter {
    metrics: Arc<QueueMetrics>,
    /// When the processing of each running item began.
    running: Mutex<HashMap<SlotId, Nanos, RandomState>>,
}

/// Gauges of one or more queues at one time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct GaugeValues {
    pub(super) depth: usize,
    pub(super) delayed: usize,
    pub(super) running: usize,
    /// Time since the processing of the running items began: sum and maximum.
    pub(super) unfinished: Duration,
    pub(super) longest: Duration,
}

/// Reads the gauges of a queue with items of any type.
trait Gauges: Send + Sync {
    fn read(&self) -> GaugeValues;
}

impl QueueMetrics {
    pub(super) fn new() -> QueueMetrics {
        QueueMetrics {
            adds: Counter::default(),
            retries: Counter::default(),
            queue_duration: Histogram::new(buckets()),
            work_duration: Histogram::new(buckets()),
            attempts: Default::default(),
            queues: Mutex::default(),
        }
    }

    /// Reads the gauges of all queues and combines them.
    pub(super) fn read(&self) -> GaugeValues {
        let queues: Vec<Arc<dyn Gauges>> = self.queues.lock().iter().filter_map(Weak::upgrade).collect();
        let values = queues.iter().map(|queue| queue.read());
        values.fold(GaugeValues::default(), GaugeValues::combine)
    }
}

impl GaugeValues {
    fn combine(self, other: GaugeValues) -> GaugeValues {
        GaugeValues {
            depth: self.depth + other.depth,
            delayed: self.delayed + other.delayed,
            running: self.running + other.running,
            unfinished: self.unfinished + other.unfinished,
            longest: self.longest.max(other.longest),
        }
    }
}

impl Meter {
    pub(super) fn new(metrics: Arc<QueueMetrics>) -> Meter {
        Meter {
            metrics,
            running: Mutex::default(),
        }
    }

    /// Registers the queue that owns this meter, so that its gauges are read.
    pub(crate) fn register<T: QueueItem>(&self, queue: &Arc<Shared<T>>) {
        let queue: Weak<Shared<T>> = Arc::downgrade(queue);
        let mut queues = self.metrics.queues.lock();
        queues.retain(|queue| queue.strong_count() > 0);
        queues.push(queue);
    }

    pub(crate) fn count_adds(&self, adds: u64) {
        if adds > 0 {
            self.metrics.adds.inc_by(adds);
        }
    }

    pub(crate) fn count_retry(&self) {
        self.metrics.retries.inc();
    }

    pub(crate) fn item_started(&self, slot: SlotId, now: Nanos, queued_for: Nanos) {
        self.running.lock().insert(slot, now);
        self.metrics.queue_duration.observe(seconds(queued_for));
    }

    pub(crate) fn item_finished(&self, slot: SlotId, now: Nanos) {
        let began = self.running.lock().remove(&slot);
        if let Some(began) = began {
            self.metrics
                .work_duration
                .observe(seconds(now.saturating_sub(began)));
        }
    }

    pub(crate) fn count_attempt(&self, result: &AttemptResult) {
        self.metrics.attempts[result.label_index()].inc();
    }
}

impl<T: QueueItem> Gauges for Shared<T> {
    fn read(&self) -> GaugeValues {
        let mut values = GaugeValues::default();
        let wakers = {
            let mut state = self.state.lock();
            let (queued, wakers) = self.count_queued(&mut state, self.now());
            values.depth = queued + state.core.dirty();
            values.delayed = state.core.delayed();
            values.running = state.core.running();
            wakers
        };
        wake_all(wakers);
        if let Some(meter) = &self.meter {
            let now = self.now();
            for began in meter.running.lock().values() {
                let elapsed = Duration::from_nanos(now.saturating_sub(*began));
                values.unfinished += elapsed;
                values.longest = values.longest.max(elapsed);
            }
        }
        values
    }
}

/// Returns ten bucket bounds from 10 ns to 10 s. They are multiplied step by step as in client-go, which gives exactly the
/// same bounds, so histograms of both can be summed.
fn buckets() -> impl Iterator<Item = f64> {
    std::iter::successors(Some(1e-8), |bucket| Some(bucket * 10.0)).take(10)
}

fn seconds(time: Nanos) -> f64 {
    Duration::from_nanos(time).as_secs_f64()
}
