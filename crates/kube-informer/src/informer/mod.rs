//! The shared informer: one kind, one cache, any number of handlers.

mod builder;
mod checker;
mod consistency;
mod context;
mod lifecycle;
mod status;
mod wait;

use std::fmt;
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

pub(crate) use self::context::ErrorHandler;
use self::context::ReflectorContext;
use crate::error::{Error, Operation, Problem};
use crate::handler::{Event, EventHandler, HandlerOptions, Registration};
use crate::lister::Lister;
use crate::object::{Kind, ResourceVersion, WatchedResource};
use crate::pipeline::processor::{EventStream, Processor};
use crate::pipeline::queue::QueueDepth;
use crate::pipeline::reflector::machine::Settings;
use crate::pipeline::store::{self, Index, IndexValue, Snapshot, Store, Writer};
use crate::pipeline::wire::{Limits, ListWatch};

pub use self::builder::InformerBuilder;
pub(crate) use self::builder::Options;
pub(crate) use self::checker::CheckSettings;
pub use self::lifecycle::InformerState;
pub use self::status::{Relists, Status};

/// Caches the objects of one kind, keeps the cache up to date, and notifies handlers of changes.
///
/// Clones refer to the same informer, with one watch and one cache. client-go: `SharedIndexInformer`.
///
/// ```no_run
/// # async fn example(client: kube::Client) -> Result<(), kube_informer::Error> {
/// use k8s_openapi::api::core::v1::Pod;
/// use kube_informer::{Selector, SharedInformer, callbacks};
/// use std::time::Duration;
///
/// let pods = SharedInformer::<Pod>::builder(client).namespace("shop").build();
/// let by_node = pods.index("node", |pod: &Pod| pod.spec.as_ref().and_then(|spec| spec.node_name.clone()))?;
/// pods.add_handler(callbacks::<Pod>().on_add(|pod, _| println!("added {}", pod.key())))?;
///
/// pods.start()?;
/// pods.wait_for_sync(Duration::from_secs(30)).await?;
/// for pod in pods.lister().list(&Selector::everything()) {
///     println!("{:?}", pod.metadata.name);
/// }
/// println!("{} on node-1", by_node.get("node-1").len());
/// pods.shutdown().await;
/// # Ok(())
/// # }
/// ```
///
/// # The contract
///
/// 1. *Prefix*: the cache equals the server's collection at one version, never a mix.
/// 2. *Forward only*: that version never decreases; if the server itself went back, the watch-error handler is
///    notified.
/// 3. *History*: of one object a handler sees `add (update)* delete`, repeated, and each update's old state is the new
///    one it saw before.
/// 4. *Store first*: handlers run only after the cache contains the change.
/// 5. *Nothing lost*: once faults end, the cache equals the server, and the last event of each handler equals the
///    cache.
/// 6. *Isolation*: a slow, stuck or panicking handler delays no other, and its backlog is bounded by the number of
///    objects.
/// 7. *Late join*: a handler may join at any time, misses nothing, and delays no other.
/// 8. *Honest sync*: synced means that a full list is in the cache, or that a handler has handled it; waiting never
///    polls.
/// 9. *Polite*: nothing makes an informer send requests in a tight loop.
/// 10. *Small*: one copy of the objects, and of a relist only what changed.
/// 11. *Clean stop*: after `shutdown` nothing runs.
/// 12. *No unsafe, no panics*.
#[doc(alias(
    "SharedIndexInformer",
    "NewSharedIndexInformer",
    "NewSharedInformer",
    "TypedSharedIndexInformer",
    "Reflector",
    "DeltaFIFO",
    "RealFIFO",
    "Controller",
    "sharedProcessor",
    "processorListener",
    "watcher",
    "reflector",
))]
pub struct SharedInformer<K> {
    shared: Arc<InformerShared<K>>,
}

/// State that all clones of an informer share.
pub(crate) struct InformerShared<K> {
    resource: WatchedResource,
    sources: Vec<Source<K>>,
    settings: Settings,
    checking: CheckSettings,
    limits: Limits,
    /// Locked by the consistency check in progress.
    check: tokio::sync::Mutex<()>,
    store: Arc<Store<K>>,
    writer: Arc<Mutex<Writer<K>>>,
    processor: Arc<Processor<K>>,
    /// Set when the informer starts.
    queue_depth: OnceLock<QueueDepth<K>>,
    context: Arc<ReflectorContext<K>>,
    state: Mutex<InformerState>,
    synced: CancellationToken,
    stop: CancellationToken,
    stopped: CancellationToken,
}

/// The list and watch of one reflector.
pub(crate) struct Source<K> {
    list_watch: Arc<dyn ListWatch<K>>,
    resource: WatchedResource,
    /// The namespace that is requested from an API server. `None` for a custom source, which selects its objects
    /// itself.
    namespace: Option<Arc<str>>,
    /// Makes the reflector relist, because the cache differs from the server.
    start_over: Arc<Notify>,
}

impl<K: Kind> SharedInformer<K> {
    /// Returns the kind and the watched namespaces.
    #[must_use]
    pub fn resource(&self) -> &WatchedResource {
        &self.shared.resource
    }

    /// Returns a lister, which reads the cache.
    #[doc(alias("GetStore", "GetIndexer"))]
    #[must_use]
    pub fn lister(&self) -> Lister<K> {
        Lister::new(Arc::clone(&self.shared.store))
    }

    /// Returns a snapshot of the cache.
    #[doc(alias = "GetStore")]
    #[must_use]
    pub fn snapshot(&self) -> Snapshot<K> {
        self.shared.store.snapshot()
    }

    /// Returns the resource version of the cache, which events and bookmarks advance. `None` before the first list.
    ///
    /// client-go: `LastSyncResourceVersion` and `LastStoreSyncResourceVersion`, which are equal here.
    #[doc(alias("LastSyncResourceVersion", "LastStoreSyncResourceVersion"))]
    #[must_use]
    pub fn resource_version(&self) -> Option<ResourceVersion> {
        self.shared.store.version()
    }

    /// Adds an index, which finds objects by the values that a function returns for them. Indexes can be added before
    /// and after the start, and are complete immediately.
    ///
    /// If the function panics for an object, or its values panic when they are hashed or compared, the object is in the
    /// cache but not in the index, and the watch-error handler is notified.
    ///
    /// # Errors
    /// Returns an error if an index of that name exists, if the informer has stopped, or if an index function calls
    /// this.
    #[doc(alias("AddIndexers", "Indexers"))]
    pub fn index<V, I>(
        &self,
        name: &str,
        values: impl Fn(&K) -> I + Send + Sync + 'static,
    ) -> Result<Index<K, V>, Error>
    where
        V: IndexValue,
        I: IntoIterator<Item = V>,
    {
        self.try_index(name, move |object| {
            Ok::<_, std::convert::Infallible>(values(object))
        })
    }

    /// Adds an index whose function may fail. The object is then in the cache but not in the index, and the watch-error
    /// handler is notified.
    ///
    /// # Errors
    /// As [`SharedInformer::index`].
    pub fn try_index<V, I, E>(
        &self,
        name: &str,
        values: impl Fn(&K) -> Result<I, E> + Send + Sync + 'static,
    ) -> Result<Index<K, V>, Error>
    where
        V: IndexValue,
        I: IntoIterator<Item = V>,
        E: fmt::Display,
    {
        self.not_stopped()?;
        if store::is_in_index_function() {
            return Err(self.error(Problem::NestedIndex(name.to_owned())));
        }
        let name: Arc<str> = name.into();
        let function = Arc::new(move |object: &K| match values(object) {
            Ok(values) => Ok(values.into_iter().collect()),
            Err(error) => Err(error.to_string()),
        });
        let (errors, _retired) = {
            let mut writer = self.shared.writer.lock();
            // If this fails, the function is dropped after the writer is unlocked.
            writer.add_index(Arc::clone(&name), Arc::clone(&function) as _)?;
            (writer.publish(), writer.take_retired())
        };
        for error in &errors {
            self.shared.context.report(error);
        }
        Ok(Index::new(Arc::clone(&self.shared.store), name))
    }

    /// Returns an index by its name and the type of its values.
    ///
    /// # Errors
    /// Returns an error if no index has that name, or if its values have another type.
    pub fn find_index<V: IndexValue>(&self, name: &str) -> Result<Index<K, V>, Error> {
        let index = Index::new(Arc::clone(&self.shared.store), name.into());
        if index.exists() {
            Ok(index)
        } else {
            Err(self.error(Problem::UnknownIndex(name.to_owned())))
        }
    }

    /// Adds a handler, before or after the start. A handler that is added later receives every object once, then every
    /// change (contract 7).
    ///
    /// # Errors
    /// Returns an error if the informer has stopped.
    #[doc(alias = "AddEventHandler")]
    pub fn add_handler(&self, handler: impl EventHandler<K>) -> Result<Registration, Error> {
        self.add_handler_with(handler, HandlerOptions::new())
    }

    /// Adds a handler with options, for example a name or a resync period.
    ///
    /// # Errors
    /// Returns an error if the informer has stopped.
    #[doc(alias("AddEventHandlerWithResyncPeriod", "AddEventHandlerWithOptions"))]
    pub fn add_handler_with(
        &self,
        handler: impl EventHandler<K>,
        options: HandlerOptions,
    ) -> Result<Registration, Error> {
        self.named(self.shared.processor.add(handler, options))
    }

    /// Adds an asynchronous handler. It receives the next event after it has finished the previous one.
    ///
    /// # Errors
    /// Returns an error if the informer has stopped.
    pub fn add_async_handler<F, A>(&self, handler: F) -> Result<Registration, Error>
    where
        F: FnMut(Event<K>) -> A + Send + 'static,
        A: Future<Output = ()> + Send + 'static,
    {
        self.add_async_handler_with(handler, HandlerOptions::new())
    }

    /// Adds an asynchronous handler with options, for example a name or a resync period.
    ///
    /// # Errors
    /// Returns an error if the informer has stopped.
    pub fn add_async_handler_with<F, A>(
        &self,
        handler: F,
        options: HandlerOptions,
    ) -> Result<Registration, Error>
    where
        F: FnMut(Event<K>) -> A + Send + 'static,
        A: Future<Output = ()> + Send + 'static,
    {
        self.named(self.shared.processor.add_async(handler, options))
    }

    /// Returns the events as a stream, which begins with all objects in the cache.
    ///
    /// # Errors
    /// Returns an error if the informer has stopped.
    #[doc(alias("subscribe", "applied_objects", "touched_objects"))]
    pub fn events(&self) -> Result<EventStream<K>, Error> {
        self.events_with(HandlerOptions::new())
    }

    /// Returns the events as a stream with options, for example a name or a resync period.
    ///
    /// # Errors
    /// Returns an error if the informer has stopped.
    pub fn events_with(&self, options: HandlerOptions) -> Result<EventStream<K>, Error> {
        self.named(self.shared.processor.stream(options))
    }

    /// Returns the registrations of all handlers and streams.
    #[must_use]
    pub fn registrations(&self) -> Vec<Registration> {
        self.shared.processor.registrations()
    }

    /// Returns an address that all clones share. No other informer has it at the same time.
    pub(crate) fn address(&self) -> usize {
        Arc::as_ptr(&self.shared).addr()
    }

    fn not_stopped(&self) -> Result<(), Error> {
        match self.state() {
            InformerState::Stopped => Err(self.error(Problem::Stopped)),
            InformerState::New | InformerState::Running => Ok(()),
        }
    }

    fn named<T>(&self, result: Result<T, Error>) -> Result<T, Error> {
        result.map_err(|error| error.with_context(Operation::Cache, &self.shared.resource))
    }

    fn error(&self, problem: Problem) -> Error {
        Error::new(problem).with_context(Operation::Cache, &self.shared.resource)
    }
}

impl<K> Clone for SharedInformer<K> {
    fn clone(&self) -> Self {
        SharedInformer {
            shared: Arc::clone(&self.shared),
        }
    }
}

impl<K: Kind> fmt::Debug for SharedInformer<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedInformer")
            .field("resource", &self.shared.resource)
            .field("state", &self.state())
            .field("version", &self.resource_version())
            .finish_non_exhaustive()
    }
}
