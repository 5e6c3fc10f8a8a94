//! Builds an informer.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use kube::Client;
use kube_wire::FieldMask;
use kube_wire::protobuf::Schema;
use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::context::{Hooks, ReflectorContext};
use super::{CheckSettings, InformerShared, InformerState, SharedInformer, Source};
use crate::error::Error;
use crate::measures::Measurements;
use crate::object::format::{CacheFormat, PackingContext};
use crate::object::{Kind, Transform, WatchedResource, is_cluster_scoped};
use crate::pipeline::processor::Processor;
use crate::pipeline::reflector::Backoff;
use crate::pipeline::reflector::machine::{PageSize, Settings};
use crate::pipeline::store::{IndexValue, Scopes, Seed, Store, Writer};
use crate::pipeline::wire::{
    ApiListWatch, Limits, ListWatch, Parameters, Tweak, WireFormat, check_parameter,
};

/// Configures an informer. Created by [`SharedInformer::builder`].
///
/// ```no_run
/// # fn example(client: kube::Client) -> Result<(), kube_informer::Error> {
/// use k8s_openapi::api::core::v1::Pod;
/// use kube_informer::SharedInformer;
/// use std::time::Duration;
///
/// let pods = SharedInformer::<Pod>::builder(client)
///     .namespace("shop")
///     .labels("app in (web, cart)")
///     .resync(Duration::from_secs(600))
///     .transform(|pod| pod.status = None)
///     .index("node", |pod: &Pod| pod.spec.as_ref().and_then(|spec| spec.node_name.clone()))
///     .build();
/// let by_node = pods.find_index::<String>("node")?;
/// # Ok(())
/// # }
/// ```
#[doc(alias(
    "InformerOptions",
    "SharedIndexInformerOptions",
    "ReflectorOptions",
    "NewFilteredPodInformer"
))]
pub struct InformerBuilder<K: Kind> {
    origin: Origin<K>,
    kind: K::DynamicType,
    cluster_scoped: bool,
    options: Options,
    hooks: Hooks<K>,
    indexes: BTreeMap<String, NewIndex<K>>,
}

/// Options that do not depend on the type of the objects, so that a factory can set them for all its informers.
#[derive(Clone, Default)]
pub(crate) struct Options {
    pub(crate) namespaces: Vec<String>,
    pub(crate) parameters: Parameters,
    pub(crate) tweak: Option<Tweak>,
    pub(crate) resync: Duration,
    pub(crate) settings: Settings,
    pub(crate) checking: CheckSettings,
    pub(crate) limits: Limits,
    pub(crate) keep_managed_fields: bool,
    pub(crate) pruned: FieldMask,
    pub(crate) cache_format: CacheFormat,
    pub(crate) wire_format: WireFormat,
}

impl Options {
    /// Selects namespaces, or all if there are none or one of them is an empty string.
    pub(crate) fn namespaces<N: Into<String>>(&mut self, namespaces: impl IntoIterator<Item = N>) {
        let mut namespaces: Vec<String> = namespaces.into_iter().map(Into::into).collect();
        namespaces.sort();
        namespaces.dedup();
        if namespaces.iter().any(String::is_empty) {
            namespaces.clear();
        }
        self.namespaces = namespaces;
    }

    /// Sets a request parameter, unless informers set it themselves.
    pub(crate) fn parameter(
        &mut self,
        name: impl Into<String>,
        value: impl Into<String>,
    ) -> Result<(), Error> {
        let name = name.into();
        check_parameter(&name)?;
        self.parameters.set(name, value);
        Ok(())
    }
}

/// Adds an index to an empty store.
type NewIndex<K> = Box<dyn FnOnce(&mut Writer<K>) -> Result<(), Error> + Send>;

/// Where the objects are from.
enum Origin<K> {
    Client(Client),
    Custom(Arc<dyn ListWatch<K>>),
}

impl<K: Kind> SharedInformer<K> {
    /// Returns a builder for an informer of a typed kind.
    #[doc(alias(
        "NewPodInformer",
        "NewInformer",
        "NewIndexerInformer",
        "NewTransformingInformer",
        "NewInformerWithOptions",
        "NewSharedIndexInformerWithOptions"
    ))]
    #[must_use]
    pub fn builder(client: Client) -> InformerBuilder<K>
    where
        K::DynamicType: Default,
    {
        Self::builder_with(client, K::DynamicType::default())
    }

    /// Returns a builder for an informer of a kind that is known only at run time, for example an `ApiResource` for
    /// `DynamicObject`.
    pub fn builder_with(client: Client, kind: K::DynamicType) -> InformerBuilder<K> {
        InformerBuilder::new(Origin::Client(client), kind)
    }

    /// Returns a builder for an informer that lists and watches a custom source instead of an API server.
    ///
    /// The source decides which objects it returns: selectors and other request parameters have no effect, and a
    /// namespace only appears in the informer's name.
    #[doc(alias = "NewReflector")]
    pub fn builder_from(source: impl ListWatch<K>, kind: K::DynamicType) -> InformerBuilder<K> {
        InformerBuilder::new(Origin::Custom(Arc::new(source)), kind)
    }
}

impl<K: Kind> InformerBuilder<K> {
    /// Sets the options of a factory. The random seed remains this informer's own.
    pub(crate) fn options(mut self, options: &Options) -> Self {
        let seed = self.options.settings.seed;
        self.options = options.clone();
        self.options.settings.seed = seed;
        self
    }

    fn new(origin: Origin<K>, kind: K::DynamicType) -> InformerBuilder<K> {
        InformerBuilder {
            origin,
            kind,
            cluster_scoped: is_cluster_scoped::<K>(),
            options: Options::default(),
            hooks: Hooks::default(),
            indexes: BTreeMap::new(),
        }
    }

    /// Selects the objects of one namespace. An empty string selects all namespaces. Has no effect on cluster-scoped
    /// kinds.
    #[must_use]
    pub fn namespace(self, namespace: impl Into<String>) -> Self {
        self.namespaces([namespace])
    }

    /// Selects the objects of several namespaces, or of all namespaces if there are none or one of them is an empty
    /// string.
    ///
    /// Each namespace has its own list and watch, and all objects are in one cache. The cache is empty until every
    /// namespace has been listed. Afterwards each namespace progresses on its own: the version of the cache is that of
    /// the namespace furthest behind, and [`SharedInformer::wait_for_write`] waits for the namespace of the object.
    #[must_use]
    pub fn namespaces<N: Into<String>>(mut self, namespaces: impl IntoIterator<Item = N>) -> Self {
        self.options.namespaces(namespaces);
        self
    }

    /// Declares the kind as cluster-scoped, so that namespaces have no effect. Only needed for types that do not
    /// declare it themselves.
    #[must_use]
    pub fn cluster_scoped(mut self) -> Self {
        self.cluster_scoped = true;
        self
    }

    /// Selects objects by their labels, on the server.
    #[must_use]
    pub fn labels(mut self, selector: impl fmt::Display) -> Self {
        self.options.parameters.labels(selector);
        self
    }

    /// Selects objects by their fields, on the server, for example `spec.nodeName=node-1`.
    #[must_use]
    pub fn fields(mut self, selector: impl Into<String>) -> Self {
        self.options.parameters.fields(selector);
        self
    }

    /// Sets another parameter of list and watch requests. The last value for a name is used. [`labels`](Self::labels)
    /// and [`fields`](Self::fields) set `labelSelector` and `fieldSelector`.
    ///
    /// # Errors
    /// Returns an error if informers set the parameter themselves. For `limit` use [`page_size`](Self::page_size), for
    /// `timeoutSeconds` [`watch_timeout`](Self::watch_timeout), for `sendInitialEvents`
    /// [`streaming_list`](Self::streaming_list). `resourceVersion`, `resourceVersionMatch`, `continue`, `watch` and
    /// `allowWatchBookmarks` cannot be changed.
    pub fn parameter(mut self, name: impl Into<String>, value: impl Into<String>) -> Result<Self, Error> {
        self.options.parameter(name, value)?;
        Ok(self)
    }

    /// Calls a function before every list and watch request, which may change the parameters of that request.
    ///
    /// The informer does not notice if a function returns other selectors than before. It relists only when it would
    /// have relisted anyway, and until then the cache and a new watch may select different objects. Use this for
    /// parameters that do not change which objects are selected, or that change only before the start.
    ///
    /// A request fails if the function sets a parameter that informers set themselves (see
    /// [`parameter`](Self::parameter)), or if the function panics.
    ///
    /// ```no_run
    /// # use k8s_openapi::api::core::v1::Pod;
    /// # fn example(client: kube::Client, node: std::sync::Arc<str>) {
    /// use kube_informer::SharedInformer;
    ///
    /// let pods = SharedInformer::<Pod>::builder(client)
    ///     .tweak_requests(move |parameters| {
    ///         parameters.fields(format!("spec.nodeName={node}"));
    ///     })
    ///     .build();
    /// # }
    /// ```
    #[doc(alias("WithTweakListOptions", "TweakListOptions", "TweakListOptionsFunc"))]
    #[must_use]
    pub fn tweak_requests(mut self, tweak: impl Fn(&mut Parameters) + Send + Sync + 'static) -> Self {
        self.options.tweak = Some(Arc::new(tweak));
        self
    }

    /// Sets the resync period of handlers that have none of their own. The default is zero: no resyncs.
    ///
    /// A resync delivers all objects again from the cache, without requests to the server.
    #[must_use]
    pub fn resync(mut self, period: Duration) -> Self {
        self.options.resync = period;
        self
    }

    /// Sets the number of objects in one page of a list. The default is 500, or all objects if the server reads them
    /// from its watch cache anyway. Zero means the default.
    #[doc(alias = "WatchListPageSize")]
    #[must_use]
    pub fn page_size(mut self, objects: u32) -> Self {
        self.options.settings.page_size = PageSize::objects(objects);
        self
    }

    /// Requests every list as a whole instead of in pages. Overrides [`page_size`](Self::page_size), unless that is
    /// called later.
    ///
    /// A list without pages is one snapshot on the server, but the server needs more memory and the request takes
    /// longer.
    #[doc(alias = "DisableChunking")]
    #[must_use]
    pub fn unpaged_lists(mut self) -> Self {
        self.options.settings.page_size = PageSize::Unlimited;
        self
    }

    /// Enables or disables streaming lists. Enabled by default; servers that do not support them get regular list
    /// requests.
    #[doc(alias("WatchListClient", "sendInitialEvents"))]
    #[must_use]
    pub fn streaming_list(mut self, streaming: bool) -> Self {
        self.options.settings.streaming = streaming;
        self
    }

    /// Sets the minimum timeout of watch requests, at least five minutes. The timeout is random, between this and twice
    /// as long.
    #[must_use]
    pub fn watch_timeout(mut self, least: Duration) -> Self {
        self.options.settings.watch_timeout(least);
        self
    }

    /// Sets the delays after failures.
    #[must_use]
    pub fn backoff(mut self, backoff: Backoff) -> Self {
        self.options.settings.backoff = backoff;
        self
    }

    /// Sets the maximum size of an object as sent, in bytes. The default is 64 MiB.
    ///
    /// A list or watch with a larger object fails before the object is read. This protects against a broken or hostile
    /// server.
    #[must_use]
    pub fn max_object_bytes(mut self, bytes: usize) -> Self {
        self.options.limits.object = bytes;
        self
    }

    /// Sets the maximum size of a list as sent, in bytes, all pages together. The default is 16 GiB.
    ///
    /// A list is collected in memory before it is used, so an endless list would fill the memory up to this limit.
    /// Reduce it if the server is not trusted.
    #[must_use]
    pub fn max_list_bytes(mut self, bytes: u64) -> Self {
        self.options.limits.list = bytes;
        self
    }

    /// Compares the cache with the server periodically; see [`SharedInformer::check_consistency`].
    ///
    /// A difference that a second check confirms is reported to the watch-error handler ([`Error::is_inconsistent`])
    /// and counted in [`Status::inconsistencies`](crate::status::Status::inconsistencies).
    ///
    /// ```no_run
    /// # use k8s_openapi::api::core::v1::Pod;
    /// # fn example(client: kube::Client) {
    /// use kube_informer::SharedInformer;
    /// use std::time::Duration;
    ///
    /// let pods = SharedInformer::<Pod>::builder(client)
    ///     .check_consistency(Duration::from_secs(3_600))
    ///     .relist_if_inconsistent()
    ///     .watch_error_handler(|error| match error.consistency() {
    ///         Some(found) => eprintln!("{error:#}: {:?}", found.missing.keys()),
    ///         None => eprintln!("{error:#}"),
    ///     })
    ///     .build();
    /// # }
    /// ```
    ///
    /// Each check lists the metadata of all objects. A random delay of up to a quarter of the period is added, so that
    /// informers that start together do not check at the same time. The minimum period is one minute; zero disables the
    /// checks. A check that cannot be made, for example because the server no longer has the version, is counted in
    /// [`Status::unchecked`](crate::status::Status::unchecked) and reported only once.
    #[must_use]
    pub fn check_consistency(mut self, every: Duration) -> Self {
        self.options.checking.every(every);
        self
    }

    /// Relists when [`InformerBuilder::check_consistency`] has found a difference. Handlers receive the resulting
    /// changes.
    #[must_use]
    pub fn relist_if_inconsistent(mut self) -> Self {
        self.options.checking.relist = true;
        self
    }

    /// Keeps `metadata.managedFields`. They are dropped by default, because few programs read them and they take much
    /// memory.
    ///
    /// An update without them does not change them on the server.
    #[must_use]
    pub fn keep_managed_fields(mut self) -> Self {
        self.options.keep_managed_fields = true;
        self
    }

    /// Removes more fields while objects are read. They are neither decoded nor kept.
    ///
    /// ```no_run
    /// # use k8s_openapi::api::core::v1::Pod;
    /// # fn example(client: kube::Client) -> Result<(), kube_informer::error::ParsePathError> {
    /// use kube_informer::{SharedInformer, FieldMask};
    ///
    /// let fields = FieldMask::none()
    ///     .path("spec.containers.env")?
    ///     .path("metadata.annotations[kubectl.kubernetes.io/last-applied-configuration]")?;
    /// let pods = SharedInformer::<Pod>::builder(client).prune(&fields).build();
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// Do not send such an object back to the server: an update would remove these fields there. A custom source that
    /// returns decoded objects has to remove the fields itself.
    #[must_use]
    pub fn prune(mut self, fields: &FieldMask) -> Self {
        self.options.pruned = self.options.pruned.union(fields);
        self
    }

    /// Sets how the cache keeps objects: decoded or as bytes.
    #[must_use]
    pub fn cache_format(mut self, format: CacheFormat) -> Self {
        self.options.cache_format = format;
        self
    }

    /// Sets the format in which objects are requested.
    #[must_use]
    pub fn wire_format(mut self, format: WireFormat) -> Self {
        self.options.wire_format = format;
        self
    }

    /// Sets a function that changes every object once before it is added to the cache. Replaces an earlier one.
    #[doc(alias("SetTransform", "TransformFunc"))]
    #[must_use]
    pub fn transform(self, transform: impl Fn(&mut K) + Send + Sync + 'static) -> Self {
        self.try_transform(move |object| {
            transform(object);
            Ok::<_, std::convert::Infallible>(())
        })
    }

    /// Sets a transform that may fail. A failure makes the list or watch fail: the watch-error handler is notified, and
    /// the request is retried. The cache therefore contains every object, and only transformed ones.
    #[must_use]
    pub fn try_transform<E: fmt::Display>(
        mut self,
        transform: impl Fn(&mut K) -> Result<(), E> + Send + Sync + 'static,
    ) -> Self {
        self.hooks.transform = Some(Transform::new(transform));
        self
    }

    /// Sets a function that receives errors instead of the log: of lists, watches, transforms and index functions.
    /// Replaces an earlier one.
    #[doc(alias(
        "SetWatchErrorHandler",
        "SetWatchErrorHandlerWithContext",
        "WatchErrorHandler"
    ))]
    #[must_use]
    pub fn watch_error_handler(mut self, handler: impl Fn(&Error) + Send + Sync + 'static) -> Self {
        self.hooks.error_handler = Some(Arc::new(handler));
        self
    }

    /// Adds an index. [`SharedInformer::find_index`] returns its handle. Replaces an earlier index of the same name.
    ///
    /// See [`SharedInformer::index`], which adds an index at any time.
    #[must_use]
    pub fn index<V, I>(mut self, name: &str, values: impl Fn(&K) -> I + Send + Sync + 'static) -> Self
    where
        V: IndexValue,
        I: IntoIterator<Item = V>,
    {
        let index_name: Arc<str> = name.into();
        let function = Arc::new(move |object: &K| Ok(values(object).into_iter().collect()));
        let add: NewIndex<K> = Box::new(move |writer| writer.add_index::<V>(index_name, function));
        self.indexes.insert(name.to_owned(), add);
        self
    }

    /// Sets the random seed, for example of jitter, so that each run is the same.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.options.settings.seed = seed;
        self
    }

    /// Builds the informer. It does nothing until it is started.
    pub fn build(self) -> SharedInformer<K> {
        let namespaces: Vec<&str> = if self.cluster_scoped {
            Vec::new()
        } else {
            self.options.namespaces.iter().map(String::as_str).collect()
        };
        let resource = WatchedResource::of::<K>(&self.kind, namespaces.iter().copied());
        let several = matches!(self.origin, Origin::Client(_)) && namespaces.len() > 1;
        let (sources, scopes) = if several {
            let namespaces = namespaces.iter().copied();
            (
                self.sources(namespaces.clone().map(Some)),
                Scopes::of_namespaces(namespaces),
            )
        } else {
            // A custom source decides what it lists.
            (self.sources([namespaces.first().copied()]), Scopes::one())
        };
        let mut mask = self.options.pruned;
        if !self.options.keep_managed_fields {
            mask = mask.union(&FieldMask::managed_fields());
        }
        if self.options.cache_format == CacheFormat::Packed {
            mask = mask.union(&unwanted::<K>(&self.kind));
        }
        let measures = Arc::new(Measurements::new(sources.len()));
        let seed = Seed::new(self.options.settings.seed);
        let store = Arc::new(Store::new(resource.clone(), seed));
        let mut writer = Writer::new(Arc::clone(&store), seed, scopes);
        for add in self.indexes.into_values() {
            // The names differ, and an empty store has no object for which a function could fail.
            let _added = add(&mut writer);
        }
        let _no_errors = writer.publish();
        let _empty = writer.take_retired();
        SharedInformer {
            shared: Arc::new(InformerShared {
                sources,
                settings: self.options.settings,
                checking: self.options.checking,
                limits: self.options.limits,
                check: tokio::sync::Mutex::new(()),
                writer: Arc::new(Mutex::new(writer)),
                processor: Processor::new(Arc::clone(&store), self.options.resync),
                queue_depth: OnceLock::new(),
                context: Arc::new(ReflectorContext::new(
                    Arc::clone(&store),
                    seed,
                    mask,
                    (self.options.cache_format == CacheFormat::Packed)
                        .then(|| PackingContext::new(resource.clone(), self.hooks.transform.clone())),
                    self.hooks,
                    measures,
                )),
                store,
                resource,
                state: Mutex::new(InformerState::New),
                synced: CancellationToken::new(),
                stop: CancellationToken::new(),
                stopped: CancellationToken::new(),
            }),
        }
    }

    /// Creates a source for each namespace, or one for all of them.
    fn sources<'a>(&self, namespaces: impl IntoIterator<Item = Option<&'a str>>) -> Vec<Source<K>> {
        let is_requested = matches!(self.origin, Origin::Client(_));
        let named = |namespace: Option<&str>, list_watch| Source {
            list_watch,
            resource: WatchedResource::of::<K>(&self.kind, namespace),
            namespace: namespace.filter(|_| is_requested).map(Into::into),
            start_over: Arc::new(Notify::new()),
        };
        let namespaces = namespaces.into_iter();
        match &self.origin {
            Origin::Custom(source) => namespaces.map(|at| named(at, Arc::clone(source))).collect(),
            Origin::Client(client) => {
                // Preparing the type for the wire format is slow, and the result is the same in all namespaces.
                let api = ApiListWatch::<K>::new(client.clone(), &self.kind, None)
                    .wire_format(self.options.wire_format)
                    .max_object_bytes(self.options.limits.object)
                    .max_list_bytes(self.options.limits.list)
                    .with_parameters(self.options.parameters.clone())
                    .with_tweak(self.options.tweak.clone());
                namespaces
                    .map(|at| {
                        named(
                            at,
                            Arc::new(api.in_namespace(&self.kind, at)) as Arc<dyn ListWatch<K>>,
                        )
                    })
                    .collect()
            }
        }
    }
}

/// Returns the fields that a type never reads. Packed objects need not keep them.
fn unwanted<K: Kind>(kind: &K::DynamicType) -> FieldMask {
    let schema = Schema::of(&K::api_version(kind), &K::kind(kind));
    schema.map_or_else(FieldMask::none, |schema| schema.unused_fields::<K>())
}

impl<K: Kind> fmt::Debug for InformerBuilder<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InformerBuilder")
            .field("kind", &K::kind(&self.kind))
            .field("namespaces", &self.options.namespaces)
            .field("parameters", &self.options.parameters)
            .field("resync", &self.options.resync)
            .finish_non_exhaustive()
    }
}
