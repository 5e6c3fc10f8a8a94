//! What tests of informers begin with: ConfigMaps of one test's own, handlers whose words can be awaited, and a way to the
//! server that can be closed.

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use conformance::TestServer;
use futures::future::BoxFuture;
use futures::{FutureExt, StreamExt, stream};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, DeleteParams, ListParams, ObjectMeta, Patch, PatchParams, PostParams, VersionMatch};
use kube::{Client, Resource};
use kube_informer::{
    ApiListWatch, Backoff, CacheFormat, Error, Event, InformerBuilder, Key, Kind, ListRequest, ListStream,
    ListWatch, Object, ResourceVersion, SharedInformer, StatusError, WatchEvent, WatchRequest, WatchStream,
    WireFormat,
};
use serde_json::json;
use tokio::sync::{mpsc, watch};

/// Longer than anything here takes: what has not come by then never comes.
pub(crate) const PATIENCE: Duration = Duration::from_mins(1);

/// What all ConfigMaps of [`Maps`] are labelled with; servers put others into namespaces.
const OWN: &str = "kept-by=conformance";

/// No wait between attempts, for tests whose failures end by themselves.
pub(crate) const AT_ONCE: Backoff = Backoff {
    initial: Duration::ZERO,
    factor: 1.0,
    cap: Duration::ZERO,
    jitter: 0.0,
    reset: Duration::ZERO,
};

/// What `KUBE_INFORMER_TEST_FORM` asks for: caches keep objects, or with `packed` their bytes.
pub(crate) fn form() -> CacheFormat {
    match std::env::var("KUBE_INFORMER_TEST_FORM").as_deref() {
        Ok("packed") => CacheFormat::Packed,
        Ok("typed") | Err(_) => CacheFormat::Decoded,
        Ok(other) => panic!("KUBE_INFORMER_TEST_FORM is {other:?}; it can be typed or packed"),
    }
}

/// What `KUBE_INFORMER_TEST_WIRE` asks for: protobuf, or with `json` only that.
pub(crate) fn wire_format() -> WireFormat {
    match std::env::var("KUBE_INFORMER_TEST_WIRE").as_deref() {
        Ok("json") => WireFormat::Json,
        Ok("protobuf") | Err(_) => WireFormat::Protobuf,
        Ok(other) => panic!("KUBE_INFORMER_TEST_WIRE is {other:?}; it can be protobuf or json"),
    }
}

/// An informer in the form and with the format that this run asks for.
pub(crate) fn as_asked<K: Kind>(builder: InformerBuilder<K>) -> InformerBuilder<K> {
    builder.cache_format(form()).wire_format(wire_format())
}

/// Waits for what must come.
pub(crate) async fn soon<T>(what: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, what)
        .await
        .expect("something within a minute")
}

/// Starts an informer and waits until it has synced.
pub(crate) async fn started<K: Kind>(informer: &SharedInformer<K>) {
    informer.start().expect("a start");
    informer.wait_for_sync(PATIENCE).await.expect("a sync");
}

/// Stops an informer, which must come to its end.
pub(crate) async fn stopped<K: Kind>(informer: &SharedInformer<K>) {
    soon(informer.shutdown()).await;
}

/// Waits until a write is in the cache.
pub(crate) async fn caught_up<K: Kind>(informer: &SharedInformer<K>, version: impl Into<ResourceVersion>) {
    informer
        .wait_for_version(version, PATIENCE)
        .await
        .expect("the version of a write");
}

/// The version that a write returned.
pub(crate) fn version_of<K: Resource>(object: &K) -> ResourceVersion {
    let version = object.meta().resource_version.as_deref();
    ResourceVersion::from(version.expect("a server gives versions"))
}

/// What a ConfigMap of [`Maps`] holds.
pub(crate) fn value(map: &ConfigMap) -> &str {
    map.data
        .as_ref()
        .and_then(|data| data.get("value"))
        .map_or("", String::as_str)
}

/// The names of objects, sorted.
pub(crate) fn names<K: Resource>(objects: &[Object<K>]) -> Vec<String> {
    sorted(
        objects
            .iter()
            .map(|object| object.meta().name.clone().unwrap_or_default()),
    )
}

pub(crate) fn sorted(words: impl IntoIterator<Item = String>) -> Vec<String> {
    let mut words: Vec<String> = words.into_iter().collect();
    words.sort();
    words
}

/// The ConfigMaps of one test.
pub(crate) struct Maps {
    pub(crate) server: TestServer,
    pub(crate) api: Api<ConfigMap>,
}

impl Maps {
    pub(crate) fn on(server: TestServer) -> Maps {
        let api = Api::namespaced(server.client.clone(), &server.namespace);
        Maps { server, api }
    }

    /// Some of them, each with the value `1`.
    pub(crate) async fn holding<const N: usize>(names: [&str; N]) -> Maps {
        Maps::on(TestServer::start().await).with(names).await
    }

    pub(crate) async fn with<const N: usize>(self, names: [&str; N]) -> Maps {
        for name in names {
            self.create(name, "1").await;
        }
        self
    }

    /// Those of another namespace, on the same server.
    pub(crate) fn in_namespace(&self, namespace: &str) -> Maps {
        Maps::on(self.server.in_namespace(namespace))
    }

    pub(crate) fn builder(&self) -> InformerBuilder<ConfigMap> {
        self.builder_with(self.server.client.clone())
    }

    pub(crate) fn builder_with(&self, client: Client) -> InformerBuilder<ConfigMap> {
        as_asked(SharedInformer::builder(client))
            .namespace(&self.server.namespace)
            .labels(OWN)
    }

    pub(crate) fn informer(&self) -> SharedInformer<ConfigMap> {
        self.builder().build()
    }

    /// What an informer of them lists and watches, for tests that stand in between.
    pub(crate) fn source(&self) -> ApiListWatch<ConfigMap> {
        let namespace = Some(self.server.namespace.as_str());
        ApiListWatch::new(self.server.client.clone(), &(), namespace)
            .wire_format(wire_format())
            .labels(OWN)
    }

    /// An informer behind a gate, which is open.
    pub(crate) fn gated(&self) -> (InformerBuilder<ConfigMap>, Gate) {
        let gate = Gate::new();
        let source = Gated {
            inner: self.source(),
            gate: gate.clone(),
        };
        (
            as_asked(SharedInformer::builder_from(source, ()))
                .namespace(&self.server.namespace)
                .backoff(AT_ONCE),
            gate,
        )
    }

    /// An informer that gets events only while the value is true.
    pub(crate) fn held(&self) -> (SharedInformer<ConfigMap>, watch::Sender<bool>) {
        let (let_go, go) = watch::channel(true);
        let source = Held {
            inner: self.source(),
            go,
        };
        (as_asked(SharedInformer::builder_from(source, ())).build(), let_go)
    }

    pub(crate) fn key(&self, name: &str) -> Key {
        Key::namespaced(&self.server.namespace, name)
    }

    pub(crate) async fn create(&self, name: &str, value: &str) -> ResourceVersion {
        self.create_labelled(name, value, &[]).await
    }

    pub(crate) async fn create_labelled(
        &self,
        name: &str,
        value: &str,
        labels: &[(&str, &str)],
    ) -> ResourceVersion {
        let own = [OWN.split_once('=').expect("a label")];
        let labels = labels.iter().chain(&own);
        let map = ConfigMap {
            metadata: ObjectMeta {
                name: Some(name.into()),
                labels: Some(labels.map(|(k, v)| ((*k).into(), (*v).into())).collect()),
                ..ObjectMeta::default()
            },
            data: Some(BTreeMap::from([("value".into(), value.into())])),
            ..ConfigMap::default()
        };
        let made = self.api.create(&PostParams::default(), &map).await;
        version_of(&made.expect("an object"))
    }

    pub(crate) async fn change(&self, name: &str, value: &str) -> ResourceVersion {
        let patch = Patch::Merge(json!({ "data": { "value": value } }));
        let changed = self.api.patch(name, &PatchParams::default(), &patch).await;
        version_of(&changed.expect("an object"))
    }

    /// Opens a gate when the server answers lists with everything that was written: a server may lag behind itself.
    pub(crate) async fn open(&self, gate: &Gate) {
        let current = self.api.list(&ListParams::default()).await.expect("a list");
        let version = current.metadata.resource_version.expect("a version");
        let at_least = ListParams::default()
            .at(&version)
            .matching(VersionMatch::NotOlderThan);
        self.api
            .list(&at_least)
            .await
            .expect("a list of that version or a newer one");
        gate.open();
    }

    pub(crate) async fn delete(&self, name: &str) {
        let deleted = self.api.delete(name, &DeleteParams::default()).await;
        deleted.expect("an object");
    }
}

/// A handler that tells a test what it hears.
pub(crate) fn hearing<K: Kind>() -> (impl FnMut(Event<K>) + Send + 'static, Heard<K>) {
    let (tell, told) = mpsc::unbounded_channel();
    (
        // A test that has heard enough is gone.
        move |event| drop(tell.send(event)),
        Heard(told),
    )
}

/// What a handler has heard.
pub(crate) struct Heard<K>(mpsc::UnboundedReceiver<Event<K>>);

impl<K: Kind> Heard<K> {
    pub(crate) async fn next(&mut self) -> Event<K> {
        soon(self.0.recv()).await.expect("an event before the end")
    }

    pub(crate) async fn word(&mut self) -> String {
        said(&self.next().await)
    }

    /// The next words, sorted: the order of a list means nothing.
    pub(crate) async fn listed(&mut self, count: usize) -> Vec<String> {
        let mut words = Vec::new();
        for _ in 0..count {
            words.push(self.word().await);
        }
        sorted(words)
    }

    /// All words up to this one, in their order.
    pub(crate) async fn until(&mut self, last: &str) -> Vec<String> {
        let mut words = Vec::new();
        loop {
            words.push(self.word().await);
            if words.last().is_some_and(|word| word == last) {
                return words;
            }
        }
    }

    /// What was heard and not taken yet.
    pub(crate) fn rest(&mut self) -> Vec<String> {
        std::iter::from_fn(|| self.0.try_recv().ok())
            .map(|event| said(&event))
            .collect()
    }
}

/// An event as a word: `*a` was there from the beginning, `+a` is new, `~a` has changed, `=a` is repeated, `-a` is gone,
/// `?a` is gone and nobody saw it go.
pub(crate) fn said<K>(event: &Event<K>) -> String {
    let sign = match event {
        Event::Added {
            is_in_initial_list: true,
            ..
        } => '*',
        Event::Added { .. } => '+',
        Event::Updated { .. } if event.is_resync() => '=',
        Event::Updated { .. } => '~',
        Event::Deleted(deleted) if deleted.is_final_state_unknown() => '?',
        Event::Deleted(_) => '-',
    };
    format!("{sign}{}", event.key().name())
}

/// A gate on an informer's way to the server. Closing it ends the watch as an expired one, so that the next thing to get
/// through is a list; until it is opened, nothing does.
#[derive(Clone)]
pub(crate) struct Gate(Arc<watch::Sender<u64>>);

impl Gate {
    fn new() -> Gate {
        Gate(Arc::new(watch::Sender::new(0)))
    }

    pub(crate) fn close(&self) {
        self.0.send_modify(|turns| *turns |= 1);
    }

    fn open(&self) {
        self.0.send_modify(|turns| *turns += *turns & 1);
    }

    /// Waits until it is open, and says for which time.
    async fn opened(&self) -> u64 {
        let mut turns = self.0.subscribe();
        let open = turns.wait_for(|turns| turns & 1 == 0).await;
        *open.expect("the gate lives as long as its source")
    }

    async fn closed_after(self, time: u64) {
        let mut turns = self.0.subscribe();
        drop(turns.wait_for(|turns| *turns != time).await);
    }
}

struct Gated<K: Kind> {
    inner: ApiListWatch<K>,
    gate: Gate,
}

impl<K: Kind> ListWatch<K> for Gated<K> {
    fn list(&self, request: ListRequest) -> BoxFuture<'_, Result<ListStream<K>, Error>> {
        async move {
            self.gate.opened().await;
            self.inner.list(request).await
        }
        .boxed()
    }

    fn watch(&self, request: WatchRequest) -> BoxFuture<'_, Result<WatchStream<K>, Error>> {
        async move {
            let time = self.gate.opened().await;
            let events = self.inner.watch(request).await?;
            let closed = self.gate.clone().closed_after(time);
            let expired = StatusError {
                code: 410,
                reason: "Expired".into(),
                ..StatusError::default()
            };
            let end = stream::iter([Ok(WatchEvent::Failure(expired))]);
            Ok(events.take_until(closed.boxed()).chain(end).boxed())
        }
        .boxed()
    }
}

/// A source whose events wait until they are let go, all at once.
struct Held {
    inner: ApiListWatch<ConfigMap>,
    go: watch::Receiver<bool>,
}

impl ListWatch<ConfigMap> for Held {
    fn list(&self, request: ListRequest) -> BoxFuture<'_, Result<ListStream<ConfigMap>, Error>> {
        self.inner.list(request)
    }

    fn watch(&self, request: WatchRequest) -> BoxFuture<'_, Result<WatchStream<ConfigMap>, Error>> {
        async move {
            let go = self.go.clone();
            let events = self.inner.watch(request).await?;
            let held = events.then(move |event| {
                let mut go = go.clone();
                async move {
                    drop(go.wait_for(|go| *go).await);
                    event
                }
            });
            Ok(held.boxed())
        }
        .boxed()
    }
}
