//! Kubernetes informers for Rust: shared informers, indexes, listers, event handlers and work queues.
//!
//! An informer keeps a local copy of the objects of one kind in step with the cluster and reports changes to handlers. Reading the
//! copy takes microseconds and sends no request: the informer listed once and holds a watch open. The design is that of client-go;
//! the client and the types are those of [kube](https://docs.rs/kube) and [k8s-openapi](https://docs.rs/k8s-openapi). client-go's names
//! are found by the search of this documentation.
//!
//! # Installation
//!
//! ```toml
//! [dependencies]
//! kube-informer = "0.1"
//! k8s-openapi = { version = "0.29", features = ["v1_36"] } # the Kubernetes version is your choice
//! tokio = { version = "1", features = ["macros", "rt-multi-thread", "signal", "time"] }
//! tracing-subscriber = "0.3" # errors of informers and workers are logged through `tracing`
//! # Add kube only to write objects or to define custom resources. kube-informer 0.1 needs kube 5.
//! kube = { version = "5", default-features = false, features = ["client", "derive", "rustls-tls"] }
//! ```
//!
//! # An informer with an index
//!
//! ```no_run
//! use k8s_openapi::api::core::v1::Pod;
//! use kube_informer::prelude::*;
//! use std::time::Duration;
//!
//! async fn print_pods() -> Result<(), kube_informer::Error> {
//!     // All namespaces. `SharedInformerFactory::builder(client).namespace("shop").build()` selects one.
//!     let factory = SharedInformerFactory::new(default_client().await?);
//!     let pods: SharedInformer<Pod> = factory.informer(); // or factory.core().v1().pods().informer(): the same informer
//!     // The function returns any number of values for each object: an `Option`, a `Vec` or any other iterator.
//!     let by_node: Index<Pod> = pods.index("node", |pod: &Pod| pod.spec.as_ref().and_then(|spec| spec.node_name.clone()))?;
//!
//!     factory.start();
//!     // The error names the kinds that are not synced, and why.
//!     factory.wait_for_sync(Duration::from_secs(30)).await?;
//!
//!     let on_node: Vec<Object<Pod>> = by_node.get("node-1");
//!     for pod in &on_node {
//!         let (key, version): (&Key, &ResourceVersion) = (pod.key(), pod.version());
//!         println!("{key} at version {version}"); // shop/web-1 at version 4711
//!     }
//!     let lister: Lister<Pod> = pods.lister();
//!     let web: Selector = "app in (web, cart), !legacy".parse().expect("a valid selector"); // kubectl's syntax
//!     println!("{} pods", lister.namespace("shop").list(&web).len());
//!     println!("{} pods in all namespaces", lister.list(&Selector::everything()).len());
//!     match lister.namespace("shop").get("web-1") {
//!         Ok(pod) => println!("phase: {:?}", pod.status.as_ref().and_then(|status| status.phase.as_deref())),
//!         Err(error) => println!("{error}"), // pods "shop/web-1" not found in the cache
//!     }
//!     factory.shutdown().await; // informers run until this is called, or the runtime ends
//!     Ok(())
//! }
//! ```
//!
//! The function of an index is a closure or an `fn`, which tests can share. Its values are of type `String` unless it returns others,
//! as in `Index<Pod, u16>` with `by_port.get(&443)` or `Index<Pod, Key>`; any type that can be hashed, compared and printed will do.
//! An object is in a result once, even if the function returned the value twice. Results are in no particular order.
//!
//! [`Object<K>`](Object) dereferences to `K`, which cannot be changed: the cache and all readers share it. `(**pod).clone()` copies the
//! pod to change and write it. Clones of an `Object`, [`Lister`], [`Index`] or [`SharedInformer`] are cheap and share one state. A
//! [`Key`] has `namespace() -> Option<&str>` and `name() -> &str`, and can be compared, sorted, hashed and printed. For a
//! cluster-scoped kind, `nodes.lister().get("node-1")` and `Key::cluster("node-1")` need no namespace, and the namespace of a factory
//! has no effect. Two reads may see different states; [`SharedInformer::snapshot`] returns one state of objects and indexes.
//!
//! # A handler of changes
//!
//! ```no_run
//! use k8s_openapi::api::core::v1::Pod;
//! use kube_informer::prelude::*;
//!
//! fn print_changes(pods: &SharedInformer<Pod>) -> Result<Registration, kube_informer::Error> {
//!     pods.add_handler(
//!         callbacks::<Pod>()
//!             .on_add(|pod, is_in_initial_list| println!("+ {} {is_in_initial_list}", pod.key()))
//!             .on_update(|old, new| println!("~ {} from {} to {}", new.key(), old.version(), new.version()))
//!             // The last known state. `is_final_state_unknown` tells whether the deletion itself was missed.
//!             .on_delete(|pod| println!("- {} {:?}", pod.key(), pod.metadata.labels)),
//!     )
//! }
//! ```
//!
//! Closures are called one at a time and may block: only this handler waits, and its pending changes of one object are merged. A
//! closure `|event: Event<Pod>| …` is a handler, too, and so is any [`EventHandler`];
//! [`SharedInformer::add_async_handler`] and [`SharedInformer::events`] are for async code. Handlers and indexes can be added
//! before and after the start: a new handler receives every object once, as an initial add, then every change. Call
//! [`SharedInformerFactory::start`] again for informers that were requested after it. Dropping the [`Registration`] does not remove
//! the handler; [`Registration::remove`] does. Handlers are not called again without a change, unless they ask for it with
//! [`HandlerOptions::resync`].
//!
//! # A handler with a work queue
//!
//! A handler only puts keys into a queue. Workers take them out and call a reconcile function, which reads the cache; a key that
//! fails is retried with backoff, and no key is in two workers at the same time.
//!
//! ```no_run
//! use k8s_openapi::api::apps::v1::{Deployment, ReplicaSet};
//! use k8s_openapi::api::core::v1::ConfigMap;
//! use kube_informer::prelude::*;
//! use std::time::Duration;
//!
//! async fn reconcile(key: Key, deployments: Lister<Deployment>) -> Result<Outcome, kube_informer::Error> {
//!     let deployment = match deployments.get_key(&key) {
//!         Ok(deployment) => deployment,
//!         Err(error) if error.is_not_found() => {
//!             println!("{key} was deleted");
//!             return Ok(Outcome::Done);
//!         }
//!         Err(error) => return Err(error), // retried with backoff
//!     };
//!     match deployment.status.as_ref().and_then(|status| status.ready_replicas) {
//!         Some(ready) => println!("{ready} replicas of {} are ready", key.name()),
//!         None => return Ok(Outcome::RequeueAfter(Duration::from_secs(30))),
//!     }
//!     Ok(Outcome::Done)
//! }
//!
//! async fn run(factory: SharedInformerFactory) -> Result<(), kube_informer::Error> {
//!     let stop = CancellationToken::new();
//!     let on_signal = stop.clone();
//!     tokio::spawn(async move {
//!         let _ = tokio::signal::ctrl_c().await;
//!         on_signal.cancel();
//!     });
//!
//!     let deployments = factory.apps().v1().deployments().informer();
//!     let queue = WorkQueue::new("deployments");
//!     let registration = deployments.add_handler(enqueue_keys(&queue))?;
//!     // A change of a replica set adds the key of the deployment that controls it.
//!     factory.informer::<ReplicaSet>().add_handler(enqueue_controllers::<Deployment, ReplicaSet>(&queue))?;
//!     // A change of a config map adds every deployment of its namespace. The function returns any number of keys: an
//!     // `Option`, a `Vec` or any other iterator. It is called for the old and the new state of an update.
//!     // The lister may still be empty at first, because `enqueue_keys` adds every deployment anyway.
//!     let lister: Lister<Deployment> = deployments.lister();
//!     factory.informer::<ConfigMap>().add_handler(enqueue_mapped(&queue, move |map: &Object<ConfigMap>| {
//!         let neighbours = lister.namespace(map.key().namespace().unwrap_or_default()).list(&Selector::everything());
//!         neighbours.iter().map(|deployment| deployment.key().clone()).collect::<Vec<Key>>()
//!     }))?;
//!     factory.start();
//!     let synced = stop.run_until_cancelled(async {
//!         // The caches that `reconcile` reads are filled.
//!         factory.wait_for_sync(Duration::from_secs(30)).await?;
//!         // The queue contains the key of every deployment. Only needed if the first run must know all of them.
//!         registration.wait_for_sync(Duration::from_secs(30)).await
//!     });
//!     if let Some(synced) = synced.await {
//!         synced?; // names the kinds that did not sync, and why, for example a missing permission to list them
//!         let lister = deployments.lister();
//!         workers(queue, 4, move |task: Task<Key>| reconcile(task.into_item(), lister.clone())).run(stop).await;
//!     }
//!     factory.shutdown().await;
//!     Ok(())
//! }
//! ```
//!
//! After cancellation, the workers process the queued and running keys, for 30 s at most (`Workers::grace`). Keys that wait for a
//! retry are returned and not processed.
//!
//! The error type is any that converts into `Box<dyn std::error::Error + Send + Sync>`, or this box: then `Err("no spec".into())`
//! works. Failures and panics are logged, and retried after 5 ms, doubling up to 1000 s. `Done` and `RequeueAfter` forget earlier
//! failures, `Requeue` retries with backoff as after an error, and `GiveUp(reason)` logs the reason and does not retry. The queue and
//! the workers are those of the crate [`kube-workqueue`](kube_workqueue). The [`prelude`] contains everything that these programs use
//! of both crates, tokio-util's `CancellationToken` included.
//!
//! # A unit test of a reconcile function
//!
//! A [`Cache`] is filled by hand. It needs no server and no async runtime, and returns the same listers and indexes as an informer.
//!
//! ```
//! use k8s_openapi::api::core::v1::ConfigMap;
//! use kube_informer::prelude::*;
//! use std::time::Duration;
//!
//! const MINUTE: Duration = Duration::from_secs(60);
//!
//! fn reconcile(key: &Key, settings: &Lister<ConfigMap>) -> Result<Outcome, kube_informer::Error> {
//!     let setting = match settings.get_key(key) {
//!         Ok(setting) => setting,
//!         Err(error) if error.is_not_found() => return Ok(Outcome::Done),
//!         Err(error) => return Err(error),
//!     };
//!     Ok(match setting.data.as_ref().and_then(|data| data.get("replicas")) {
//!         Some(_replicas) => Outcome::RequeueAfter(MINUTE), // write the deployment here, and check it again later
//!         None => Outcome::GiveUp("no replicas".to_owned()),
//!     })
//! }
//!
//! fn setting(name: &str, replicas: &str) -> ConfigMap {
//!     let mut object = ConfigMap::default();
//!     object.metadata.namespace = Some("shop".to_owned());
//!     object.metadata.name = Some(name.to_owned());
//!     object.data = Some([("replicas".to_owned(), replicas.to_owned())].into());
//!     object
//! }
//!
//! let cache = Cache::from_objects([setting("web", "3")])?; // fails if an object has no name
//! let by_replicas: Index<ConfigMap> = cache.index("replicas", |map: &ConfigMap| map.data.as_ref()?.get("replicas").cloned())?;
//! let settings: Lister<ConfigMap> = cache.lister();
//! assert_eq!(reconcile(&Key::namespaced("shop", "web"), &settings)?, Outcome::RequeueAfter(MINUTE));
//! assert_eq!(reconcile(&Key::namespaced("shop", "cart"), &settings)?, Outcome::Done);
//!
//! // Listers and indexes of the cache see every later change.
//! cache.insert(setting("cart", "2"))?; // adds the object, or replaces the one with the same key whatever its version
//! cache.remove(&Key::namespaced("shop", "web"));
//! assert_eq!(reconcile(&Key::namespaced("shop", "cart"), &settings)?, Outcome::RequeueAfter(MINUTE));
//! assert_eq!(by_replicas.get("3").len(), 0);
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
//! | adding keys to a work queue | [`enqueue_keys`], [`enqueue_controllers`] (the owner with `controller: true`), [`enqueue_owners`] (every owner), [`enqueue_mapped`] (a function) |
//! | processing keys | [`WorkQueue`](prelude::WorkQueue), [`workers`](prelude::workers()), [`Task`](prelude::Task), [`Outcome`](prelude::Outcome) |
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
//! - `zstd`: compression of packed caches, to about a third. Needs a C compiler.
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

// How it works: the pipeline, then what its stages share.
mod pipeline;

mod measures;
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
        Cache, CancellationToken, Event, EventHandler, HandlerOptions, Index, Key, Lister, Object,
        Registration, ResourceVersion, Selector, SharedInformer, SharedInformerFactory, Snapshot, callbacks,
        enqueue_controllers, enqueue_keys, enqueue_mapped, enqueue_owners, filtered,
    };
    pub use kube_workqueue::{AddOptions, Outcome, Task, WorkQueue, workers};
}
