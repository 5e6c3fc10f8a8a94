//! Making an informer.

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
use super::lifecycle::Lifecycle;
use super::{CheckSettings, Shared, SharedInformer, Source};
use crate::error::Error;
use crate::measures::Measurements;
use crate::object::format::{CacheFormat, PackingContext};
use crate::object::{Kind, WatchedResource, is_cluster_scoped};
use crate::pipeline::processor::Processor;
use crate::pipeline::reflector::Backoff;
use crate::pipeline::reflector::machine::{PageSize, Settings};
use crate::pipeline::store::{IndexValue, Scopes, Seed, Store, Writer};
use crate::pipeline::wire::{
    ApiListWatch, Limits, ListWatch, Parameters, Tweak, WireFormat, check_parameter,
};

/// Everything that can be chosen about an informer. Made by [`SharedInformer::builder`].
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
    from: From<K>,
    kind: K::DynamicType,
    namespaces: Vec<String>,
    cluster_scoped: bool,
    parameters: Parameters,
    tweak: Option<Tweak>,
    resync: Duration,
    settings: Settings,
    checking: CheckSettings,
    limits: Limits,
    hooks: Hooks<K>,
    keep_managed_fields: bool,
    pruned: FieldMask,
    cache_format: CacheFormat,
    wire_format: WireFormat,
    indexes: BTreeMap<String, NewIndex<K>>,
}

/// Adds an index to a store that is still empty.
type NewIndex<K> = Box<dyn FnOnce(&mut Writer<K>) -> Result<(), Error> + Send>;

/// Where objects come from.
enum From<K> {
    Client(Client),
    Own(Arc<dyn ListWatch<K>>),
}

impl<K: Kind> SharedInformer<K> {
    /// An informer of a kind that its type names.
    #[doc(alias("NewPodInformer", "NewInformerWithOptions"))]
    #[must_use]
    pub fn builder(client: Client) -> InformerBuilder<K>
    where
        K::DynamicType: Default,
    {
        Self::builder_with(client, K::DynamicType::default())
    }

    /// An informer of a kind that is known only at run time: an `ApiResource` for `DynamicObject`.
    pub fn builder_with(client: Client, kind: K::DynamicType) -> InformerBuilder<K> {
        InformerBuilder::new(From::Client(client), kind)
    }

    /// An informer that lists and watches something else than an API server. Selectors and other parameters of requests
    /// are the source's own business, and a namespace is only what the informer is called by.
    pub fn builder_from(source: impl ListWatch<K>, kind: K::DynamicType) -> InformerBuilder<K> {
        InformerBuilder::new(From::Own(Arc::new(source)), kind)
    }
}

impl<K: Kind> InformerBuilder<K> {
    fn new(from: From<K>, kind: K::DynamicType) -> InformerBuilder<K> {
        InformerBuilder {
            from,
            kind,
            namespaces: Vec::new(),
            cluster_scoped: is_cluster_scoped::<K>(),
            parameters: Parameters::default(),
            tweak: None,
            resync: Duration::ZERO,
            settings: Settings::default(),
            checking: CheckSettings::default(),
            limits: Limits::default(),
            hooks: Hooks::default(),
            keep_managed_fields: false,
            pruned: FieldMask::none(),
            cache_format: CacheFormat::Decoded,
            wire_format: WireFormat::default(),
            indexes: BTreeMap::new(),
        }
    }

    /// Only the objects of one namespace. The empty one means all, as everywhere in Kubernetes, and kinds whose objects
    /// are in no namespace are not limited by any.
    #[must_use]
    pub fn namespace(self, namespace: impl Into<String>) -> Self {
        self.namespaces([namespace])
    }

    /// Only the objects of these namespaces, each with a list and watch of its own and all in one cache. None of them
    /// means all, and so does the empty one.
    ///
    /// Nothing is seen before every namespace was listed. Each then moves on by itself: the version of the cache is that
    /// of the namespace furthest behind, and [`SharedInformer::wait_for_write`] asks the object's namespace.
    #[must_use]
    pub fn namespaces<N: Into<String>>(mut self, namespaces: impl IntoIterator<Item = N>) -> Self {
        let mut namespaces: Vec<String> = namespaces.into_iter().map(Into::into).collect();
        namespaces.sort();
        namespaces.dedup();
        if namespaces.iter().any(String::is_empty) {
            namespaces.clear();
        }
        self.namespaces = namespaces;
        self
    }

    /// Says that objects of this kind are in no namespace, where the type does not say it: then a namespace does not
    /// limit them.
    #[must_use]
    pub fn cluster_scoped(mut self) -> Self {
        self.cluster_scoped = true;
        self
    }

    /// Only the objects whose labels fit, as the server sees them.
    #[must_use]
    pub fn labels(mut self, selector: impl fmt::Display) -> Self {
        self.parameters.labels(selector);
        self
    }

    /// Only the objects whose fields fit, as in `spec.nodeName=node-1`.
    #[must_use]
    pub fn fields(mut self, selector: impl Into<String>) -> Self {
        self.parameters.fields(selector);
        self
    }

    /// Sets any other parameter of list and watch requests. Of several with one name the last counts. `labelSelector` and
    /// `fieldSelector` are what [`labels`](Self::labels) and [`fields`](Self::fields) set.
    ///
    /// # Errors
    /// If the parameter is one that informers set themselves. For `limit` use [`page_size`](Self::page_size), for
    /// `timeoutSeconds` [`watch_timeout`](Self::watch_timeout), for `sendInitialEvents`
    /// [`streaming_list`](Self::streaming_list); `resourceVersion`, `resourceVersionMatch`, `continue`, `watch` and
    /// `allowWatchBookmarks` cannot be chosen.
    pub fn parameter(mut self, name: impl Into<String>, value: impl Into<String>) -> Result<Self, Error> {
        let name = name.into();
        check_parameter(&name)?;
        self.parameters.set(name, value);
        Ok(self)
    }

    /// Calls a function before every list and watch request, which may change the parameters of that request.
    ///
    /// The informer does not notice that a function returns other selectors than before: it relists only when it would have
    /// relisted anyway, and until then the cache and a new watch may select different objects. Use this for parameters
    /// that do not change which objects are selected, or that change before the start only.
    ///
    /// A request whose parameters include one that informers set themselves fails; see [`parameter`](Self::parameter). A
    /// function that panics is reported as a failed request.
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
        self.tweak = Some(Arc::new(tweak));
        self
    }

    /// Sets what was chosen for all informers of a factory.
    pub(crate) fn requests(mut self, parameters: &Parameters, tweak: Option<Tweak>) -> Self {
        self.parameters = parameters.clone();
        self.tweak = tweak;
        self
    }

    /// How often everything is repeated to handlers that ask for no period of their own. Without this, or with zero,
    /// there are no resyncs at all. A resync asks the server nothing.
    #[must_use]
    pub fn resync(mut self, period: Duration) -> Self {
        self.resync = period;
        self
    }

    /// Sets how many objects the server sends in one page of a list. The default is 500, or all objects if the server reads
    /// them from its watch cache anyway; zero means the default.
    #[doc(alias = "WatchListPageSize")]
    #[must_use]
    pub fn page_size(mut self, objects: u32) -> Self {
        self.settings.page_size = PageSize::objects(objects);
        self
    }

    /// Requests every list as a whole instead of in pages. The last call of this and [`page_size`](Self::page_size) counts.
    ///
    /// A list without pages is one snapshot on the server, but takes more memory there and a longer request.
    #[doc(alias = "DisableChunking")]
    #[must_use]
    pub fn unpaged_lists(mut self) -> Self {
        self.settings.page_size = PageSize::Unlimited;
        self
    }

    /// Whether to ask for the objects as a stream at all. As it is, a stream is tried first, and a server that cannot do
    /// it is asked for a list.
    #[doc(alias("WatchListClient", "sendInitialEvents"))]
    #[must_use]
    pub fn streaming_list(mut self, streaming: bool) -> Self {
        self.settings.streaming = streaming;
        self
    }

    /// For how long a watch is asked for: a random time between this and twice as much. Less than five minutes counts as
    /// five.
    #[must_use]
    pub fn watch_timeout(mut self, least: Duration) -> Self {
        self.settings.watch_timeout(least);
        self
    }

    /// What a factory has chosen of this. What is left to chance stays this informer's own.
    pub(crate) fn settings(mut self, settings: &Settings) -> Self {
        self.settings = Settings {
            seed: self.settings.seed,
            ..settings.clone()
        };
        self
    }

    /// How long to wait after failures.
    #[must_use]
    pub fn backoff(mut self, backoff: Backoff) -> Self {
        self.settings.backoff = backoff;
        self
    }

    /// The largest object in bytes, as they are sent: a larger one is of a broken or hostile server, and the list or watch
    /// with it fails before it is read. Without this, 64 MiB.
    #[must_use]
    pub fn max_object_bytes(mut self, bytes: usize) -> Self {
        self.limits.object = bytes;
        self
    }

    /// The largest list in bytes as they are sent, all pages together. A list is collected before it is used, so a server
    /// that never ends it fills the memory up to here; set it where servers are not trusted. Without this, 16 GiB.
    #[must_use]
    pub fn max_list_bytes(mut self, bytes: u64) -> Self {
        self.limits.list = bytes;
        self
    }

    /// What a factory has chosen of this.
    pub(crate) fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Compares the cache with the server from time to time, see [`SharedInformer::check_consistency`]. A difference is told
    /// to the watch-error handler ([`Error::is_inconsistent`]) once a second check has found one, too, and counted in
    /// [`Status::inconsistencies`](crate::status::Status::inconsistencies).
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
    /// Each check costs the server a list of the metadata of all objects. The time between two is this and up to a quarter
    /// more, so that informers that began together do not ask together; less than a minute counts as a minute, and zero
    /// means never. A check that cannot be made, as when the server has forgotten the version, is counted
    /// ([`Status::unchecked`](crate::status::Status::unchecked)) and not told again and again.
    #[must_use]
    pub fn check_consistency(mut self, every: Duration) -> Self {
        self.checking.every(every);
        self
    }

    /// Lists everything anew when [`InformerBuilder::check_consistency`] has found a difference. Handlers hear of what that
    /// changes.
    #[must_use]
    pub fn relist_if_inconsistent(mut self) -> Self {
        self.checking.relist = true;
        self
    }

    /// What a factory has chosen of this.
    pub(crate) fn checking(mut self, checking: CheckSettings) -> Self {
        self.checking = checking;
        self
    }

    /// Keeps `metadata.managedFields`, which few programs read and which take much memory. As it is they are dropped;
    /// an update that leaves them out does not change them on the server.
    #[must_use]
    pub fn keep_managed_fields(mut self) -> Self {
        self.keep_managed_fields = true;
        self
    }

    /// Leaves out more fields while objects are read: they are neither decoded nor kept.
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
    /// Objects with fields left out are for looking at: whoever sends one back to the server as an update removes there
    /// what was left out here. A source of your own that gives decoded objects leaves out itself what is not wanted.
    #[must_use]
    pub fn prune(mut self, fields: &FieldMask) -> Self {
        self.pruned = self.pruned.union(fields);
        self
    }

    /// What the cache keeps of each object: the object, or its bytes.
    #[must_use]
    pub fn cache_format(mut self, format: CacheFormat) -> Self {
        self.cache_format = format;
        self
    }

    /// In which format to ask the server for objects.
    #[must_use]
    pub fn wire_format(mut self, format: WireFormat) -> Self {
        self.wire_format = format;
        self
    }

    /// Changes every object before it comes into the cache, once; see [`SharedInformer::set_transform`].
    #[must_use]
    pub fn transform(self, transform: impl Fn(&mut K) + Send + Sync + 'static) -> Self {
        self.try_transform(move |object| {
            transform(object);
            Ok::<_, std::convert::Infallible>(())
        })
    }

    /// A transform that may fail; see [`SharedInformer::set_try_transform`].
    #[must_use]
    pub fn try_transform<E: fmt::Display>(
        mut self,
        transform: impl Fn(&mut K) -> Result<(), E> + Send + Sync + 'static,
    ) -> Self {
        self.hooks.set_transform(transform);
        self
    }

    /// Who is told of errors in place of the log; see [`SharedInformer::set_watch_error_handler`].
    #[must_use]
    pub fn watch_error_handler(mut self, handler: impl Fn(&Error) + Send + Sync + 'static) -> Self {
        self.hooks.error_handler = Some(Arc::new(handler));
        self
    }

    /// Adds an index from the beginning; [`SharedInformer::find_index`] gives the handle. Of several with one name the last
    /// counts. See [`SharedInformer::index`], which adds one at any time.
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

    /// Makes everything that is left to chance, as jitter, the same in each run.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.settings.seed = seed;
        self
    }

    /// The informer, which does nothing until it is started.
    pub fn build(self) -> SharedInformer<K> {
        let namespaces: Vec<&str> = if self.cluster_scoped {
            Vec::new()
        } else {
            self.namespaces.iter().map(String::as_str).collect()
        };
        let resource = WatchedResource::of::<K>(&self.kind, namespaces.iter().copied());
        let several = matches!(self.from, From::Client(_)) && namespaces.len() > 1;
        let (sources, scopes) = if several {
            let namespaces = namespaces.iter().copied();
            (
                self.sources(namespaces.clone().map(Some)),
                Scopes::of_namespaces(namespaces),
            )
        } else {
            // A source of the user's own knows itself what it lists.
            (self.sources([namespaces.first().copied()]), Scopes::one())
        };
        let mut mask = self.pruned;
        if !self.keep_managed_fields {
            mask = mask.union(&FieldMask::managed_fields());
        }
        if self.cache_format == CacheFormat::Packed {
            mask = mask.union(&unwanted::<K>(&self.kind));
        }
        let measures = Arc::new(Measurements::new(sources.len()));
        let seed = Seed::new(self.settings.seed);
        let store = Arc::new(Store::new(resource.clone(), seed));
        let mut writer = Writer::new(Arc::clone(&store), seed, scopes);
        for add in self.indexes.into_values() {
            // Their names differ, and an index of nothing has no function that could fail.
            let _added = add(&mut writer);
        }
        let _no_errors = writer.publish();
        writer.free_retired();
        SharedInformer {
            shared: Arc::new(Shared {
                sources,
                settings: self.settings,
                checking: self.checking,
                limits: self.limits,
                check: tokio::sync::Mutex::new(()),
                writer: Arc::new(Mutex::new(writer)),
                processor: Processor::new(Arc::clone(&store), self.resync),
                queue_depth: OnceLock::new(),
                context: Arc::new(ReflectorContext::new(
                    Arc::clone(&store),
                    seed,
                    mask,
                    (self.cache_format == CacheFormat::Packed).then(|| PackingContext::new(resource.clone())),
                    self.hooks,
                    measures,
                )),
                store,
                resource,
                lifecycle: Mutex::new(Lifecycle::new()),
                synced: CancellationToken::new(),
                stop: CancellationToken::new(),
                stopped: CancellationToken::new(),
            }),
        }
    }

    /// One for each of these: a namespace, or everything.
    fn sources<'a>(&self, namespaces: impl IntoIterator<Item = Option<&'a str>>) -> Vec<Source<K>> {
        let is_requested = matches!(self.from, From::Client(_));
        let named = |namespace: Option<&str>, list_watch| Source {
            list_watch,
            resource: WatchedResource::of::<K>(&self.kind, namespace),
            namespace: namespace.filter(|_| is_requested).map(Into::into),
            start_over: Arc::new(Notify::new()),
        };
        let namespaces = namespaces.into_iter();
        match &self.from {
            From::Own(source) => namespaces.map(|at| named(at, Arc::clone(source))).collect(),
            From::Client(client) => {
                // To find out what a type wants of the wire takes a while, and is the same in all namespaces.
                let api = ApiListWatch::<K>::new(client.clone(), &self.kind, None)
                    .wire_format(self.wire_format)
                    .max_object_bytes(self.limits.object)
                    .max_list_bytes(self.limits.list)
                    .with_parameters(self.parameters.clone())
                    .with_tweak(self.tweak.clone());
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

/// The fields that a type never asks for: of packed objects they need not be kept.
fn unwanted<K: Kind>(kind: &K::DynamicType) -> FieldMask {
    let schema = Schema::of(&K::api_version(kind), &K::kind(kind));
    schema.map_or_else(FieldMask::none, |schema| schema.unused_fields::<K>())
}

impl<K: Kind> fmt::Debug for InformerBuilder<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InformerBuilder")
            .field("kind", &K::kind(&self.kind))
            .field("namespaces", &self.namespaces)
            .field("parameters", &self.parameters)
            .field("resync", &self.resync)
            .finish_non_exhaustive()
    }
}
