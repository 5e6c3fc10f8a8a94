//! Kubernetes informers for Rust: shared informers, indexes, listers, event handlers and work queues.
//!
//! An informer keeps a local copy of the objects of one kind in step with the cluster and reports changes to handlers. Reading the
//! copy takes microseconds and sends no request: the informer listed once and holds a watch open. The design is that of client-go;
//! the client and the types are those of [kube](https://docs.rs/kube) and [k8s-openapi](https://docs.rs/k8s-openapi). client-go's names
//! are found by the search of this documentation.
//!
//! # An informer with an index
//!
//! ```no_run
//! # async fn example() -> Result<(), kube_informer::Error> {
//! use k8s_openapi::api::core::v1::Pod;
//! use kube_informer::prelude::*;
//! use std::time::Duration;
//!
//! let factory = SharedInformerFactory::new(default_client().await?);
//! let pods = factory.informer::<Pod>();
//! // Values of an index are computed from each object; an object can have any number of them.
//! let by_node = pods.index("node", |pod: &Pod| pod.spec.as_ref().and_then(|spec| spec.node_name.clone()))?;
//!
//! factory.start();
//! factory.wait_for_sync(Duration::from_secs(30)).await?;
//!
//! for pod in by_node.get("node-1") {
//!     println!("{} at version {}", pod.key(), pod.version());
//! }
//! let web = pods.lister().namespace("shop").list(&"app=web".parse().expect("a valid selector"));
//! println!("{} pods", web.len());
//! factory.shutdown().await;
//! # Ok(())
//! # }
//! ```
//!
//! # A handler with a work queue
//!
//! A handler only puts keys into a queue. Workers take them out and call a reconcile function, which reads the cache; a key that
//! fails is retried with backoff, and no key is in two workers at the same time.
//!
//! ```no_run
//! # async fn example(factory: kube_informer::SharedInformerFactory, stop: kube_informer::CancellationToken) -> Result<(), Box<dyn std::error::Error>> {
//! use k8s_openapi::api::apps::v1::Deployment;
//! use kube_informer::prelude::*;
//!
//! async fn reconcile(key: Key, deployments: Lister<Deployment>) -> Result<Outcome, kube_informer::Error> {
//!     match deployments.get_key(&key) {
//!         Ok(deployment) => println!("{key}: {:?} replicas", deployment.spec.as_ref().and_then(|spec| spec.replicas)),
//!         Err(error) if error.is_not_found() => println!("{key} was deleted"),
//!         Err(error) => return Err(error),
//!     }
//!     Ok(Outcome::Done)
//! }
//!
//! let deployments = factory.apps().v1().deployments().informer();
//! let queue = WorkQueue::new("deployments");
//! let registration = deployments.add_handler(enqueue_keys(&queue))?;
//! factory.start();
//! registration.synced().await?; // every object was added to the queue
//!
//! let lister = deployments.lister();
//! workers(queue, 4, move |task: Task<Key>| reconcile(task.into_item(), lister.clone())).run(stop).await;
//! # Ok(())
//! # }
//! ```
//!
//! # A unit test of a reconcile function
//!
//! A [`Cache`] is filled by hand. It needs no server and no async runtime, and returns the same listers and indexes as an informer.
//!
//! ```
//! use k8s_openapi::api::core::v1::ConfigMap;
//! use kube_informer::{Cache, Key, Lister};
//!
//! fn desired_replicas(settings: &Lister<ConfigMap>, key: &Key) -> i32 {
//!     let setting = settings.get_key(key).ok();
//!     let data = setting.and_then(|setting| setting.data.as_ref()?.get("replicas").cloned());
//!     data.and_then(|text| text.parse().ok()).unwrap_or(1)
//! }
//!
//! let mut object = ConfigMap::default();
//! object.metadata.namespace = Some("shop".to_owned());
//! object.metadata.name = Some("web".to_owned());
//! object.data = Some([("replicas".to_owned(), "3".to_owned())].into());
//!
//! let cache = Cache::from_objects([object])?;
//! assert_eq!(desired_replicas(&cache.lister(), &Key::namespaced("shop", "web")), 3);
//! assert_eq!(desired_replicas(&cache.lister(), &Key::namespaced("shop", "cart")), 1);
//! # Ok::<(), kube_informer::Error>(())
//! ```
//!
//! Tests against an API server use the crate `kube-embedded`, which runs one in the process.
//!
//! # Where to look
//!
//! | for | see |
//! |---|---|
//! | informers of many kinds, started and stopped together | [`SharedInformerFactory`], [`FactoryBuilder`] |
//! | every built-in kind by name | [`groups`] |
//! | one informer, and its guarantees | [`SharedInformer`], [`InformerBuilder`] |
//! | types that can be watched | [`Kind`]: any type of k8s-openapi or kube, or a small struct with the fields you need |
//! | kinds that are known only at run time | [`SharedInformerFactory::dynamic`], [`discovery`] |
//! | reading the cache | [`Lister`], [`Index`], [`Snapshot`], [`Selector`], [`snapshot_all`]; they return [`Object`] |
//! | receiving changes | [`Event`], [`EventHandler`], [`callbacks`], [`filtered`], [`EventStream`], [`Registration`] |
//! | processing changes | [`enqueue_keys`], [`enqueue_owners`], [`enqueue_mapped`]; `WorkQueue` and `workers` in the [`prelude`] |
//! | reading your own writes | [`SharedInformer::wait_for_write`] |
//! | a cache that uses a tenth of the memory | [`CacheFormat`], [`FieldMask`] |
//! | status and metrics | [`status`], [`SharedInformer::check_consistency`], `metrics` |
//! | informers of any kind in one list | [`erased`] |
//! | errors | [`Error`], [`error`] |
//! | a client that suits many watches | [`client`] |
//! | objects from elsewhere than an API server | [`source::ListWatch`] |
//! | a web page that shows informers at work | the crate `kube-informer-dashboard` |
//!
//! [The book][book] explains the design and has guides for users of [client-go][go] and [kube's runtime][rs].
//!
//! # Data flow
//!
//! ```text
//! API server → wire → reflector → queue → controller → store → processor → handlers
//! ```
//!
//! The reflector lists and watches with backoff. The controller writes each change to the store before the processor notifies
//! handlers. The store is an immutable snapshot of objects and indexes, replaced with each change, so readers never wait. Each
//! handler has a bounded queue and a task of its own.
//!
//! # Features
//! None is enabled by default.
//! - `metrics`: metrics of informers, work queues and workers for your registry: see `metrics`.
//!
//! Your program selects the Kubernetes version with a feature of `k8s-openapi`, for example `v1_36`.
//!
//! [book]: https://github.com/kube-informer/kube-informer/blob/main/docs/book/src/SUMMARY.md
//! [go]: https://github.com/kube-informer/kube-informer/blob/main/docs/book/src/from-client-go.md
//! [rs]: https://github.com/kube-informer/kube-informer/blob/main/docs/book/src/from-kube-rs.md

#![cfg_attr(docsrs, feature(doc_cfg))]

// What users see.
pub mod client;
pub mod discovery;
pub mod erased;
pub mod error;
mod factory;
pub mod handler;
mod informer;
pub mod lister;
#[cfg(feature = "metrics")]
pub mod metrics;
mod object;

// How it works.
mod measures;
mod pipeline;
mod types;
mod util;

pub use error::Error;
pub use factory::{FactoryBuilder, SharedInformerFactory, groups};
pub use handler::enqueue::{enqueue_controllers, enqueue_keys, enqueue_mapped, enqueue_owners};
pub use handler::{Event, EventHandler, HandlerOptions, Registration, callbacks, filtered};
pub use informer::{InformerBuilder, InformerState, SharedInformer};
pub use kube_wire::FieldMask;
pub use kube_wire::selector::Selector;
pub use lister::{Cache, Lister, snapshot_all};
pub use object::format::CacheFormat;
pub use object::{Kind, Object, selector_of};
pub use pipeline::processor::EventStream;
pub use pipeline::reflector::Backoff;
pub use pipeline::store::{Index, IndexValue, Snapshot};
pub use tokio_util::sync::CancellationToken;
pub use types::{Key, ResourceVersion, WatchedResource};

/// Sources of objects: an API server, or your own.
pub mod source {
    pub use crate::pipeline::wire::{
        ApiListWatch, ExactListRequest, ListPart, ListRequest, ListStream, ListWatch, Parameters, RawObject,
        WatchEvent, WatchRequest, WatchStream, WireFormat,
    };
}

/// Status of informers, for probes, metrics and people.
pub mod status {
    pub use crate::factory::Readiness;
    pub use crate::informer::{Relists, Status};
    pub use crate::measures::Durations;
    pub use crate::types::{ConsistencyReport, Difference};
}

/// Imports for a first program, including the work queue: `use kube_informer::prelude::*;`
pub mod prelude {
    pub use crate::client::{default_client, watching_client};
    pub use crate::handler::Enqueue;
    pub use crate::{
        CancellationToken, Event, EventHandler, HandlerOptions, Index, Key, Lister, Object, Registration,
        Selector, SharedInformer, SharedInformerFactory, Snapshot, callbacks, enqueue_controllers,
        enqueue_keys, enqueue_mapped, enqueue_owners, filtered,
    };
    pub use kube_workqueue::{AddOptions, Outcome, Task, WorkQueue, workers};
}
