//! Metrics of informers, and of work queues and their workers, with client-go's names, on a registry of yours.
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
//! informers.add_factory(&factory); // every informer that it has and will have
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
//! All of them have the labels `name` (of the factory, or what was given with the informer), `group`, `version` and
//! `resource`.
//!
//! | name | type | more labels | what it says |
//! |---|---|---|---|
//! | `informer_queued_items` | gauge | | changes between the watch and the cache |
//! | `informer_processing_latency_seconds` | histogram | | how long changes took to get into the cache and in line for the handlers, each batch of them |
//! | `informer_store_resource_version` | gauge | | the last 15 digits of the cache's version |
//! | `informer_objects` | gauge | | objects in the cache |
//! | `informer_cache_bytes` | gauge | | their bytes: see [`Status::bytes`](crate::status::Status::bytes) |
//! | `informer_synced` | gauge | | 1 if a full list is in the cache |
//! | `informer_sync_duration_seconds` | gauge | | how long it took until there was one |
//! | `informer_watch_age_seconds` | gauge | | for how long the server has been watched without a break; not there while it is not |
//! | `informer_silence_seconds` | gauge | | how long ago the server told of its version by a list, an event or a bookmark |
//! | `informer_events_total` | counter | `type`: `added`, `updated`, `deleted` | changes of the cache |
//! | `informer_requests_total` | counter | `verb`: `list`, `streaming_list`, `watch` | requests to the server |
//! | `informer_relists_total` | counter | `cause`: `expired`, `behind`, `failed`, `fruitless`, `silent`, `absent`, `inconsistent` | lists that took the place of what was in the cache: see [`Relists`](crate::status::Relists) |
//! | `informer_errors_total` | counter | | errors told to the watch-error handler |
//! | `informer_went_back_total` | counter | | how often the server was found at an older version than before |
//! | `informer_received_objects_total` | counter | | objects that came in lists and watches |
//! | `informer_received_bytes_total` | counter | | their bytes |
//! | `informer_decoded_objects_total` | counter | | those of them that were decoded; the others were known |
//! | `informer_decode_seconds_total` | counter | | how long that took, transforms included |
//! | `informer_checks_total` | counter | `result`: `consistent`, `inconsistent`, `failed` | comparisons of the cache with the server |
//! | `informer_handler_backlog` | gauge | `handler` | events that the handler has still to be told |
//! | `informer_handler_events_total` | counter | `handler` | events that it was told |
//! | `informer_handler_duration_seconds` | histogram | `handler` | how long its calls took |
//! | `informer_handler_latency_seconds` | histogram | `handler` | how long changes waited for it; noted of one at a time |
//! | `informer_handler_running_seconds` | gauge | `handler` | how long the call takes so far that is running; 0 if none is |
//! | `informer_handler_panics_total` | counter | `handler` | how often it panicked |
//!
//! The first three are client-go's; it has none of the others. Everything is read when the registry is encoded, so nothing is
//! ever old and nothing runs meanwhile. An informer that is dropped, or has stopped, is shown no more. Where two informers or
//! handlers would have the same labels, the later ones get a number: `stream`, `stream-2`.

mod collector;

use std::fmt;
use std::sync::Arc;

use parking_lot::Mutex;
use prometheus_client::registry::Registry;

pub use kube_workqueue::metrics::{Metrics, prometheus_client};

use self::collector::Collector;
use crate::factory::{SharedInformerFactory, WeakFactory};
use crate::informer::{InformerState, SharedInformer, Status, WeakInformer};
use crate::object::Kind;

/// Metrics on a registry, for informers to be shown on. Clones are the same.
///
/// See [the module](self) for an example.
#[doc(alias = "InformerMetricsProvider")]
#[derive(Clone)]
pub struct InformerMetrics {
    sources: Arc<MetricsSources>,
}

/// What is shown. It is held weakly: what nobody uses is shown no more.
#[derive(Default)]
pub(crate) struct MetricsSources {
    sources: Mutex<Vec<Box<dyn InformerProvider>>>,
}

/// Where informers are found.
trait InformerProvider: Send + Sync {
    /// How they are, each with its name; none if there is nothing any more.
    fn read(&self) -> Option<Vec<(String, Status)>>;
}

impl InformerMetrics {
    /// Puts the metrics on a registry. Once for a registry, or every name would be on it twice.
    #[must_use = "informers are shown if they are added to it"]
    pub fn register(registry: &mut Registry) -> InformerMetrics {
        let sources = Arc::<MetricsSources>::default();
        registry.register_collector(Box::new(Collector::new(Arc::clone(&sources))));
        InformerMetrics { sources }
    }

    /// Shows every informer of a factory, those included that it is asked for later. Their `name` is the factory's.
    pub fn add_factory(&self, factory: &SharedInformerFactory) {
        self.add_source(Box::new(factory.downgrade()));
    }

    /// Shows one informer.
    pub fn add<K: Kind>(&self, name: impl Into<String>, informer: &SharedInformer<K>) {
        self.add_source(Box::new((name.into(), informer.downgrade())));
    }

    fn add_source(&self, source: Box<dyn InformerProvider>) {
        self.sources.sources.lock().push(source);
    }
}

impl MetricsSources {
    /// Every informer that lives.
    fn read(&self) -> Vec<(String, Status)> {
        let mut all = Vec::new();
        self.sources.lock().retain(|source| match source.read() {
            Some(some) => {
                all.extend(some);
                true
            }
            None => false,
        });
        all.retain(|(_, status)| status.state != InformerState::Stopped);
        all
    }
}

impl InformerProvider for WeakFactory {
    fn read(&self) -> Option<Vec<(String, Status)>> {
        let factory = self.upgrade()?;
        let named = |status| (factory.name().to_owned(), status);
        Some(factory.statuses().into_iter().map(named).collect())
    }
}

impl<K: Kind> InformerProvider for (String, WeakInformer<K>) {
    fn read(&self) -> Option<Vec<(String, Status)>> {
        let (name, informer) = self;
        Some(vec![(name.clone(), informer.upgrade()?.status())])
    }
}

impl fmt::Debug for InformerMetrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InformerMetrics").finish_non_exhaustive()
    }
}
