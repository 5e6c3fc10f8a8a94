//! Prometheus metrics of queues and workers, with client-go's names and meaning.
//!
//! | name | type | labels | meaning |
//! |---|---|---|---|
//! | `workqueue_depth` | gauge | `name` | items that are queued, or were added while being processed |
//! | `workqueue_adds_total` | counter | `name` | adds without duplicates; a delayed item counts when it is due |
//! | `workqueue_queue_duration_seconds` | histogram | `name` | time that items were queued before their processing began |
//! | `workqueue_work_duration_seconds` | histogram | `name` | time that processing items took |
//! | `workqueue_unfinished_work_seconds` | gauge | `name` | sum of the times since the processing of running items began |
//! | `workqueue_longest_running_processor_seconds` | gauge | `name` | the longest of these times |
//! | `workqueue_retries_total` | counter | `name` | adds with a delay or a rate limit |
//! | `workqueue_delayed` | gauge | `name` | delayed items (not in client-go) |
//! | `workqueue_running` | gauge | `name` | items being processed, which is the number of busy workers (not in client-go) |
//! | `workqueue_attempts_total` | counter | `name`, `result` | attempts of [`workers`](crate::workers), by result: `done`, `requeue_after`, `requeue`, `give_up`, `error`, `panic`, `timeout` (not in client-go) |
//!
//! Gauges are read from the queues when the registry is encoded; no background task updates them. The metrics of a queue
//! disappear when it is dropped. Queues with the same name share their metrics: values are summed, and of the longest times
//! the maximum is taken.
//!
//! # Examples
//! ```
//! use kube_workqueue::WorkQueue;
//! use kube_workqueue::metrics::Metrics;
//! use kube_workqueue::metrics::prometheus_client::{encoding::text, registry::Registry};
//!
//! let mut registry = Registry::default();
//! let metrics = Metrics::register(&mut registry);
//!
//! let queue = WorkQueue::builder("deployments").metrics(&metrics).build();
//! queue.add("shop/cart");
//!
//! let mut page = String::new();
//! text::encode(&mut page, &registry).expect("writing to a string does not fail");
//! assert!(page.contains("workqueue_depth{name=\"deployments\"} 1\n"));
//! ```

mod collector;
mod series;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Weak};

use parking_lot::Mutex;
/// The crate of the registry.
pub use prometheus_client;
use prometheus_client::registry::Registry;

use self::collector::Collector;
pub(crate) use self::series::Meter;
use self::series::QueueMetrics;
use crate::builder::QueueBuilder;
use crate::queue::QueueItem;

/// Metrics in a registry. Clones share it.
///
/// See [the module](self) for an example.
#[doc(alias("MetricsProvider", "SetProvider"))]
#[derive(Clone)]
pub struct Metrics {
    queues: Arc<MetricsByName>,
}

/// Metrics by queue name. Weak references, because the metrics of dropped queues disappear.
#[derive(Default)]
struct MetricsByName {
    metrics: Mutex<BTreeMap<String, Weak<QueueMetrics>>>,
}

impl Metrics {
    /// Registers the metrics. Call this once per registry, because each call registers every name.
    #[must_use = "pass it to `QueueBuilder::metrics`"]
    pub fn register(registry: &mut Registry) -> Metrics {
        let queues = Arc::<MetricsByName>::default();
        registry.register_collector(Box::new(Collector::new(Arc::clone(&queues))));
        Metrics { queues }
    }

    /// Returns the meter of a new queue with this name.
    fn meter(&self, name: &str) -> Meter {
        Meter::new(self.queues.get_or_create(name))
    }
}

impl<T: QueueItem> QueueBuilder<T> {
    /// Records metrics of the queue. Queues with the same name share their metrics.
    pub fn metrics(mut self, metrics: &Metrics) -> Self {
        self.meter = Some(metrics.meter(&self.name));
        self
    }
}

impl MetricsByName {
    fn get_or_create(&self, name: &str) -> Arc<QueueMetrics> {
        let mut all = self.metrics.lock();
        if let Some(metrics) = all.get(name).and_then(Weak::upgrade) {
            return metrics;
        }
        all.retain(|_, metrics| metrics.strong_count() > 0);
        let metrics = Arc::new(QueueMetrics::new());
        all.insert(name.to_owned(), Arc::downgrade(&metrics));
        metrics
    }

    fn all(&self) -> Vec<(String, Arc<QueueMetrics>)> {
        let all = self.metrics.lock();
        let used = all
            .iter()
            .filter_map(|(name, metrics)| Some((name.clone(), metrics.upgrade()?)));
        used.collect()
    }
}

impl fmt::Debug for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<String> = self.queues.metrics.lock().keys().cloned().collect();
        f.debug_struct("Metrics").field("queues", &names).finish()
    }
}
