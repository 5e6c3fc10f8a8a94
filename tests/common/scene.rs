//! An informer of config maps, what it complains of, and what it asks the server for.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use conformance::TestServer;
use conformance::chaos::Proxy;
use futures::{FutureExt, StreamExt};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, DeleteParams, ListParams, ObjectMeta, Patch, PatchParams, PostParams};
use kube::{Client, ResourceExt};
use kube_informer::{
    Backoff, Error, Event, EventStream, HandlerOptions, InformerBuilder, Selector, SharedInformer,
};
use tokio::sync::mpsc;
use tokio::time::timeout;

use crate::informers::as_asked;
use crate::tap::Tap;

/// Waits that are over at once, for tests on a clock that cannot be paused.
pub(crate) const QUICK: Backoff = Backoff {
    initial: Duration::from_millis(1),
    factor: 1.0,
    cap: Duration::from_millis(1),
    jitter: 0.0,
    reset: Duration::from_mins(2),
};

/// An informer of config maps that is not started yet.
pub(crate) struct Scene {
    pub(crate) informer: SharedInformer<ConfigMap>,
    pub(crate) api: Api<ConfigMap>,
    pub(crate) tap: Arc<Tap>,
    /// How long anything may take before the test has failed.
    pub(crate) patience: Duration,
    errors: mpsc::UnboundedReceiver<Error>,
    markers: AtomicU32,
}

type Builder = InformerBuilder<ConfigMap>;

impl Scene {
    /// On the server that the environment asks for, in real time.
    pub(crate) fn live(server: &TestServer, choose: impl FnOnce(Builder) -> Builder) -> Scene {
        Scene::through(server, &server.client, choose)
    }

    /// The same, with a client for the informer alone.
    pub(crate) fn through(
        server: &TestServer,
        client: &Client,
        choose: impl FnOnce(Builder) -> Builder,
    ) -> Scene {
        let choose = |informer: Builder| choose(informer.backoff(QUICK));
        let scene = Scene::new(client, &server.namespace, Duration::from_secs(90), choose);
        Scene {
            api: Api::namespaced(server.client.clone(), &server.namespace),
            ..scene
        }
    }

    /// The same, with a proxy between the informer and the server.
    pub(crate) async fn proxied(
        server: &TestServer,
        choose: impl FnOnce(Builder) -> Builder,
    ) -> (Proxy, Scene) {
        let mut config = server.config().await;
        config.default_retry = false;
        // The informer has its own measure of silence.
        config.read_timeout = None;
        let proxy = Proxy::before(&mut config).await.expect("a proxy");
        let client = Client::try_from(config).expect("a client");
        (proxy, Scene::through(server, &client, choose))
    }

    pub(crate) fn new(
        client: &Client,
        namespace: &str,
        patience: Duration,
        choose: impl FnOnce(Builder) -> Builder,
    ) -> Scene {
        let (tapped, tap) = Tap::on(client.clone());
        let builder = as_asked(SharedInformer::<ConfigMap>::builder(tapped))
            .namespace(namespace)
            .seed(1);
        let informer = choose(builder).build();
        let (tell, errors) = mpsc::unbounded_channel();
        informer
            .set_watch_error_handler(move |error| drop(tell.send(error.clone())))
            .expect("an informer that is not started");
        Scene {
            informer,
            api: Api::namespaced(client.clone(), namespace),
            tap,
            patience,
            errors,
            markers: AtomicU32::new(0),
        }
    }

    /// Starts the informer and waits for its first list.
    pub(crate) async fn start(&self) {
        self.informer.start().expect("a first start");
        self.synced().await;
    }

    pub(crate) async fn synced(&self) {
        let synced = self.informer.wait_for_sync(self.patience).await;
        synced.unwrap_or_else(|error| panic!("{error:#}"));
    }

    /// The next error that the informer tells.
    pub(crate) async fn error(&mut self) -> Error {
        match timeout(self.patience, self.errors.recv()).await {
            Ok(Some(error)) => error,
            _ => panic!("no error was told; {:?} were asked", self.tap.words()),
        }
    }

    /// The next error for which this holds; those before it are passed over.
    pub(crate) async fn error_that(&mut self, holds: impl Fn(&Error) -> bool) -> Error {
        let patience = self.patience;
        let found = timeout(patience, async {
            loop {
                let error = self.error().await;
                if holds(&error) {
                    return error;
                }
            }
        });
        found.await.expect("such an error, however many others there are")
    }

    /// The errors that were told and not taken yet.
    pub(crate) fn errors(&mut self) -> Vec<String> {
        std::iter::from_fn(|| self.errors.try_recv().ok())
            .map(|error| error.to_string())
            .collect()
    }

    /// Waits until so many lists and watches were asked for.
    pub(crate) async fn requests(&self, count: usize) {
        self.tap.wait_for(count, self.patience).await;
    }

    /// Creates an object and says at which version.
    pub(crate) async fn make(&self, name: &str) -> u64 {
        let made = self
            .api
            .create(&PostParams::default(), &config_map(name, "1"))
            .await;
        version(&made.unwrap_or_else(|error| panic!("{name} was not created: {error}")))
    }

    /// Creates an object, or changes what another scene in this namespace has left of that name.
    async fn put(&self, name: &str) -> u64 {
        match self.api.get_opt(name).await.expect("an answer") {
            Some(there) => self.change(name, &format!("after {}", version(&there))).await,
            None => self.make(name).await,
        }
    }

    pub(crate) async fn change(&self, name: &str, value: &str) -> u64 {
        let patch = Patch::Merge(config_map(name, value));
        let changed = self.api.patch(name, &PatchParams::default(), &patch).await;
        version(&changed.unwrap_or_else(|error| panic!("{name} was not changed: {error}")))
    }

    pub(crate) async fn delete(&self, name: &str) {
        let deleted = self.api.delete(name, &DeleteParams::default()).await;
        deleted.unwrap_or_else(|error| panic!("{name} was not deleted: {error}"));
    }

    /// Waits until the cache is at least at a version.
    pub(crate) async fn reach(&self, version: u64) {
        let reached = self.informer.wait_for_version(version, self.patience).await;
        reached.unwrap_or_else(|error| panic!("{error}; {:?} were asked", self.tap.words()));
    }

    /// Writes once more, waits for it, and compares the cache with the server.
    pub(crate) async fn catches_up(&self) {
        let marker = self.markers.fetch_add(1, Ordering::Relaxed);
        let written = self.put(&format!("marker-{marker}")).await;
        self.reach(written).await;
        self.equals_server().await;
    }

    pub(crate) async fn equals_server(&self) {
        let there = self.api.list(&ListParams::default()).await.expect("a list");
        let there: BTreeSet<_> = there.items.iter().map(name_and_version).collect();
        assert_eq!(self.cached(), there);
    }

    /// Names and versions in the cache.
    pub(crate) fn cached(&self) -> BTreeSet<String> {
        let objects = self.informer.lister().list(&Selector::everything());
        objects.iter().map(|object| name_and_version(object)).collect()
    }

    /// The informer's events as words: `+a`, `~a`, `-a`, `-a?` where the final state is unknown.
    pub(crate) fn events(&self) -> Told {
        self.events_with(HandlerOptions::new())
    }

    pub(crate) fn events_with(&self, options: HandlerOptions) -> Told {
        Told {
            events: self.informer.events_with(options).expect("an informer that runs"),
            patience: self.patience,
        }
    }
}

/// Events as words.
pub(crate) struct Told {
    pub(crate) events: EventStream<ConfigMap>,
    patience: Duration,
}

impl Told {
    pub(crate) async fn event(&mut self) -> Event<ConfigMap> {
        match timeout(self.patience, self.events.next()).await {
            Ok(Some(event)) => event,
            other => panic!("no event, but {other:?}"),
        }
    }

    pub(crate) async fn next(&mut self) -> String {
        word(&self.event().await)
    }

    /// Says that there is nothing to tell now. Whoever asks for the next event has handled those before.
    pub(crate) fn nothing(&mut self) {
        let next = self.events.next().now_or_never();
        assert!(next.is_none(), "{next:?}");
    }

    /// So many events in any order.
    pub(crate) async fn sorted(&mut self, count: usize) -> Vec<String> {
        let mut words = Vec::new();
        for _ in 0..count {
            words.push(self.next().await);
        }
        words.sort();
        words
    }

    /// Everything until the event of this name.
    pub(crate) async fn until(&mut self, last: &str) -> Vec<String> {
        let mut words = Vec::new();
        while words.last().is_none_or(|word| word != last) {
            words.push(self.next().await);
        }
        words
    }
}

fn word(event: &Event<ConfigMap>) -> String {
    let name = event.key().name();
    match event {
        Event::Added { .. } => format!("+{name}"),
        Event::Updated { .. } => format!("~{name}"),
        Event::Deleted(gone) if gone.is_final_state_unknown() => format!("-{name}?"),
        Event::Deleted(_) => format!("-{name}"),
    }
}

fn name_and_version(object: &ConfigMap) -> String {
    format!("{}@{}", object.name_any(), version(object))
}

pub(crate) fn version(object: &ConfigMap) -> u64 {
    let version = object.resource_version().and_then(|version| version.parse().ok());
    version.expect("an object with a version")
}

pub(crate) fn config_map(name: &str, value: &str) -> ConfigMap {
    ConfigMap {
        metadata: ObjectMeta {
            name: Some(name.into()),
            ..ObjectMeta::default()
        },
        data: Some(BTreeMap::from([("v".into(), value.into())])),
        ..ConfigMap::default()
    }
}
