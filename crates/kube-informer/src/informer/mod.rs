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
use self::context::{Hooks, ReflectorContext};
use self::lifecycle::Lifecycle;
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
pub(crate) use self::checker::CheckSettings;
pub use self::lifecycle::InformerState;
pub use self::status::{Relists, Status};

/// Keeps a copy of one kind's objects in step with the cluster and tells handlers what changed.
///
/// It is shared: clones are one informer, with one watch and one cache, whoever asks. It stands for client-go's
/// `SharedIndexInformer`.
///
/// ```no_run
/// # async fn example(client: kube::Client) -> Result<(), kube_informer::Error> {
/// use k8s_openapi::api::core::v1::Pod;
/// use kube_informer::{Selector, SharedInformer, callbacks};
/// use std::time::Duration;
///
/// let pods = SharedInformer::<Pod>::builder(client).namespace("shop").build();
/// let by_node = pods.index("node", |pod: &Pod| pod.spec.as_ref().and_then(|spec| spec.node_name.clone()))?;
/// pods.add_handler(callbacks::<Pod>().on_add(|pod, _| println!("{} is there", pod.key())))?;
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
/// 2. *Forward only*: that version never decreases; if the server itself went back, the watch-error handler is told.
/// 3. *History*: of one object a handler sees `add (update)* delete`, repeated, and each update's old state is the new
///    one it saw before.
/// 4. *Store first*: when a handler runs, the cache holds that change already.
/// 5. *Nothing lost*: once faults end, the cache equals the server, and each handler's last word equals the cache.
/// 6. *Isolation*: a slow, stuck or panicking handler delays nobody, and its backlog is bounded by the number of objects.
/// 7. *Late join*: a handler may join at any time and misses nothing, and nobody waits for it.
/// 8. *Honest sync*: synced means that a full list is in the cache, or that a handler has handled it; waiting never polls.
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
    shared: Arc<Shared<K>>,
}

/// What all clones of an informer have in common.
pub(crate) struct Shared<K> {
    resource: WatchedResource,
    sources: Vec<Source<K>>,
    settings: Settings,
    checking: CheckSettings,
    limits: Limits,
    /// Held by the check that runs, of which there is one at a time.
    check: tokio::sync::Mutex<()>,
    store: Arc<Store<K>>,
    writer: Arc<Mutex<Writer<K>>>,
    processor: Arc<Processor<K>>,
    /// Set by the start.
    queue_depth: OnceLock<QueueDepth<K>>,
    context: Arc<ReflectorContext<K>>,
    lifecycle: Mutex<Lifecycle>,
    synced: CancellationToken,
    stop: CancellationToken,
    stopped: CancellationToken,
}

/// What one reflector looks after.
pub(crate) struct Source<K> {
    list_watch: Arc<dyn ListWatch<K>>,
    resource: WatchedResource,
    /// The namespace that is requested of an API server. A source of the user's own chooses its objects itself.
    namespace: Option<Arc<str>>,
    /// Tells the reflector that the cache is not what the server has.
    start_over: Arc<Notify>,
}

impl<K: Kind> SharedInformer<K> {
    /// The kind, and the namespace that is looked at.
    #[must_use]
    pub fn resource(&self) -> &WatchedResource {
        &self.shared.resource
    }

    /// Reads the cache.
    #[doc(alias("GetStore", "GetIndexer"))]
    #[must_use]
    pub fn lister(&self) -> Lister<K> {
        Lister::new(Arc::clone(&self.shared.store))
    }

    /// Everything as it is now.
    #[doc(alias = "GetStore")]
    #[must_use]
    pub fn snapshot(&self) -> Snapshot<K> {
        self.shared.store.snapshot()
    }

    /// The resource version that the cache is at, moved by events and bookmarks; none before the first list. It stands
    /// for client-go's `LastSyncResourceVersion` and `LastStoreSyncResourceVersion`, which are one here.
    #[doc(alias("LastSyncResourceVersion", "LastStoreSyncResourceVersion"))]
    #[must_use]
    pub fn resource_version(&self) -> Option<ResourceVersion> {
        self.shared.store.version()
    }

    /// Adds an index: objects by the values that a function gives for them. It can be added before and after the start,
    /// and is whole at once.
    ///
    /// A function that panics leaves the object in the cache and out of the index, and the watch-error handler is told. So
    /// does one whose values panic when they are hashed or compared.
    ///
    /// # Errors
    /// If there is an index of that name, or the informer has stopped, or an index function calls this.
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

    /// Adds an index whose function may fail; the object is then in the cache and not in the index, and the watch-error
    /// handler is told.
    ///
    /// # Errors
    /// If there is an index of that name, or the informer has stopped.
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
            return Err(self.error(Problem::IndexInIndex(name.to_owned())));
        }
        let name: Arc<str> = name.into();
        let function = Arc::new(move |object: &K| match values(object) {
            Ok(values) => Ok(values.into_iter().collect()),
            Err(error) => Err(error.to_string()),
        });
        let errors = {
            let mut writer = self.shared.writer.lock();
            // If it is refused, the function is dropped when the writer is free again.
            writer.add_index(Arc::clone(&name), Arc::clone(&function) as _)?;
            let errors = writer.publish();
            writer.free_retired();
            errors
        };
        for error in &errors {
            self.shared.context.report(error);
        }
        Ok(Index::new(Arc::clone(&self.shared.store), name))
    }

    /// An index that was added before, by its name and the type of its values.
    ///
    /// # Errors
    /// If there is no index of that name, or its values are of another type.
    pub fn find_index<V: IndexValue>(&self, name: &str) -> Result<Index<K, V>, Error> {
        let index = Index::new(Arc::clone(&self.shared.store), name.into());
        if index.exists() {
            Ok(index)
        } else {
            Err(self.error(Problem::UnknownIndex(name.to_owned())))
        }
    }

    /// Adds a handler, before or after the start. A late one sees every object once, then every change (contract 7).
    ///
    /// # Errors
    /// If the informer has stopped.
    #[doc(alias = "AddEventHandler")]
    pub fn add_handler(&self, handler: impl EventHandler<K>) -> Result<Registration, Error> {
        self.add_handler_with(handler, HandlerOptions::new())
    }

    /// Adds a handler with a name, a resync period, or another way to be served.
    ///
    /// # Errors
    /// If the informer has stopped.
    #[doc(alias("AddEventHandlerWithResyncPeriod", "AddEventHandlerWithOptions"))]
    pub fn add_handler_with(
        &self,
        handler: impl EventHandler<K>,
        options: HandlerOptions,
    ) -> Result<Registration, Error> {
        self.named(self.shared.processor.add(handler, options))
    }

    /// Adds a handler that works asynchronously. It gets the next event when it is done with one.
    ///
    /// # Errors
    /// If the informer has stopped.
    pub fn add_async_handler<F, A>(&self, handler: F) -> Result<Registration, Error>
    where
        F: FnMut(Event<K>) -> A + Send + 'static,
        A: Future<Output = ()> + Send + 'static,
    {
        self.add_async_handler_with(handler, HandlerOptions::new())
    }

    /// Adds a handler that works asynchronously, with a name, a resync period, or every single event.
    ///
    /// # Errors
    /// If the informer has stopped.
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

    /// The events as a stream. It misses nothing from now on, and begins with every object that is there.
    ///
    /// # Errors
    /// If the informer has stopped.
    #[doc(alias("subscribe", "applied_objects", "touched_objects"))]
    pub fn events(&self) -> Result<EventStream<K>, Error> {
        self.events_with(HandlerOptions::new())
    }

    /// The events as a stream, with a name, a resync period, or every single event.
    ///
    /// # Errors
    /// If the informer has stopped.
    pub fn events_with(&self, options: HandlerOptions) -> Result<EventStream<K>, Error> {
        self.named(self.shared.processor.stream(options))
    }

    /// All handlers and streams.
    #[must_use]
    pub fn registrations(&self) -> Vec<Registration> {
        self.shared.processor.registrations()
    }

    /// Sets who is told of errors in place of the log: of lists, watches, transforms and index functions. The last one
    /// set counts.
    ///
    /// # Errors
    /// If the informer has been started.
    #[doc(alias = "SetWatchErrorHandler")]
    pub fn set_watch_error_handler(
        &self,
        handler: impl Fn(&Error) + Send + Sync + 'static,
    ) -> Result<(), Error> {
        self.before_start(|hooks| hooks.error_handler.replace(Arc::new(handler)))
    }

    /// Sets a function that changes every object before it comes into the cache, once. The last one set counts.
    ///
    /// # Errors
    /// If the informer has been started.
    #[doc(alias = "SetTransform")]
    pub fn set_transform(&self, transform: impl Fn(&mut K) + Send + Sync + 'static) -> Result<(), Error> {
        self.set_try_transform(move |object| {
            transform(object);
            Ok::<_, std::convert::Infallible>(())
        })
    }

    /// Sets a transform that may fail. Then the list or watch fails, the watch-error handler is told, and it is tried
    /// again: nothing goes into the cache untransformed, and nothing is left out of it.
    ///
    /// # Errors
    /// If the informer has been started.
    pub fn set_try_transform<E: fmt::Display>(
        &self,
        transform: impl Fn(&mut K) -> Result<(), E> + Send + Sync + 'static,
    ) -> Result<(), Error> {
        self.before_start(|hooks| hooks.set_transform(transform))
    }

    /// Returns an address that all clones share, and no other informer at the same time.
    pub(crate) fn address(&self) -> usize {
        Arc::as_ptr(&self.shared).addr()
    }

    /// Sets something. What it takes the place of is dropped when no lock is held any more: it is the user's, and may ask
    /// this informer something then.
    fn before_start<Old>(&self, set: impl FnOnce(&mut Hooks<K>) -> Old) -> Result<(), Error> {
        let old = {
            let lifecycle = self.shared.lifecycle.lock();
            lifecycle.before_start().map_err(|problem| self.error(problem))?;
            set(&mut self.shared.context.hooks.lock())
        };
        drop(old);
        Ok(())
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

/// An informer that lives for as long as someone else wants it to.
#[cfg(feature = "metrics")]
pub(crate) struct WeakInformer<K>(std::sync::Weak<Shared<K>>);

#[cfg(feature = "metrics")]
impl<K> SharedInformer<K> {
    pub(crate) fn downgrade(&self) -> WeakInformer<K> {
        WeakInformer(Arc::downgrade(&self.shared))
    }
}

#[cfg(feature = "metrics")]
impl<K> WeakInformer<K> {
    pub(crate) fn upgrade(&self) -> Option<SharedInformer<K>> {
        let shared = self.0.upgrade()?;
        Some(SharedInformer { shared })
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
