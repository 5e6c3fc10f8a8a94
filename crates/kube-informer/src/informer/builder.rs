//! Making an informer.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use kube::Client;
use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;

use super::intake::{Hooks, Intake};
use super::lifecycle::Lifecycle;
use super::{Shared, SharedInformer};
use crate::delta_fifo::DeltaFifo;
use crate::error::Error;
use crate::kind::{Kind, ResourceName};
use crate::processor::Processor;
use crate::reflector::Backoff;
use crate::reflector::machine::Settings;
use crate::store::{Seed, Store, Writer};
use crate::wire::{ApiListWatch, ListWatch};

/// Everything that can be chosen about an informer. Made by [`SharedInformer::builder`].
pub struct InformerBuilder<K: Kind> {
    source: Source<K>,
    kind: K::DynamicType,
    namespace: Option<String>,
    parameters: Vec<(String, String)>,
    resync: Duration,
    settings: Settings,
    hooks: Hooks<K>,
    keep_managed_fields: bool,
}

enum Source<K> {
    Client(Client),
    Own(Arc<dyn ListWatch<K>>),
}

impl<K: Kind> SharedInformer<K> {
    /// An informer of a kind that its type names.
    #[must_use]
    pub fn builder(client: Client) -> InformerBuilder<K>
    where
        K::DynamicType: Default,
    {
        Self::builder_with(client, K::DynamicType::default())
    }

    /// An informer of a kind that is known only at run time: an `ApiResource` for `DynamicObject`.
    pub fn builder_with(client: Client, kind: K::DynamicType) -> InformerBuilder<K> {
        InformerBuilder::new(Source::Client(client), kind)
    }

    /// An informer that lists and watches something else than an API server. Selectors and other parameters of requests
    /// are the source's own business, and a namespace is only what the informer is called by.
    pub fn builder_from(source: impl ListWatch<K>, kind: K::DynamicType) -> InformerBuilder<K> {
        InformerBuilder::new(Source::Own(Arc::new(source)), kind)
    }
}

impl<K: Kind> InformerBuilder<K> {
    fn new(source: Source<K>, kind: K::DynamicType) -> InformerBuilder<K> {
        InformerBuilder {
            source,
            kind,
            namespace: None,
            parameters: Vec::new(),
            resync: Duration::ZERO,
            settings: Settings::default(),
            hooks: Hooks::default(),
            keep_managed_fields: false,
        }
    }

    /// Only the objects of one namespace.
    #[must_use]
    pub fn namespace(mut self, namespace: impl Into<String>) -> Self {
        self.namespace = Some(namespace.into());
        self
    }

    /// Only the objects whose labels fit, as the server sees them.
    #[must_use]
    pub fn labels(self, selector: impl fmt::Display) -> Self {
        self.parameter("labelSelector", selector.to_string())
    }

    /// Only the objects whose fields fit, as in `spec.nodeName=node-1`.
    #[must_use]
    pub fn fields(self, selector: impl Into<String>) -> Self {
        self.parameter("fieldSelector", selector)
    }

    /// Any other parameter of list and watch requests.
    #[must_use]
    pub fn parameter(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.parameters.push((name.into(), value.into()));
        self
    }

    /// How often everything is repeated to handlers that ask for no period of their own. Without this, or with zero,
    /// there are no resyncs at all. A resync asks the server nothing.
    #[must_use]
    pub fn resync(mut self, period: Duration) -> Self {
        self.resync = period;
        self
    }

    /// How many objects the server sends at a time. Without this, 500, or all at once where they come from the server's
    /// memory anyway.
    #[must_use]
    pub fn page_size(mut self, objects: u32) -> Self {
        self.settings.page_size = (objects > 0).then_some(objects);
        self
    }

    /// Whether to ask for the objects as a stream at all. As it is, a stream is tried first, and a server that cannot do
    /// it is asked for a list.
    #[must_use]
    pub fn streaming_list(mut self, streaming: bool) -> Self {
        self.settings.streaming = streaming;
        self
    }

    /// For how long a watch is asked for: a random time between this and twice as much. Less than five minutes counts as
    /// five.
    #[must_use]
    pub fn watch_timeout(mut self, least: Duration) -> Self {
        self.settings.watch_timeout = least.max(Duration::from_mins(5));
        self
    }

    /// How long to wait after failures.
    #[must_use]
    pub fn backoff(mut self, backoff: Backoff) -> Self {
        self.settings.backoff = backoff;
        self
    }

    /// Keeps `metadata.managedFields`, which few programs read and which take much memory. As it is they are dropped;
    /// an update that leaves them out does not change them on the server.
    #[must_use]
    pub fn keep_managed_fields(mut self) -> Self {
        self.keep_managed_fields = true;
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

    /// Makes everything that is left to chance, as jitter, the same in each run.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.settings.seed = seed;
        self
    }

    /// The informer, which does nothing until it is started.
    pub fn build(self) -> SharedInformer<K> {
        let resource = ResourceName::of::<K>(&self.kind, self.namespace.as_deref());
        let source = match self.source {
            Source::Own(source) => source,
            Source::Client(client) => {
                let api = ApiListWatch::<K>::new(client, &self.kind, self.namespace.as_deref());
                Arc::new(api.parameters(self.parameters))
            }
        };
        let seed = Seed::new(self.settings.seed);
        let store = Arc::new(Store::new(resource.clone(), seed));
        SharedInformer {
            shared: Arc::new(Shared {
                source,
                settings: self.settings,
                writer: Arc::new(Mutex::new(Writer::new(Arc::clone(&store), seed))),
                processor: Processor::new(Arc::clone(&store), self.resync),
                queue: Arc::new(DeltaFifo::new()),
                intake: Arc::new(Intake::new(
                    Arc::clone(&store),
                    seed,
                    self.keep_managed_fields,
                    self.hooks,
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
}

impl<K: Kind> fmt::Debug for InformerBuilder<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InformerBuilder")
            .field("kind", &K::kind(&self.kind))
            .field("namespace", &self.namespace)
            .field("parameters", &self.parameters)
            .field("resync", &self.resync)
            .finish_non_exhaustive()
    }
}
