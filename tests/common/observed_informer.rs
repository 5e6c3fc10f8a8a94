//! An informer of ConfigMaps whose requests and errors are recorded.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use conformance::TestServer;
use conformance::chaos::Proxy;
use futures::{FutureExt, StreamExt};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, ListParams};
use kube::{Client, ResourceExt};
use kube_informer::{Error, Event, EventStream, HandlerOptions, InformerBuilder, Selector, SharedInformer};
use tokio::sync::mpsc;
use tokio::time::timeout;

use crate::config_maps::{self, config_map};
use crate::informers::{SHORT_BACKOFF, with_requested_formats};
use crate::tap::Tap;

/// An informer of ConfigMaps that is not started yet.
pub(crate) struct ObservedInformer {
    pub(crate) informer: SharedInformer<ConfigMap>,
    pub(crate) api: Api<ConfigMap>,
    pub(crate) tap: Arc<Tap>,
    /// Timeout of every step.
    pub(crate) patience: Duration,
    errors: mpsc::UnboundedReceiver<Error>,
    markers: AtomicU32,
}

pub(crate) type ConfigMapInformerBuilder = InformerBuilder<ConfigMap>;

impl ObservedInformer {
    /// Creates an informer on a server, in real time.
    pub(crate) fn on(
        server: &TestServer,
        choose: impl FnOnce(ConfigMapInformerBuilder) -> ConfigMapInformerBuilder,
    ) -> ObservedInformer {
        ObservedInformer::with_client(server, &server.client, choose)
    }

    /// Like [`ObservedInformer::on`], with a separate client for the informer.
    pub(crate) fn with_client(
        server: &TestServer,
        client: &Client,
        choose: impl FnOnce(ConfigMapInformerBuilder) -> ConfigMapInformerBuilder,
    ) -> ObservedInformer {
        let choose = |informer: ConfigMapInformerBuilder| choose(informer.backoff(SHORT_BACKOFF));
        let observed = ObservedInformer::new(client, &server.namespace, Duration::from_secs(90), choose);
        ObservedInformer {
            api: Api::namespaced(server.client.clone(), &server.namespace),
            ..observed
        }
    }

    /// Like [`ObservedInformer::on`], with a proxy between the informer and the server.
    pub(crate) async fn behind_proxy(
        server: &TestServer,
        choose: impl FnOnce(ConfigMapInformerBuilder) -> ConfigMapInformerBuilder,
    ) -> (Proxy, ObservedInformer) {
        let mut config = server.config().await;
        config.default_retry = false;
        // The informer has its own timeout for stalled watches.
        config.read_timeout = None;
        let proxy = Proxy::before(&mut config).await.expect("a proxy");
        let client = Client::try_from(config).expect("a client");
        (proxy, ObservedInformer::with_client(server, &client, choose))
    }

    pub(crate) fn new(
        client: &Client,
        namespace: &str,
        patience: Duration,
        choose: impl FnOnce(ConfigMapInformerBuilder) -> ConfigMapInformerBuilder,
    ) -> ObservedInformer {
        let (tapped, tap) = Tap::on(client.clone());
        let (sender, errors) = mpsc::unbounded_channel();
        let builder = with_requested_formats(SharedInformer::<ConfigMap>::builder(tapped))
            .namespace(namespace)
            .seed(1)
            .watch_error_handler(move |error| drop(sender.send(error.clone())));
        let informer = choose(builder).build();
        ObservedInformer {
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

    /// Returns the next error that the informer reports.
    pub(crate) async fn error(&mut self) -> Error {
        match timeout(self.patience, self.errors.recv()).await {
            Ok(Some(error)) => error,
            _ => panic!("no error was reported; requests: {:?}", self.tap.words()),
        }
    }

    /// Returns the next error that matches, and skips others.
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
        found.await.expect("a matching error")
    }

    /// Returns the errors that were reported and not read yet.
    pub(crate) fn errors(&mut self) -> Vec<String> {
        std::iter::from_fn(|| self.errors.try_recv().ok())
            .map(|error| error.to_string())
            .collect()
    }

    /// Waits until the informer has sent this many lists and watches.
    pub(crate) async fn requests(&self, count: usize) {
        self.tap.wait_for(count, self.patience).await;
    }

    /// Creates an object and returns its version.
    pub(crate) async fn create(&self, name: &str) -> u64 {
        version(&config_maps::create(&self.api, &config_map(name, "1")).await)
    }

    /// Creates an object, or changes it if another informer of this namespace has created it.
    async fn put(&self, name: &str) -> u64 {
        match self.api.get_opt(name).await.expect("an answer") {
            Some(there) => self.change(name, &format!("after {}", version(&there))).await,
            None => self.create(name).await,
        }
    }

    /// Changes an object and returns its version.
    pub(crate) async fn change(&self, name: &str, value: &str) -> u64 {
        version(&config_maps::change(&self.api, name, value).await)
    }

    pub(crate) async fn delete(&self, name: &str) {
        config_maps::delete(&self.api, name).await;
    }

    /// Waits until the cache is at least at a version.
    pub(crate) async fn reach(&self, version: u64) {
        let reached = self.informer.wait_for_version(version, self.patience).await;
        reached.unwrap_or_else(|error| panic!("{error}; requests: {:?}", self.tap.words()));
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

    /// Returns names and versions in the cache.
    pub(crate) fn cached(&self) -> BTreeSet<String> {
        let objects = self.informer.lister().list(&Selector::everything());
        objects.iter().map(|object| name_and_version(object)).collect()
    }

    /// Returns the informer's events as words: `+a`, `~a`, `-a`, and `-a?` if the final state is unknown.
    pub(crate) fn events(&self) -> ObservedEvents {
        self.events_with(HandlerOptions::new())
    }

    pub(crate) fn events_with(&self, options: HandlerOptions) -> ObservedEvents {
        ObservedEvents {
            events: self.informer.events_with(options).expect("an informer that runs"),
            patience: self.patience,
        }
    }
}

/// A stream of events as words.
pub(crate) struct ObservedEvents {
    pub(crate) events: EventStream<ConfigMap>,
    patience: Duration,
}

impl ObservedEvents {
    pub(crate) async fn event(&mut self) -> Event<ConfigMap> {
        match timeout(self.patience, self.events.next()).await {
            Ok(Some(event)) => event,
            other => panic!("no event, but {other:?}"),
        }
    }

    pub(crate) async fn next(&mut self) -> String {
        word(&self.event().await)
    }

    /// Asserts that no event is ready. Reading the next event marks the earlier ones as handled.
    pub(crate) fn nothing(&mut self) {
        let next = self.events.next().now_or_never();
        assert!(next.is_none(), "{next:?}");
    }

    /// Returns the next events, sorted.
    pub(crate) async fn sorted(&mut self, count: usize) -> Vec<String> {
        let mut words = Vec::new();
        for _ in 0..count {
            words.push(self.next().await);
        }
        words.sort();
        words
    }

    /// Returns all events until the one with this name.
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
