//! Metrics of informers, work queues and workers with client-go's names, in your registry.
//!
//! ```
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # use k8s_openapi::api::core::v1::ConfigMap;
//! use kube_informer::SharedInformerFactory;
//! use kube_informer::metrics::prometheus_client::{encoding::text, registry::Registry};
//! use kube_informer::metrics::{InformerMetrics, Metrics};
//! use std::time::Duration;
//!
//! # let server = kube_embedded::Server::start().await?;
//! # let client = server.client()?;
//! let mut registry = Registry::default();
//! let queues = Metrics::register(&mut registry); // for `WorkQueue::builder("shops").metrics(&queues)`
//! let informers = InformerMetrics::register(&mut registry);
//!
//! let factory = SharedInformerFactory::builder(client).name("shop-operator").build();
//! informers.add_factory(&factory); // all its informers, including later ones
//! let maps = factory.informer::<ConfigMap>();
//! factory.start();
//! factory.wait_for_sync(Duration::from_secs(30)).await?;
//!
//! let mut page = String::new();
//! text::encode(&mut page, &registry)?;
//! # let labels = r#"name="shop-operator",group="",version="v1",resource="configmaps""#;
//! # assert!(page.contains(&format!("informer_synced{{{labels}}} 1\n")), "{page}");
//! # factory.shutdown().await;
//! # Ok(())
//! # }
//! ```
//!
//! All metrics of informers have the labels `name` (of the factory, or as passed with the informer), `group`, `version`
//! and `resource`.
//!
//! | Name | Type | Additional labels | Description |
//! |---|---|---|---|
//! | `informer_queued_items` | gauge | | changes waiting to be applied to the cache |
//! | `informer_processing_latency_seconds` | histogram | | time to apply a batch of changes to the cache and queue it for the handlers |
//! | `informer_store_resource_version` | gauge | | last 15 digits of the resource version of the cache |
//! | `informer_objects` | gauge | | objects in the cache |
//! | `informer_cache_bytes` | gauge | | size of the objects in the cache: see [`Status::bytes`](crate::status::Status::bytes) |
//! | `informer_synced` | gauge | | 1 if a full list is in the cache |
//! | `informer_sync_duration_seconds` | gauge | | time from the start until the first full list was in the cache |
//! | `informer_watch_age_seconds` | gauge | | time for which the server has been watched without interruption; absent while it is not watched |
//! | `informer_silence_seconds` | gauge | | time since the server last reported its version by a list, an event or a bookmark |
//! | `informer_events_total` | counter | `type`: `added`, `updated`, `deleted` | changes of the cache |
//! | `informer_requests_total` | counter | `verb`: `list`, `streaming_list`, `watch` | requests to the server |
//! | `informer_relists_total` | counter | `cause`: `expired`, `behind`, `failed`, `fruitless`, `silent`, `absent`, `inconsistent` | relists: see [`Relists`](crate::status::Relists) |
//! | `informer_errors_total` | counter | | errors reported to the watch-error handler |
//! | `informer_went_back_total` | counter | | times the server was at an older version than before |
//! | `informer_received_objects_total` | counter | | objects received in lists and watches |
//! | `informer_received_bytes_total` | counter | | size of the received objects |
//! | `informer_decoded_objects_total` | counter | | received objects that were decoded; the others were in the cache already |
//! | `informer_decode_seconds_total` | counter | | time spent decoding, including transforms |
//! | `informer_checks_total` | counter | `result`: `consistent`, `inconsistent`, `failed` | consistency checks |
//! | `informer_handler_backlog` | gauge | `handler` | events that wait for the handler |
//! | `informer_handler_events_total` | counter | `handler` | events delivered to the handler |
//! | `informer_handler_duration_seconds` | histogram | `handler` | duration of the handler's calls |
//! | `informer_handler_latency_seconds` | histogram | `handler` | time that changes waited for the handler; measured for one change at a time |
//! | `informer_handler_running_seconds` | gauge | `handler` | duration of the handler's current call; 0 if none is running |
//! | `informer_handler_panics_total` | counter | `handler` | panics of the handler |
//!
//! The first three are client-go's; it has none of the others. The values are read when the registry is encoded, so
//! they are always current. Informers that are dropped or have stopped are omitted. If several informers or handlers
//! would have the same labels, the later ones get a number: `stream`, `stream-2`.

mod collector;

use std::fmt;
use std::sync::Arc;

use parking_lot::Mutex;
use prometheus_client::registry::Registry;

pub use kube_workqueue::metrics::{Metrics, prometheus_client};

use self::collector::Collector;
use crate::factory::SharedInformerFactory;
use crate::informer::{InformerState, SharedInformer, Status};
use crate::object::Kind;

/// Registers the metrics of informers. Clones share the registered informers.
///
/// See [the module](self) for an example.
#[doc(alias = "InformerMetricsProvider")]
#[derive(Clone)]
pub struct InformerMetrics {
    sources: Arc<MetricsSources>,
}

/// The names and functions of the registered informers. The references are weak: informers without other references
/// are omitted.
#[derive(Default)]
pub(crate) struct MetricsSources {
    sources: Mutex<Vec<(String, ReadStatuses)>>,
}

/// Returns the status of informers, or `None` if they were dropped.
type ReadStatuses = Box<dyn Fn() -> Option<Vec<Status>> + Send + Sync>;

impl InformerMetrics {
    /// Adds the metrics to a registry. Call it once for each registry, because names in a registry must be unique.
    #[must_use = "add informers to it"]
    pub fn register(registry: &mut Registry) -> InformerMetrics {
        let sources = Arc::<MetricsSources>::default();
        registry.register_collector(Box::new(Collector::new(Arc::clone(&sources))));
        InformerMetrics { sources }
    }

    /// Adds all informers of a factory, including those that are requested later. Their `name` is that of the factory.
    pub fn add_factory(&self, factory: &SharedInformerFactory) {
        self.add_source(factory.name().to_owned(), Box::new(factory.weak_statuses()));
    }

    /// Adds an informer.
    pub fn add<K: Kind>(&self, name: impl Into<String>, informer: &SharedInformer<K>) {
        let status = informer.weak_status();
        self.add_source(name.into(), Box::new(move || Some(vec![status()?])));
    }

    fn add_source(&self, name: String, read: ReadStatuses) {
        self.sources.sources.lock().push((name, read));
    }
}

impl MetricsSources {
    /// Returns the name and status of every informer that has not been dropped.
    fn read(&self) -> Vec<(String, Status)> {
        let mut all = Vec::new();
        self.sources.lock().retain(|(name, read)| {
            let Some(statuses) = read() else {
                return false;
            };
            all.extend(statuses.into_iter().map(|status| (name.clone(), status)));
            true
        });
        all.retain(|(_, status)| status.state != InformerState::Stopped);
        all
    }
}

impl fmt::Debug for InformerMetrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InformerMetrics").finish_non_exhaustive()
    }
}
