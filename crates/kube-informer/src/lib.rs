//! Kubernetes' informer machinery in Rust, for those who write operators, controllers, gateways and tools.
//!
//! An informer keeps a copy of a kind's objects in step with the cluster and tells handlers what changed. It is read in
//! microseconds and asks the server nothing: it listed once, and holds a watch open since. What client-go has of that is
//! here, on [kube](https://docs.rs/kube)'s client and [k8s-openapi](https://docs.rs/k8s-openapi)'s types: shared informers,
//! indexes, listers, handlers, resyncs, work queues.
//!
//! ```no_run
//! # async fn example() -> Result<(), kube_informer::Error> {
//! use kube_informer::prelude::*;
//! use std::time::Duration;
//!
//! let factory = SharedInformerFactory::new(default_client().await?);
//! let deployments = factory.apps().v1().deployments().informer();
//! deployments.add_handler(|event: Event<_>| println!("{}", event.key()))?;
//! factory.start();
//! factory.wait_for_sync(Duration::from_secs(30)).await?;
//! for deployment in deployments.lister().namespace("shop").list(&Selector::everything()) {
//!     println!("{} at {}", deployment.key(), deployment.version());
//! }
//! factory.shutdown().await;
//! # Ok(())
//! # }
//! ```
//!
//! `cargo run -p kube-informer --example first` runs a whole program on an API server of its own. [The book][book] tells
//! how it works and what to look out for, and has tables for those who come from [client-go][go] or [kube's runtime][rs].
//! client-go's names are found by the search of this documentation, too.
//!
//! # Where to look
//!
//! | for | see |
//! |---|---|
//! | informers of many kinds, started and stopped together | [`SharedInformerFactory`], [`FactoryBuilder`] |
//! | every built-in kind by name | [`groups`] |
//! | one informer, and what it promises | [`SharedInformer`], [`InformerBuilder`] |
//! | types that can be watched | [`Kind`]: any of kube's, or a small struct of your own |
//! | kinds that are known only at run time | [`SharedInformerFactory::dynamic`], [`Discovery`] |
//! | reading the cache | [`Lister`], [`Index`], [`Snapshot`], [`Selector`], [`snapshot_all`]; they give [`Object`] |
//! | hearing of changes | [`Event`], [`EventHandler`], [`callbacks`], [`filtered`], [`EventStream`]; [`Registration`] |
//! | working on what changed | [`enqueue_keys`], [`enqueue_owners`], [`enqueue_mapped`]; `WorkQueue` and `workers` in the [`prelude`] |
//! | reading your own writes | [`SharedInformer::wait_for_write`] |
//! | a cache that takes a tenth of the memory | [`CacheFormat`], [`FieldMask`] |
//! | state and health | [`Readiness`], [`Status`], [`SharedInformer::check_consistency`], `metrics` |
//! | all informers of a factory, whatever their kinds | [`SharedInformerFactory::informers`], [`erased`] |
//! | a web page that shows informers, caches and queues | [kube-informer-dashboard](https://docs.rs/kube-informer-dashboard) |
//! | what went wrong | [`Error`] |
//! | a client that suits many watches | [`default_client`], [`watching_client`] |
//! | objects from elsewhere than an API server | [`ListWatch`] |
//!
//! # The way of the data
//!
//! It takes one way, and the modules stand in its order:
//!
//! ```text
//! API server → wire → reflector → delta queue → controller → store → processor → handlers
//! ```
//!
//! - *wire*: bytes become objects, and only as much of them as is wanted;
//! - *reflector*: list, then watch, for ever, politely;
//! - *delta queue* and *controller*: changes in order, written to the store before anyone hears of them;
//! - *store*: objects, indexes and version as one immutable snapshot;
//! - *processor*: every handler gets its own bounded queue and its own task.
//!
//! # Features
//! None is on unless you say so.
//! - `metrics`: metrics of informers, work queues and workers, on a registry of yours: see `metrics`.
//!
//! Which Kubernetes the types are of is chosen by your program, with a feature of `k8s-openapi` such as `v1_36`.
//!
//! [book]: https://github.com/kube-informer/kube-informer/blob/main/docs/book/src/SUMMARY.md
//! [go]: https://github.com/kube-informer/kube-informer/blob/main/docs/book/src/from-client-go.md
//! [rs]: https://github.com/kube-informer/kube-informer/blob/main/docs/book/src/from-kube-rs.md

#![cfg_attr(docsrs, feature(doc_cfg))]

// What users see.
mod client;
mod discovery;
pub mod erased;
mod error;
mod factory;
mod handler;
mod informer;
mod lister;
#[cfg(feature = "metrics")]
pub mod metrics;
mod object;
mod status;

// How it works.
mod pipeline;
mod types;
mod util;

pub use client::{default_client, kubeconfig_error, watching_client};
pub use discovery::{DiscoveredResource, Discovery};
pub use error::{Error, Operation, StatusError};
pub use factory::{DynamicKind, FactoryBuilder, Readiness, SharedInformerFactory, groups};
pub use handler::enqueue::{Enqueue, enqueue_controllers, enqueue_keys, enqueue_mapped, enqueue_owners};
pub use handler::{
    Callbacks, DeletedObject, Event, EventHandler, FilteredHandler, HandlerOptions, Registration, callbacks,
    filtered,
};
pub use informer::{InformerBuilder, InformerState, Relists, SharedInformer, Status};
pub use kube_wire::selector::{ParseSelectorError, Selector};
pub use kube_wire::{FieldMask, ParsePathError};
pub use lister::{Cache, Lister, NamespaceLister, SnapshotAll, snapshot_all};
pub use object::format::CacheFormat;
pub use object::{Kind, Object, selector_of};
pub use pipeline::processor::EventStream;
pub use pipeline::reflector::Backoff;
pub use pipeline::store::{Index, IndexValue, Objects, Snapshot};
pub use pipeline::wire::{
    ApiListWatch, ExactListRequest, ListPart, ListRequest, ListStream, ListWatch, Parameters, RawObject,
    WatchEvent, WatchRequest, WatchStream, WireFormat,
};
pub use status::Durations;
pub use tokio_util::sync::CancellationToken;
pub use types::{ConsistencyReport, Difference, Key, ParseKeyError, ResourceVersion, WatchedResource};

/// What a first program needs, the work queue included: `use kube_informer::prelude::*;`
pub mod prelude {
    pub use crate::{
        CancellationToken, Enqueue, Event, EventHandler, HandlerOptions, Index, Key, Lister, Object,
        Registration, Selector, SharedInformer, SharedInformerFactory, Snapshot, callbacks, default_client,
        enqueue_controllers, enqueue_keys, enqueue_mapped, enqueue_owners, filtered, watching_client,
    };
    pub use kube_workqueue::{AddOptions, Outcome, Task, WorkQueue, workers};
}
