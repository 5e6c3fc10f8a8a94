//! Metrics of queues and workers, with client-go's names and meaning, on a registry of yours.
//!
//! | name | type | labels | what it says |
//! |---|---|---|---|
//! | `workqueue_depth` | gauge | `name` | items to work on: in line, or added while they are worked on |
//! | `workqueue_adds_total` | counter | `name` | adds; one that is folded into an earlier one is none, and a delayed one counts when it is due |
//! | `workqueue_queue_duration_seconds` | histogram | `name` | how long items were to be worked on before somebody did |
//! | `workqueue_work_duration_seconds` | histogram | `name` | how long the work on items took |
//! | `workqueue_unfinished_work_seconds` | gauge | `name` | how long all items that are worked on are worked on so far, together |
//! | `workqueue_longest_running_processor_seconds` | gauge | `name` | how long the longest of them is |
//! | `workqueue_retries_total` | counter | `name` | adds with a delay or held back by the rate limiter |
//! | `workqueue_delayed` | gauge | `name` | items whose time has not come (not in client-go) |
//! | `workqueue_running` | gauge | `name` | items that are worked on, so workers that are busy (not in client-go) |
//! | `workqueue_attempts_total` | counter | `name`, `result` | what came of the work of [`workers`](crate::workers): `done`, `requeue_after`, `requeue`, `give_up`, `error`, `panic`, `timeout` (not in client-go) |
//!
//! Gauges are read from the queues when the registry is encoded, so they are never old and nothing runs meanwhile. A queue
//! that is dropped is shown no more. Queues of one name are shown as one: their sums, and the longest of both.
//!
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
//! text::encode(&mut page, &registry).expect("a string takes everything");
//! assert!(page.contains("workqueue_depth{name=\"deployments\"} 1\n"));
//! ```

mod collector;
mod series;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Weak};

use parking_lot::Mutex;
/// The crate whose registry this takes.
pub use prometheus_client;
use prometheus_client::registry::Registry;

use self::collector::Collector;
use self::series::Series;
pub(crate) use self::series::{Meter, Verdict};
use crate::builder::QueueBuilder;
use crate::queue::Work;

/// Metrics on a registry, for queues to show themselves on. Clones are the same.
///
/// See [the module](self) for an example.
#[doc(alias("MetricsProvider", "SetProvider"))]
#[derive(Clone)]
pub struct Metrics {
    names: Arc<Names>,
}

/// The queues that live, by name. They are held weakly: what nobody uses is not shown.
#[derive(Default)]
struct Names {
    series: Mutex<BTreeMap<String, Weak<Series>>>,
}

impl Metrics {
    /// Puts the metrics on a registry. Once for a registry, or every name would be on it twice.
    #[must_use = "queues are shown if they are made with it"]
    pub fn register(registry: &mut Registry) -> Metrics {
        let names = Arc::<Names>::default();
        registry.register_collector(Box::new(Collector::new(Arc::clone(&names))));
        Metrics { names }
    }

    /// What a new queue of this name is measured with.
    fn meter(&self, name: &str) -> Meter {
        Meter::new(self.names.of(name))
    }
}

impl<T: Work> QueueBuilder<T> {
    /// Where its metrics are shown. Queues of one name are shown as one.
    pub fn metrics(mut self, metrics: &Metrics) -> Self {
        self.meter = Some(metrics.meter(&self.name));
        self
    }
}

impl Names {
    fn of(&self, name: &str) -> Arc<Series> {
        let mut all = self.series.lock();
        if let Some(series) = all.get(name).and_then(Weak::upgrade) {
            return series;
        }
        all.retain(|_, series| series.strong_count() > 0);
        let series = Arc::new(Series::new());
        all.insert(name.to_owned(), Arc::downgrade(&series));
        series
    }

    fn alive(&self) -> Vec<(String, Arc<Series>)> {
        let all = self.series.lock();
        let alive = all
            .iter()
            .filter_map(|(name, series)| Some((name.clone(), series.upgrade()?)));
        alive.collect()
    }
}

impl fmt::Debug for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<String> = self.names.series.lock().keys().cloned().collect();
        f.debug_struct("Metrics").field("queues", &names).finish()
    }
}
