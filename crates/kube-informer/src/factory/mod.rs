//! The factory: informers of many kinds, on one client.

mod builder;
mod dynamic;
pub mod groups;
mod member;
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
use self::member::Member;
pub use self::readiness::Readiness;
use self::registry::{KindId, Registry};
use crate::discovery::Discovery;
use crate::erased::AnyInformer;
use crate::error::{Error, Operation, Problem};
use crate::informer::{InformerState, SharedInformer, Status};
use crate::object::Kind;
use crate::pipeline::wire::ListWatch;

/// Informers of any number of kinds, made from one client and with one set of options: one informer for each kind,
/// however often and by whomever it is asked for.
///
/// It stands for client-go's `SharedInformerFactory`, and for its dynamic and metadata factories as well: a kind's typed
/// objects, its dynamic objects and its metadata are three kinds to it. Cloning it costs a counter.
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
    plan: FactoryOptions,
    registry: Mutex<Registry>,
    /// What the server said last.
    discovery: tokio::sync::Mutex<Option<Arc<Discovery>>>,
}

impl SharedInformerFactory {
    /// A factory for all namespaces, with nothing chosen.
    #[doc(alias = "NewSharedInformerFactory")]
    #[must_use]
    pub fn new(client: Client) -> SharedInformerFactory {
        SharedInformerFactory::builder(client).build()
    }

    /// Everything that can be chosen about a factory.
    #[doc(alias = "NewSharedInformerFactoryWithOptions")]
    pub fn builder(client: Client) -> FactoryBuilder {
        FactoryBuilder::new(client)
    }

    fn planned(client: Client, plan: FactoryOptions) -> SharedInformerFactory {
        SharedInformerFactory {
            shared: Arc::new(FactoryShared {
                client,
                plan,
                registry: Mutex::default(),
                discovery: tokio::sync::Mutex::default(),
            }),
        }
    }

    /// The name given to it, or the empty one.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.shared.plan.name
    }

    /// The client its informers use.
    #[must_use]
    pub fn client(&self) -> &Client {
        &self.shared.client
    }

    /// The informer of a kind that its type names. The first request makes it, and every further one gives the same.
    ///
    /// It does nothing before [`SharedInformerFactory::start`], also if others of the factory run already.
    #[doc(alias = "InformerFor")]
    #[must_use]
    pub fn informer<K: Kind>(&self) -> SharedInformer<K>
    where
        K::DynamicType: Default,
    {
        self.informer_with(K::DynamicType::default())
    }

    /// The informer of a kind that is known only at run time.
    #[must_use]
    pub fn informer_with<K: Kind>(&self, kind: K::DynamicType) -> SharedInformer<K> {
        self.informer_in::<K>(kind, false)
    }

    /// The informer of a kind's metadata: nothing else is asked of the server, and nothing else is kept.
    #[doc(alias("metadatainformer", "NewMetadataInformer"))]
    #[must_use]
    pub fn metadata<K: Kind>(&self) -> SharedInformer<PartialObjectMeta<K>>
    where
        K::DynamicType: Default,
    {
        self.informer()
    }

    /// Makes the informer of a kind with a source of your own instead of the API server. Everything else is as the factory has
    /// it, and [`SharedInformerFactory::informer`] returns this informer from now on.
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
    /// If the factory has an informer of this kind already.
    #[doc(alias = "InformerFor")]
    pub fn informer_from<K: Kind>(
        &self,
        source: impl ListWatch<K>,
        kind: K::DynamicType,
    ) -> Result<SharedInformer<K>, Error> {
        let id = KindId::of::<K>(&kind);
        let builder = SharedInformer::builder_from(source, kind);
        // The user's options are called without the lock.
        let made = self.shared.plan.apply(&id, builder).build();
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
        // Not under the lock: the user's options are asked for.
        let mut builder = SharedInformer::builder_with(self.shared.client.clone(), kind);
        if cluster_scoped {
            builder = builder.cluster_scoped();
        }
        let made = self.shared.plan.apply(&id, builder).build();
        let (kept, is_second) = {
            let mut registry = self.shared.registry.lock();
            let is_second = registry.has_other_type_of(&id);
            (registry.get_or_insert(id, &made), is_second)
        };
        if is_second {
            tracing::info!(
                resource = %kept.resource(),
                objects = std::any::type_name::<K>(),
                "another informer of the factory watches this resource with another type of objects; this one opens a second watch"
            );
        }
        // If another thread was faster, this informer is dropped without the lock, with the user's options in it.
        drop(made);
        kept
    }

    /// Starts every informer that was asked for and does not run yet. Call it again after asking for more. After
    /// [`SharedInformerFactory::shutdown`] it does nothing.
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    #[doc(alias = "StartWithContext")]
    pub fn start(&self) {
        let members: Vec<_> = self.shared.registry.lock().open_members().cloned().collect();
        for member in members {
            if member.state() == InformerState::New {
                member.start();
            }
        }
    }

    /// Runs the informers that were asked for until the token is cancelled, then stops them.
    pub async fn run(&self, stop: CancellationToken) {
        self.start();
        stop.cancelled().await;
        self.shutdown().await;
    }

    /// Stops every informer and waits for their ends: afterwards nothing of them runs. Calling it twice changes nothing.
    ///
    /// A handler that never returns is waited for; put a timeout around this if you have one. Inside a
    /// handler, informers that cannot end before it returns stop and are not waited for.
    ///
    /// # Cancel safety
    /// The informers stop even if the wait is dropped.
    pub async fn shutdown(&self) {
        let members = self.shared.registry.lock().close();
        join_all(members.iter().map(|member| member.shutdown())).await;
    }

    /// Waits until every informer that was started has a full list in its cache, without asking again and again.
    ///
    /// # Errors
    /// If it takes longer than `timeout`, or an informer stops before. The error names each kind that has not synced, and
    /// the last error of each. If nothing was started at all, it says so at once.
    ///
    /// # Cancel safety
    /// Nothing is lost when the wait is dropped.
    #[doc(alias("WaitForCacheSync", "WaitForNamedCacheSync"))]
    pub async fn wait_for_sync(&self, timeout: Duration) -> Result<(), Error> {
        let members = self.started()?;
        together(
            members.iter().map(|member| member.wait_for_sync(timeout)),
            members.len(),
        )
        .await
    }

    /// Waits until every informer that was started has a full list in its cache, for as long as it takes.
    ///
    /// # Errors
    /// If an informer stops before, or nothing was started at all.
    ///
    /// # Cancel safety
    /// Nothing is lost when the wait is dropped.
    pub async fn synced(&self) -> Result<(), Error> {
        let members = self.started()?;
        together(members.iter().map(|member| member.synced()), members.len()).await
    }

    /// Whether every informer that was asked for has a full list in its cache.
    #[must_use]
    pub fn has_synced(&self) -> bool {
        self.shared
            .registry
            .lock()
            .members()
            .all(|member| member.has_synced())
    }

    /// How ready the caches are, for probes.
    #[must_use]
    pub fn readiness(&self) -> Readiness {
        Readiness::new(self.clone())
    }

    /// How each informer is, in the order in which they were asked for.
    #[must_use]
    pub fn statuses(&self) -> Vec<Status> {
        let members: Vec<_> = self.shared.registry.lock().members().cloned().collect();
        members.iter().map(|member| member.status()).collect()
    }

    /// Returns all informers without the types of their objects, in the order in which they were requested.
    #[must_use]
    pub fn informers(&self) -> Vec<AnyInformer> {
        let registry = self.shared.registry.lock();
        registry.members().map(|member| member.erase()).collect()
    }

    fn started(&self) -> Result<Vec<Arc<dyn Member>>, Error> {
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

/// Waits for all, and makes one error of those that failed.
async fn together(
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

/// A factory that lives for as long as someone else wants it to.
#[cfg(feature = "metrics")]
pub(crate) struct WeakFactory(std::sync::Weak<FactoryShared>);

#[cfg(feature = "metrics")]
impl SharedInformerFactory {
    pub(crate) fn downgrade(&self) -> WeakFactory {
        WeakFactory(Arc::downgrade(&self.shared))
    }
}

#[cfg(feature = "metrics")]
impl WeakFactory {
    pub(crate) fn upgrade(&self) -> Option<SharedInformerFactory> {
        let shared = self.0.upgrade()?;
        Some(SharedInformerFactory { shared })
    }
}

impl fmt::Debug for SharedInformerFactory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let registry = self.shared.registry.lock();
        let kinds: Vec<String> = registry
            .members()
            .map(|member| member.resource().to_string())
            .collect();
        f.debug_struct("SharedInformerFactory")
            .field("name", &self.shared.plan.name)
            .field("informers", &kinds)
            .finish_non_exhaustive()
    }
}
