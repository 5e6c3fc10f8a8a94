//! Kubernetes' informer machinery in Rust.
//!
//! An informer keeps a copy of a kind's objects in step with the cluster and tells handlers what changed. The data takes
//! one way, and the modules stand in its order:
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
//! Begin with [`SharedInformerFactory`], or with [`SharedInformer`] for a single kind:
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
//! # Ok(())
//! # }
//! ```
//!
//! # Features
//! - `metrics`: metrics of informers, work queues and workers, on a registry of yours: see `metrics`.

mod client;
mod controller;
mod delta_fifo;
mod enqueue;
mod error;
mod factory;
mod form;
mod informer;
mod key;
mod kind;
mod measure;
#[cfg(feature = "metrics")]
pub mod metrics;
mod object;
mod panics;
#[cfg(feature = "__planted")]
#[doc(hidden)]
pub mod planted;
#[cfg(not(feature = "__planted"))]
mod planted;
mod processor;
mod reflector;
mod selector;
mod store;
mod transform;
mod uid;
mod version;
mod wire;

pub use client::{default_client, watching_client};
pub use enqueue::{Enqueue, enqueue_controllers, enqueue_keys, enqueue_mapped, enqueue_owners};
pub use error::{Doing, Error, StatusError};
pub use factory::{
    DiscoveredResource, Discovery, DynamicKind, FactoryBuilder, Readiness, SharedInformerFactory, groups,
};
pub use form::Form;
pub use informer::{Consistency, Differing, InformerBuilder, Relists, SharedInformer, State, Status};
pub use key::Key;
pub use kind::{Kind, ResourceName};
pub use kube_wire::selector::{ParseSelectorError, Selector};
pub use kube_wire::{BadPath, Skip};
pub use measure::Durations;
pub use object::Object;
pub use processor::{
    Callbacks, Deleted, Event, EventHandler, Events, Filtered, HandlerOptions, Registration, callbacks,
    filtered,
};
pub use reflector::Backoff;
pub use selector::selector_of;
pub use store::{Index, IndexValue, Lister, NamespaceLister, Objects, Snapshot, Together, together};
pub use tokio_util::sync::CancellationToken;
pub use version::Version;
pub use wire::{
    ApiListWatch, ExactListRequest, Item, ListPart, ListRequest, ListWatch, Listing, WatchEvent,
    WatchRequest, Watching, WireFormat,
};

/// What a first program needs, the work queue included: `use kube_informer::prelude::*;`
pub mod prelude {
    pub use crate::{
        CancellationToken, Enqueue, Event, EventHandler, HandlerOptions, Index, Key, Lister, Object,
        Registration, Selector, SharedInformer, SharedInformerFactory, Snapshot, callbacks, default_client,
        enqueue_controllers, enqueue_keys, enqueue_mapped, enqueue_owners, filtered, watching_client,
    };
    pub use kube_workqueue::{AddOptions, Outcome, Task, WorkQueue, workers};
}
