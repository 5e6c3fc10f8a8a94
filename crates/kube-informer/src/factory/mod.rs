//! The factory: informers of many kinds with one client.

mod builder;
mod dynamic;
pub mod groups;
mod readiness;
mod registry;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures::future::join_all;
use kube::Client;
use kube::core::PartialObjectMeta;
use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;

pub use self::builder::FactoryBuilder;
use self::builder::FactoryOptions;
pub use self::readiness::Readiness;
use self::registry::{KindId, Registry};
use crate::discovery::Discovery;
use crate::erased::AnyInformer;
use crate::error::{Error, Operation, Problem};
use crate::informer::{InformerState, SharedInformer, Status};
use crate::object::Kind;
use crate::pipeline::wire::ListWatch;

/// Creates informers of any number of kinds with one client and one set of options, and one informer for each kind.
///
/// A kind's typed objects, its dynamic objects and its metadata are three kinds in this sense. Cloning a factory
/// increments a counter.
///
/// client-go: `SharedInformerFactory`, `DynamicSharedInformerFactory` and the factory of `metadatainformer`.
///
/// ```no_run
/// # async fn example(client: kube::Client) -> Result<(), kube_informer::Error> {
/// use k8s_openapi::api::apps::v1::Deployment;
/// use kube_informer::{Selector, SharedInformerFactory};
/// use std::time::Duration;
///
/// let factory = SharedInformerFactory::builder(client).namespace("shop").build();
/// let deployments = factory.informer::<Deployment>();
/// let pods = factory.core().v1().pods().lister();
///
/// factory.start();
/// factory.wait_for_sync(Duration::from_secs(30)).await?;
/// println!("{} deployments", deployments.lister().len());
/// println!("{} pods", pods.list(&Selector::everything()).len());
/// factory.shutdown().await;
/// # Ok(())
/// # }
/// ```
#[doc(alias(
    "NewSharedInformerFactory",
    "NewSharedInformerFactoryWithOptions",
    "NewFilteredSharedInformerFactory",
    "DynamicSharedInformerFactory",
    "dynamicinformer",
    "metadatainformer",
))]
#[derive(Clone)]
pub struct SharedInformerFactory {
    shared: Arc<FactoryShared>,
}

struct FactoryShared {
    client: Client,
    options: FactoryOptions,
    registry: Mutex<Registry>,
    /// The last discovery.
    discovery: tokio::sync::Mutex<Option<Arc<Discovery>>>,
}

impl SharedInformerFactory {
    /// Creates a factory for all namespaces, with default options.
    #[doc(alias = "NewSharedInformerFactory")]
    #[must_use]
    pub fn new(client: Client) -> SharedInformerFactory {
        SharedInformerFactory::builder(client).build()
    }

    /// Returns a builder for a factory.
    #[doc(alias = "NewSharedInformerFactoryWithOptions")]
    pub fn builder(client: Client) -> FactoryBuilder {
        FactoryBuilder::new(client)
    }

    fn with_options(client: Client, options: FactoryOptions) -> SharedInformerFactory {
        SharedInformerFactory {
            shared: Arc::new(FactoryShared {
                client,
                options,
                registry: Mutex::default(),
                discovery: tokio::sync::Mutex::default(),
            }),
        }
    }

    /// Returns the name of the factory; empty if it has none.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.shared.options.name
    }

    /// Returns the client of the informers.
    #[must_use]
    pub fn client(&self) -> &Client {
        &self.shared.client
    }

    /// Returns the informer of a typed kind. The first call creates it, and later calls return the same one.
    ///
    /// It does nothing before [`SharedInformerFactory::start`], even if other informers of the factory are running.
    #[doc(alias = "InformerFor")]
    #[must_use]
    pub fn informer<K: Kind>(&self) -> SharedInformer<K>
    where
        K::DynamicType: Default,
    {
        self.informer_with(K::DynamicType::default())
    }

    /// Returns the informer of a kind that is known only at run time.
    #[must_use]
    pub fn informer_with<K: Kind>(&self, kind: K::DynamicType) -> SharedInformer<K> {
        self.informer_in::<K>(kind, false)
    }

    /// Returns the informer of a kind's metadata. Nothing else is requested from the server or kept in the cache.
    #[doc(alias("metadatainformer", "NewMetadataInformer"))]
    #[must_use]
    pub fn metadata<K: Kind>(&self) -> SharedInformer<PartialObjectMeta<K>>
    where
        K::DynamicType: Default,
    {
        self.informer()
    }

    /// Creates the informer of a kind with a custom source instead of the API server.
    ///
    /// It has the options of the factory, and [`SharedInformerFactory::informer`] returns this informer from now on.
    ///
    /// ```no_run
    /// # use k8s_openapi::api::core::v1::Pod;
    /// # async fn example(factory: kube_informer::SharedInformerFactory) -> Result<(), kube_informer::Error> {
    /// use kube_informer::source::ApiListWatch;
    ///
    /// let source = ApiListWatch::<Pod>::new(factory.client().clone(), &(), Some("shop"));
    /// let pods = factory.informer_from(source, ())?;
    /// factory.start();
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// Returns an error if the factory already has an informer of this kind.
    #[doc(alias = "InformerFor")]
    pub fn informer_from<K: Kind>(
        &self,
        source: impl ListWatch<K>,
        kind: K::DynamicType,
    ) -> Result<SharedInformer<K>, Error> {
        let id = KindId::of::<K>(&kind);
        let builder = SharedInformer::builder_from(source, kind);
        // The options are code of the user, which is called without the lock.
        let made = self.shared.options.apply(&id, builder).build();
        let is_new = self.shared.registry.lock().insert(id, &made);
        if is_new {
            Ok(made)
        } else {
            let error = Error::new(Problem::InformerConflict);
            Err(error.with_context(Operation::Cache, made.resource()))
        }
    }

    fn informer_in<K: Kind>(&self, kind: K::DynamicType, cluster_scoped: bool) -> SharedInformer<K> {
        let id = KindId::of::<K>(&kind);
        if let Some(known) = self.shared.registry.lock().get(&id) {
            return known;
        }
        // Without the lock, because the options are code of the user.
        let mut builder = SharedInformer::builder_with(self.shared.client.clone(), kind);
        if cluster_scoped {
            builder = builder.cluster_scoped();
        }
        let made = self.shared.options.apply(&id, builder).build();
        let (kept, is_second) = {
            let mut registry = self.shared.registry.lock();
            let is_second = registry.has_other_type_of(&id);
            (registry.get_or_insert(id, &made), is_second)
        };
        if is_second {
            tracing::info!(
                resource = %kept.resource(),
                objects = std::any::type_name::<K>(),
                "another informer of the factory watches this resource with another object type: opening a second watch"
            );
        }
        // If another thread was faster, this informer is dropped. It contains options of the user, so it is dropped
        // without the lock.
        drop(made);
        kept
    }

    /// Starts every informer that has been requested and is not running yet.
    ///
    /// Call it again after requesting more informers. It does nothing after [`SharedInformerFactory::shutdown`].
    ///
    /// # Panics
    /// Panics outside of a tokio runtime.
    #[doc(alias = "StartWithContext")]
    pub fn start(&self) {
        let members: Vec<_> = self.shared.registry.lock().open_members().cloned().collect();
        for member in members {
            if member.state() == InformerState::New {
                // An error means that another thread has started it at the same time.
                let _already = member.start();
            }
        }
    }

    /// Runs the requested informers until the token is cancelled, then stops them.
    ///
    /// # Cancel safety
    /// Dropping the future stops the informers without waiting for them. [`SharedInformerFactory::shutdown`] waits.
    pub async fn run(&self, stop: CancellationToken) {
        self.start();
        let _stop_on_drop = StopOnDrop(self);
        stop.cancelled().await;
        self.shutdown().await;
    }

    /// Stops every informer and waits until all have stopped. A second call has no effect.
    ///
    /// This waits for a handler that never returns; add a timeout if necessary. If a handler calls this, informers that
    /// cannot stop before the handler returns are stopped but not waited for.
    ///
    /// # Cancel safety
    /// The informers stop even if the future is dropped.
    pub async fn shutdown(&self) {
        let members = self.shared.registry.lock().close();
        join_all(members.iter().map(AnyInformer::shutdown)).await;
    }

    /// Waits until every started informer has a full list in its cache, without polling.
    ///
    /// # Errors
    /// Returns an error if it takes longer than `timeout`, or if an informer stops first. The error contains each kind
    /// that has not synced, with its last error. Returns an error immediately if no informer was started.
    ///
    /// # Cancel safety
    /// The future can be dropped without side effects.
    #[doc(alias("WaitForCacheSync", "WaitForNamedCacheSync"))]
    pub async fn wait_for_sync(&self, timeout: Duration) -> Result<(), Error> {
        let members = self.started()?;
        join_waits(
            members.iter().map(|member| member.wait_for_sync(timeout)),
            members.len(),
        )
        .await
    }

    /// Waits until every started informer has a full list in its cache, without a timeout.
    ///
    /// # Errors
    /// Returns an error if an informer stops first, or if no informer was started.
    ///
    /// # Cancel safety
    /// The future can be dropped without side effects.
    pub async fn synced(&self) -> Result<(), Error> {
        let members = self.started()?;
        join_waits(members.iter().map(AnyInformer::synced), members.len()).await
    }

    /// Returns whether every requested informer has a full list in its cache.
    #[must_use]
    pub fn has_synced(&self) -> bool {
        self.shared.registry.lock().members().all(AnyInformer::has_synced)
    }

    /// Returns the readiness of the caches, for probes.
    #[must_use]
    pub fn readiness(&self) -> Readiness {
        Readiness::new(self.clone())
    }

    /// Returns the status of each informer, in the order in which the informers were requested.
    #[must_use]
    pub fn statuses(&self) -> Vec<Status> {
        let members: Vec<_> = self.shared.registry.lock().members().cloned().collect();
        members.iter().map(AnyInformer::status).collect()
    }

    /// Returns a function that returns the status of each informer, or `None` after the factory was dropped.
    #[cfg(feature = "metrics")]
    pub(crate) fn weak_statuses(&self) -> impl Fn() -> Option<Vec<Status>> + Send + Sync + 'static {
        let shared = Arc::downgrade(&self.shared);
        move || {
            let shared = shared.upgrade()?;
            Some(SharedInformerFactory { shared }.statuses())
        }
    }

    /// Returns all informers without the types of their objects, in the order in which they were requested.
    #[must_use]
    pub fn informers(&self) -> Vec<AnyInformer> {
        let registry = self.shared.registry.lock();
        registry.members().cloned().collect()
    }

    fn started(&self) -> Result<Vec<AnyInformer>, Error> {
        let registry = self.shared.registry.lock();
        let started: Vec<_> = registry
            .members()
            .filter(|member| member.state() != InformerState::New)
            .cloned()
            .collect();
        if started.is_empty() && registry.members().next().is_some() {
            return Err(Error::new(Problem::NothingStarted));
        }
        Ok(started)
    }
}

/// Stops the informers of a factory when it is dropped.
struct StopOnDrop<'f>(&'f SharedInformerFactory);

impl Drop for StopOnDrop<'_> {
    fn drop(&mut self) {
        let members = self.0.shared.registry.lock().close();
        members.iter().for_each(AnyInformer::stop);
    }
}

/// Waits for all informers, and combines the errors.
async fn join_waits(
    waits: impl Iterator<Item = impl Future<Output = Result<(), Error>>>,
    of: usize,
) -> Result<(), Error> {
    let errors: Vec<Error> = join_all(waits)
        .await
        .into_iter()
        .filter_map(Result::err)
        .collect();
    if errors.is_empty() {
        return Ok(());
    }
    Err(Error::new(Problem::NotAllSynced { errors, of }))
}

impl fmt::Debug for SharedInformerFactory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let registry = self.shared.registry.lock();
        let kinds: Vec<String> = registry
            .members()
            .map(|member| member.resource().to_string())
            .collect();
        f.debug_struct("SharedInformerFactory")
            .field("name", &self.shared.options.name)
            .field("informers", &kinds)
            .finish_non_exhaustive()
    }
}
