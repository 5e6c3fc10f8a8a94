//! Options for all informers of a factory, and for single kinds.

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
use crate::informer::{ErrorHandler, InformerBuilder, Options};
use crate::object::Kind;
use crate::object::format::CacheFormat;
use crate::pipeline::reflector::Backoff;
use crate::pipeline::reflector::machine::PageSize;
use crate::pipeline::wire::{Parameters, WireFormat};

/// Configures a factory. Created by [`SharedInformerFactory::builder`].
///
/// The options apply to every informer, unless [`FactoryBuilder::kind`] overrides them for its kind.
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
    options: FactoryOptions,
}

/// The options of a factory.
#[derive(Default)]
pub(super) struct FactoryOptions {
    pub(super) name: String,
    informers: Options,
    transform: Option<MetadataTransform>,
    error_handler: Option<ErrorHandler>,
    kinds: HashMap<KindId, Box<dyn Any + Send + Sync>>,
}

type MetadataTransform = Arc<dyn Fn(&mut ObjectMeta) + Send + Sync>;
/// Changes the options of one kind.
type InformerOptions<K> = Box<dyn Fn(InformerBuilder<K>) -> InformerBuilder<K> + Send + Sync>;

impl FactoryBuilder {
    pub(super) fn new(client: Client) -> FactoryBuilder {
        FactoryBuilder {
            client,
            options: FactoryOptions::default(),
        }
    }

    /// Sets the name for logs and dashboards.
    #[doc(alias = "WithInformerName")]
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.options.name = name.into();
        self
    }

    /// Selects the objects of one namespace. An empty string selects all namespaces. Has no effect on cluster-scoped
    /// kinds.
    #[doc(alias = "WithNamespace")]
    pub fn namespace(self, namespace: impl Into<String>) -> Self {
        self.namespaces([namespace])
    }

    /// Selects the objects of several namespaces, or of all namespaces if there are none; see
    /// [`InformerBuilder::namespaces`].
    ///
    /// One informer for each kind watches all of them and keeps their objects in one cache.
    pub fn namespaces<N: Into<String>>(mut self, namespaces: impl IntoIterator<Item = N>) -> Self {
        self.options.informers.namespaces(namespaces);
        self
    }

    /// Selects objects by their labels, on the server.
    #[doc(alias("WithTweakListOptions", "TweakListOptions"))]
    pub fn labels(mut self, selector: impl fmt::Display) -> Self {
        self.options.informers.parameters.labels(selector);
        self
    }

    /// Selects objects by their fields, on the server. All kinds support only `metadata.name` and `metadata.namespace`.
    #[doc(alias("WithTweakListOptions", "TweakListOptions"))]
    pub fn fields(mut self, selector: impl Into<String>) -> Self {
        self.options.informers.parameters.fields(selector);
        self
    }

    /// Sets another parameter of list and watch requests; see [`InformerBuilder::parameter`].
    ///
    /// # Errors
    /// Returns an error if informers set the parameter themselves.
    #[doc(alias("WithTweakListOptions", "TweakListOptions"))]
    pub fn parameter(mut self, name: impl Into<String>, value: impl Into<String>) -> Result<Self, Error> {
        self.options.informers.parameter(name, value)?;
        Ok(self)
    }

    /// Calls a function before every list and watch request of every informer; see [`InformerBuilder::tweak_requests`].
    #[doc(alias("WithTweakListOptions", "TweakListOptions"))]
    pub fn tweak_requests(mut self, tweak: impl Fn(&mut Parameters) + Send + Sync + 'static) -> Self {
        self.options.informers.tweak = Some(Arc::new(tweak));
        self
    }

    /// Sets the resync period of handlers that have none of their own; see [`InformerBuilder::resync`].
    pub fn resync(mut self, period: Duration) -> Self {
        self.options.informers.resync = period;
        self
    }

    /// Sets the number of objects in one page of a list; see [`InformerBuilder::page_size`].
    #[doc(alias = "WatchListPageSize")]
    pub fn page_size(mut self, objects: u32) -> Self {
        self.options.informers.settings.page_size = PageSize::objects(objects);
        self
    }

    /// Requests every list as a whole instead of in pages; see [`InformerBuilder::unpaged_lists`].
    #[doc(alias = "DisableChunking")]
    pub fn unpaged_lists(mut self) -> Self {
        self.options.informers.settings.page_size = PageSize::Unlimited;
        self
    }

    /// Enables or disables streaming lists; see [`InformerBuilder::streaming_list`].
    #[doc(alias = "WatchListClient")]
    pub fn streaming_list(mut self, streaming: bool) -> Self {
        self.options.informers.settings.streaming = streaming;
        self
    }

    /// Sets the minimum timeout of watch requests; see [`InformerBuilder::watch_timeout`].
    pub fn watch_timeout(mut self, least: Duration) -> Self {
        self.options.informers.settings.watch_timeout(least);
        self
    }

    /// Sets the delays after failures. Each informer counts its own failures.
    pub fn backoff(mut self, backoff: Backoff) -> Self {
        self.options.informers.settings.backoff = backoff;
        self
    }

    /// Sets the maximum size of an object, in bytes; see [`InformerBuilder::max_object_bytes`].
    pub fn max_object_bytes(mut self, bytes: usize) -> Self {
        self.options.informers.limits.object = bytes;
        self
    }

    /// Sets the maximum size of a list, in bytes; see [`InformerBuilder::max_list_bytes`].
    pub fn max_list_bytes(mut self, bytes: u64) -> Self {
        self.options.informers.limits.list = bytes;
        self
    }

    /// Compares each cache with the server periodically; see [`InformerBuilder::check_consistency`].
    pub fn check_consistency(mut self, every: Duration) -> Self {
        self.options.informers.checking.every(every);
        self
    }

    /// Relists a kind when a check has found a difference; see [`InformerBuilder::relist_if_inconsistent`].
    pub fn relist_if_inconsistent(mut self) -> Self {
        self.options.informers.checking.relist = true;
        self
    }

    /// Keeps `metadata.managedFields`; see [`InformerBuilder::keep_managed_fields`].
    pub fn keep_managed_fields(mut self) -> Self {
        self.options.informers.keep_managed_fields = true;
        self
    }

    /// Removes more fields from objects of all kinds while they are read; see [`InformerBuilder::prune`].
    pub fn prune(mut self, fields: &FieldMask) -> Self {
        self.options.informers.pruned = std::mem::take(&mut self.options.informers.pruned).union(fields);
        self
    }

    /// Sets how caches keep objects; see [`InformerBuilder::cache_format`].
    pub fn cache_format(mut self, format: CacheFormat) -> Self {
        self.options.informers.cache_format = format;
        self
    }

    /// Sets the format in which objects are requested; see [`InformerBuilder::wire_format`].
    pub fn wire_format(mut self, format: WireFormat) -> Self {
        self.options.informers.wire_format = format;
        self
    }

    /// Sets a function that changes the metadata of every object before it is added to a cache.
    ///
    /// A transform that is set with [`FactoryBuilder::kind`] replaces it for that kind, and can change whole objects.
    #[doc(alias("WithTransform", "SetTransform"))]
    pub fn transform(mut self, transform: impl Fn(&mut ObjectMeta) + Send + Sync + 'static) -> Self {
        self.options.transform = Some(Arc::new(transform));
        self
    }

    /// Sets a function that receives errors instead of the log. The error contains its kind.
    #[doc(alias = "SetWatchErrorHandler")]
    pub fn watch_error_handler(mut self, handler: impl Fn(&Error) + Send + Sync + 'static) -> Self {
        self.options.error_handler = Some(Arc::new(handler));
        self
    }

    /// Overrides options for one kind. `choose` receives a builder with the options of the factory, and may be called
    /// more than once.
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

    /// Like [`FactoryBuilder::kind`], for a kind that is known only at run time.
    pub fn kind_with<K: Kind>(
        mut self,
        kind: &K::DynamicType,
        choose: impl Fn(InformerBuilder<K>) -> InformerBuilder<K> + Send + Sync + 'static,
    ) -> Self {
        let choice: InformerOptions<K> = Box::new(choose);
        self.options.kinds.insert(KindId::of::<K>(kind), Box::new(choice));
        self
    }

    /// Builds the factory. It does nothing until informers are requested and started.
    #[must_use]
    pub fn build(self) -> SharedInformerFactory {
        SharedInformerFactory::with_options(self.client, self.options)
    }
}

impl FactoryOptions {
    /// Applies the options of all kinds, then those of this kind.
    pub(super) fn apply<K: Kind>(&self, id: &KindId, mut builder: InformerBuilder<K>) -> InformerBuilder<K> {
        builder = builder.options(&self.informers);
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
            .field("name", &self.options.name)
            .field("namespaces", &self.options.informers.namespaces)
            .field("parameters", &self.options.informers.parameters)
            .field("resync", &self.options.informers.resync)
            .finish_non_exhaustive()
    }
}
