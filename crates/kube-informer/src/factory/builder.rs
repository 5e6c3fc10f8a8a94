//! What is chosen for all informers of a factory, and for single kinds.

use std::any::Any;
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use kube::Client;
use kube::api::ObjectMeta;
use kube_wire::FieldMask;

use super::SharedInformerFactory;
use super::registry::KindId;
use crate::error::Error;
use crate::informer::{CheckSettings, ErrorHandler, InformerBuilder};
use crate::object::Kind;
use crate::object::format::CacheFormat;
use crate::pipeline::reflector::Backoff;
use crate::pipeline::reflector::machine::{PageSize, Settings};
use crate::pipeline::wire::{Limits, Parameters, Tweak, WireFormat, check_parameter};

/// Everything that can be chosen about a factory. Made by [`SharedInformerFactory::builder`].
///
/// What is chosen here holds for every informer, unless [`FactoryBuilder::kind`] says otherwise for its kind.
///
/// ```no_run
/// # async fn example(client: kube::Client) {
/// use k8s_openapi::api::core::v1::Pod;
/// use kube_informer::{CacheFormat, SharedInformerFactory};
/// use std::time::Duration;
///
/// let factory = SharedInformerFactory::builder(client)
///     .name("shop-operator")
///     .namespaces(["shop", "bank"])
///     .resync(Duration::from_secs(600))
///     .watch_error_handler(|error| eprintln!("{error:#}"))
///     .kind::<Pod>(|pods| pods.labels("app=web").cache_format(CacheFormat::Packed))
///     .build();
/// # }
/// ```
#[doc(alias = "SharedInformerOption")]
#[must_use = "a factory is made by build()"]
pub struct FactoryBuilder {
    client: Client,
    plan: FactoryOptions,
}

/// What was chosen.
#[derive(Default)]
pub(super) struct FactoryOptions {
    pub(super) name: String,
    namespaces: Vec<String>,
    parameters: Parameters,
    tweak: Option<Tweak>,
    resync: Duration,
    settings: Settings,
    checking: CheckSettings,
    limits: Limits,
    keep_managed_fields: bool,
    pruned: FieldMask,
    cache_format: CacheFormat,
    wire_format: WireFormat,
    transform: Option<MetadataTransform>,
    error_handler: Option<ErrorHandler>,
    kinds: HashMap<KindId, Box<dyn Any + Send + Sync>>,
}

type MetadataTransform = Arc<dyn Fn(&mut ObjectMeta) + Send + Sync>;
/// Options of one kind.
type InformerOptions<K> = Box<dyn Fn(InformerBuilder<K>) -> InformerBuilder<K> + Send + Sync>;

impl FactoryBuilder {
    pub(super) fn new(client: Client) -> FactoryBuilder {
        FactoryBuilder {
            client,
            plan: FactoryOptions::default(),
        }
    }

    /// A name for logs and dashboards.
    #[doc(alias = "WithInformerName")]
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.plan.name = name.into();
        self
    }

    /// Only the objects of one namespace. The empty one means all, and kinds whose objects are in no namespace are not
    /// limited by any.
    #[doc(alias = "WithNamespace")]
    pub fn namespace(self, namespace: impl Into<String>) -> Self {
        self.namespaces([namespace])
    }

    /// Only the objects of these namespaces: one informer for each kind watches all of them and holds them in one cache.
    /// None of them means all; see [`InformerBuilder::namespaces`].
    pub fn namespaces<N: Into<String>>(mut self, namespaces: impl IntoIterator<Item = N>) -> Self {
        self.plan.namespaces = namespaces.into_iter().map(Into::into).collect();
        self
    }

    /// Only the objects whose labels fit, as the server sees them.
    #[doc(alias("WithTweakListOptions", "TweakListOptions"))]
    pub fn labels(mut self, selector: impl fmt::Display) -> Self {
        self.plan.parameters.labels(selector);
        self
    }

    /// Only the objects whose fields fit. Few fields can be selected by for every kind: `metadata.name` and
    /// `metadata.namespace`.
    #[doc(alias("WithTweakListOptions", "TweakListOptions"))]
    pub fn fields(mut self, selector: impl Into<String>) -> Self {
        self.plan.parameters.fields(selector);
        self
    }

    /// Sets any other parameter of list and watch requests: client-go's tweak of list options; see
    /// [`InformerBuilder::parameter`].
    ///
    /// # Errors
    /// If the parameter is one that informers set themselves.
    #[doc(alias("WithTweakListOptions", "TweakListOptions"))]
    pub fn parameter(mut self, name: impl Into<String>, value: impl Into<String>) -> Result<Self, Error> {
        let name = name.into();
        check_parameter(&name)?;
        self.plan.parameters.set(name, value);
        Ok(self)
    }

    /// Calls a function before every list and watch request of every informer; see [`InformerBuilder::tweak_requests`].
    #[doc(alias("WithTweakListOptions", "TweakListOptions"))]
    pub fn tweak_requests(mut self, tweak: impl Fn(&mut Parameters) + Send + Sync + 'static) -> Self {
        self.plan.tweak = Some(Arc::new(tweak));
        self
    }

    /// How often everything is repeated to handlers that ask for no period of their own; see [`InformerBuilder::resync`].
    pub fn resync(mut self, period: Duration) -> Self {
        self.plan.resync = period;
        self
    }

    /// Sets how many objects the server sends in one page of a list; see [`InformerBuilder::page_size`].
    #[doc(alias = "WatchListPageSize")]
    pub fn page_size(mut self, objects: u32) -> Self {
        self.plan.settings.page_size = PageSize::objects(objects);
        self
    }

    /// Requests every list as a whole instead of in pages; see [`InformerBuilder::unpaged_lists`].
    #[doc(alias = "DisableChunking")]
    pub fn unpaged_lists(mut self) -> Self {
        self.plan.settings.page_size = PageSize::Unlimited;
        self
    }

    /// Whether to ask for the objects as a stream at all; see [`InformerBuilder::streaming_list`].
    #[doc(alias = "WatchListClient")]
    pub fn streaming_list(mut self, streaming: bool) -> Self {
        self.plan.settings.streaming = streaming;
        self
    }

    /// For how long a watch is asked for; see [`InformerBuilder::watch_timeout`].
    pub fn watch_timeout(mut self, least: Duration) -> Self {
        self.plan.settings.watch_timeout(least);
        self
    }

    /// How long to wait after failures. Each informer counts its own.
    pub fn backoff(mut self, backoff: Backoff) -> Self {
        self.plan.settings.backoff = backoff;
        self
    }

    /// The largest object in bytes; see [`InformerBuilder::max_object_bytes`].
    pub fn max_object_bytes(mut self, bytes: usize) -> Self {
        self.plan.limits.object = bytes;
        self
    }

    /// The largest list in bytes; see [`InformerBuilder::max_list_bytes`].
    pub fn max_list_bytes(mut self, bytes: u64) -> Self {
        self.plan.limits.list = bytes;
        self
    }

    /// Compares each cache with the server from time to time; see [`InformerBuilder::check_consistency`].
    pub fn check_consistency(mut self, every: Duration) -> Self {
        self.plan.checking.every(every);
        self
    }

    /// Lists anew what was found to be different; see [`InformerBuilder::relist_if_inconsistent`].
    pub fn relist_if_inconsistent(mut self) -> Self {
        self.plan.checking.relist = true;
        self
    }

    /// Keeps `metadata.managedFields`; see [`InformerBuilder::keep_managed_fields`].
    pub fn keep_managed_fields(mut self) -> Self {
        self.plan.keep_managed_fields = true;
        self
    }

    /// Leaves out more fields while objects are read, whatever their kind; see [`InformerBuilder::prune`].
    pub fn prune(mut self, fields: &FieldMask) -> Self {
        self.plan.pruned = std::mem::take(&mut self.plan.pruned).union(fields);
        self
    }

    /// What caches keep of each object; see [`InformerBuilder::cache_format`].
    pub fn cache_format(mut self, format: CacheFormat) -> Self {
        self.plan.cache_format = format;
        self
    }

    /// In which format to ask the server for objects; see [`InformerBuilder::wire_format`].
    pub fn wire_format(mut self, format: WireFormat) -> Self {
        self.plan.wire_format = format;
        self
    }

    /// Changes every object's metadata before it comes into the cache, whatever its kind. To change the objects of one
    /// kind, and then in place of this, give it a transform with [`FactoryBuilder::kind`].
    #[doc(alias = "WithTransform")]
    pub fn transform(mut self, transform: impl Fn(&mut ObjectMeta) + Send + Sync + 'static) -> Self {
        self.plan.transform = Some(Arc::new(transform));
        self
    }

    /// Who is told of errors in place of the log. The error names its kind.
    pub fn watch_error_handler(mut self, handler: impl Fn(&Error) + Send + Sync + 'static) -> Self {
        self.plan.error_handler = Some(Arc::new(handler));
        self
    }

    /// Chooses otherwise for one kind: `choose` is given what the factory would use. It may be called more than once.
    ///
    /// ```no_run
    /// # fn example(client: kube::Client) {
    /// use k8s_openapi::api::core::v1::{Pod, Secret};
    /// use kube_informer::SharedInformerFactory;
    /// use std::time::Duration;
    ///
    /// let factory = SharedInformerFactory::builder(client)
    ///     .resync(Duration::from_secs(600))
    ///     .kind::<Pod>(|pods| pods.fields("spec.nodeName=node-1").page_size(1_000))
    ///     .kind::<Secret>(|secrets| secrets.transform(|secret: &mut Secret| secret.data = None))
    ///     .build();
    /// # }
    /// ```
    #[doc(alias = "WithCustomResyncConfig")]
    pub fn kind<K: Kind>(
        self,
        choose: impl Fn(InformerBuilder<K>) -> InformerBuilder<K> + Send + Sync + 'static,
    ) -> Self
    where
        K::DynamicType: Default,
    {
        self.kind_with::<K>(&K::DynamicType::default(), choose)
    }

    /// The same for a kind that is known only at run time.
    pub fn kind_with<K: Kind>(
        mut self,
        kind: &K::DynamicType,
        choose: impl Fn(InformerBuilder<K>) -> InformerBuilder<K> + Send + Sync + 'static,
    ) -> Self {
        let choice: InformerOptions<K> = Box::new(choose);
        self.plan.kinds.insert(KindId::of::<K>(kind), Box::new(choice));
        self
    }

    /// The factory, which does nothing until informers are asked for and started.
    #[must_use]
    pub fn build(self) -> SharedInformerFactory {
        SharedInformerFactory::planned(self.client, self.plan)
    }
}

impl FactoryOptions {
    /// What was chosen for all kinds, then what was chosen for this one.
    pub(super) fn apply<K: Kind>(&self, id: &KindId, mut builder: InformerBuilder<K>) -> InformerBuilder<K> {
        builder = builder
            .namespaces(self.namespaces.iter().cloned())
            .resync(self.resync)
            .prune(&self.pruned)
            .cache_format(self.cache_format)
            .wire_format(self.wire_format)
            .settings(&self.settings)
            .checking(self.checking)
            .limits(self.limits)
            .requests(&self.parameters, self.tweak.clone());
        if self.keep_managed_fields {
            builder = builder.keep_managed_fields();
        }
        if let Some(transform) = self.transform.clone() {
            builder = builder.transform(move |object: &mut K| transform(object.meta_mut()));
        }
        if let Some(handler) = self.error_handler.clone() {
            builder = builder.watch_error_handler(move |error| handler(error));
        }
        match self
            .kinds
            .get(id)
            .and_then(|choice| choice.downcast_ref::<InformerOptions<K>>())
        {
            Some(choose) => choose(builder),
            None => builder,
        }
    }
}

impl fmt::Debug for FactoryBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FactoryBuilder")
            .field("name", &self.plan.name)
            .field("namespaces", &self.plan.namespaces)
            .field("parameters", &self.plan.parameters)
            .field("resync", &self.plan.resync)
            .finish_non_exhaustive()
    }
}
