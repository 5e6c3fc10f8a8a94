//! A10: custom kinds whose definition comes later, goes, and comes again.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use http::Request;
use kube::Client;
use kube::api::{Api, DynamicObject, PostParams};
use kube::client::Body;
use kube::core::{ApiResource, GroupVersionKind};
use kube_embedded::{Fault, On};
use kube_informer::{Backoff, Error, SharedInformer};
use mission::{Raw, TestServer};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::time::sleep;

use crate::informers::{Heard, PATIENCE, caught_up, hearing, soon, started, stopped, version_of};

const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

/// Short waits, so that a test in real time does not take long, and yet not so short that politeness could not be counted.
const BRISK: Backoff = Backoff {
    initial: Duration::from_millis(500),
    factor: 2.0,
    cap: Duration::from_secs(2),
    jitter: 0.0,
    reset: Duration::from_mins(2),
};

/// Widgets of a group of the test's own, and what is asked for them.
struct Widgets {
    server: TestServer,
    raw: Raw,
    group: String,
    api: Api<DynamicObject>,
    informer: SharedInformer<DynamicObject>,
    errors: mpsc::UnboundedReceiver<Error>,
    heard: Heard<DynamicObject>,
    asked: Asked,
}

impl Widgets {
    async fn new(backoff: Backoff) -> Widgets {
        Widgets::on(TestServer::start().await, backoff)
    }

    async fn on_paused_clock() -> Option<Widgets> {
        let server = TestServer::on_paused_clock().await?;
        Some(Widgets::on(server, Backoff::default()))
    }

    /// An informer of them that is not started, on a server that does not have them.
    fn on(server: TestServer, backoff: Backoff) -> Widgets {
        let group = format!("{}.example.com", server.namespace);
        let kind = ApiResource::from_gvk(&GroupVersionKind::gvk(&group, "v1", "Widget"));
        let (client, asked) = Asked::through(server.client.clone());
        let informer = SharedInformer::<DynamicObject>::builder_with(client, kind.clone())
            .backoff(backoff)
            .seed(1)
            .build();
        let (tell, errors) = mpsc::unbounded_channel();
        informer
            .set_watch_error_handler(move |error| drop(tell.send(error.clone())))
            .expect("a handler");
        let (handler, heard) = hearing();
        informer.add_handler(handler).expect("a handler");
        Widgets {
            raw: server.raw(),
            api: Api::namespaced_with(server.client.clone(), &server.namespace, &kind),
            server,
            group,
            informer,
            errors,
            heard,
            asked,
        }
    }

    fn definition(&self, serves_v1: bool) -> Value {
        let schema = json!({ "openAPIV3Schema": { "type": "object" } });
        json!({
            "metadata": { "name": self.definition_name() },
            "spec": {
                "group": self.group,
                "scope": "Namespaced",
                "names": { "plural": "widgets", "singular": "widget", "kind": "Widget" },
                "versions": [
                    { "name": "v1", "served": serves_v1, "storage": true, "schema": schema },
                    { "name": "v2", "served": true, "storage": false, "schema": schema },
                ],
            },
        })
    }

    fn definition_name(&self) -> String {
        format!("widgets.{}", self.group)
    }

    fn definition_path(&self) -> String {
        format!("{DEFINITIONS}/{}", self.definition_name())
    }

    /// Defines them, and waits until they are served.
    async fn define(&self) {
        let made = self.raw.post(DEFINITIONS, &self.definition(true)).await;
        assert_eq!(made.code, 201, "{}", made.body);
        soon(self.answers(200)).await;
    }

    /// Deletes their definition, and waits until it is gone and they are no longer served.
    async fn undefine(&self) {
        let deleted = self.raw.delete(&self.definition_path(), &Value::Null).await;
        assert_eq!(deleted.code, 200, "{}", deleted.body);
        soon(self.answers(404)).await;
        soon(async {
            while self.raw.get(&self.definition_path()).await.code != 404 {
                tokio::task::yield_now().await;
            }
        })
        .await;
    }

    async fn serve_v1(&self, served: bool) {
        let versions = &self.definition(served)["spec"]["versions"];
        let patch = json!({ "spec": { "versions": versions } });
        let patched = self.raw.patch(&self.definition_path(), "merge", &patch).await;
        assert_eq!(patched.code, 200, "{}", patched.body);
        soon(self.answers(if served { 200 } else { 404 })).await;
    }

    /// Waits until lists are answered like this. The real server follows a definition a moment later.
    async fn answers(&self, code: u16) {
        let path = format!("/apis/{}/v1/namespaces/{{ns}}/widgets", self.group);
        while self.raw.get(&path).await.code != code {
            tokio::task::yield_now().await;
        }
    }

    async fn make(&self, name: &str) {
        let widget: DynamicObject = serde_json::from_value(json!({
            "apiVersion": format!("{}/v1", self.group),
            "kind": "Widget",
            "metadata": { "name": name },
        }))
        .expect("an object");
        let made = self.api.create(&PostParams::default(), &widget).await;
        let made = made.expect("an object");
        if self.informer.has_synced() {
            caught_up(&self.informer, version_of(&made)).await;
        }
    }

    /// The next error in which these words are; those before it must be of a kind that is not served.
    async fn complaint(&mut self, words: &str) -> Error {
        loop {
            let error = soon(self.errors.recv()).await.expect("an error");
            if error.to_string().contains(words) {
                return error;
            }
            assert!(error.is_not_served(), "{error}");
        }
    }

    fn told(&mut self) -> Vec<Error> {
        std::iter::from_fn(|| self.errors.try_recv().ok()).collect()
    }
}

/// What an informer asks for.
#[derive(Clone, Default)]
struct Asked(Arc<Mutex<Vec<String>>>);

impl Asked {
    fn through(client: Client) -> (Client, Asked) {
        let asked = Asked::default();
        let log = asked.clone();
        let service = tower::service_fn(move |request: Request<Body>| {
            log.all().push(request.uri().to_string());
            let client = client.clone();
            async move { client.send(request).await }
        });
        (Client::new(service, "default"), asked)
    }

    fn all(&self) -> std::sync::MutexGuard<'_, Vec<String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What was asked since the last time.
    fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.all())
    }
}

/// Missing at first, then there, deleted with its definition, and there once more.
#[tokio::test]
async fn a10_a_custom_kind_comes_late_goes_and_comes_again() {
    let mut widgets = Widgets::new(BRISK).await;
    widgets.informer.start().expect("a start");
    let missing = format!(
        "the server does not serve {}/v1 Widget (404); the informer waits until it does; is the CustomResourceDefinition \
         widgets.{} installed?",
        widgets.group, widgets.group
    );
    widgets.complaint(&missing).await;
    let error = widgets.informer.wait_for_sync(Duration::ZERO).await;
    assert!(error.is_err_and(|error| error.is_not_served() && error.is_timeout()));

    widgets.define().await;
    widgets.informer.wait_for_sync(PATIENCE).await.expect("a sync");
    for name in ["a", "b"] {
        widgets.make(name).await;
    }
    assert_eq!(widgets.heard.listed(2).await, ["+a", "+b"]);
    let version = widgets.informer.resource_version().expect("a version");
    widgets.told();

    widgets.asked.take();
    widgets.undefine().await;
    // The deletion of a definition deletes the objects first, and a watch sees that.
    assert_eq!(widgets.heard.listed(2).await, ["-a", "-b"]);
    widgets.complaint("the cache is emptied").await;
    assert!(widgets.informer.lister().is_empty());
    assert!(widgets.informer.has_synced() && !widgets.informer.is_stopped());
    let emptied = widgets.informer.resource_version().expect("a version");
    assert!(!emptied.is_before(&version), "{version} before, {emptied} after");
    let asked = widgets.asked.take();
    assert!(asked.len() <= 20, "{} requests: {asked:#?}", asked.len());

    widgets.define().await;
    widgets.make("c").await;
    assert_eq!(widgets.heard.next().await.key().name(), "c");
    let again = widgets.informer.resource_version().expect("a version");
    assert!(emptied.is_before(&again), "{emptied} before, {again} after");
    assert_eq!(widgets.informer.lister().len(), 1);
    assert!(widgets.heard.rest().is_empty());
    stopped(&widgets.informer).await;
    widgets.undefine().await;
}

/// A version that is no longer served takes nothing away on the server, but from whoever reads that version it does.
#[tokio::test]
async fn a10_a_version_that_is_no_longer_served_empties_the_cache() {
    let mut widgets = Widgets::new(BRISK).await;
    widgets.define().await;
    widgets.make("a").await;
    started(&widgets.informer).await;
    assert_eq!(widgets.heard.word().await, "*a");
    let version = widgets.informer.resource_version();

    widgets.asked.take();
    widgets.serve_v1(false).await;
    assert_eq!(widgets.heard.word().await, "?a");
    assert!(widgets.informer.lister().is_empty());
    let gone = widgets.informer.resource_version();
    assert!(!gone.is_none_or(|gone| version.is_some_and(|version| gone.is_before(&version))));
    widgets.complaint("no longer serves").await;
    let asked = widgets.asked.take();
    assert!(asked.len() <= 20, "{} requests: {asked:#?}", asked.len());

    widgets.serve_v1(true).await;
    assert_eq!(widgets.heard.word().await, "+a");
    stopped(&widgets.informer).await;
    widgets.undefine().await;
}

/// The same with the usual waits, where hours are short: a handful of requests, then one or two a minute.
#[tokio::test(start_paused = true)]
async fn a10_a_kind_that_is_gone_is_asked_for_rarely() {
    let Some(mut widgets) = Widgets::on_paused_clock().await else {
        return;
    };
    widgets.informer.start().expect("a start");
    sleep(Duration::from_hours(1)).await;
    let asked = widgets.asked.take();
    assert!((60..=130).contains(&asked.len()), "{} requests", asked.len());
    widgets.define().await;
    widgets.informer.wait_for_sync(PATIENCE).await.expect("a sync");
    widgets.make("a").await;
    assert_eq!(widgets.heard.word().await, "+a");
    sleep(Duration::from_mins(10)).await;

    widgets.asked.take();
    widgets.undefine().await;
    widgets.complaint("the cache is emptied").await;
    let asked = widgets.asked.take();
    assert!(asked.len() <= 13, "{} requests: {asked:#?}", asked.len());
    sleep(Duration::from_hours(1)).await;
    let asked = widgets.asked.take();
    assert!((60..=130).contains(&asked.len()), "{} requests", asked.len());
    assert!(
        asked.iter().all(|path| path.contains("/widgets")),
        "what is known to be gone needs no discovery: {asked:?}"
    );
    stopped(&widgets.informer).await;
}

/// Contract 5: a proxy that has lost its way answers everything with 404, or everything but discovery. Nothing is deleted.
#[tokio::test(start_paused = true)]
async fn a10_a_404_of_a_proxy_empties_nothing() {
    let everything = On::any();
    let collections = On::list_or_watch("widgets");
    let documents = On::any().when(|request| request.path == "/apis");
    for faults in [
        vec![everything],
        vec![collections.clone()],
        vec![collections, documents],
    ] {
        let Some(mut widgets) = Widgets::on_paused_clock().await else {
            return;
        };
        widgets.define().await;
        widgets.make("a").await;
        started(&widgets.informer).await;
        assert_eq!(widgets.heard.word().await, "*a");
        let server = widgets.server.embedded().expect("the embedded server");

        for on in &faults {
            server.faults().add(on.clone(), Fault::not_found());
        }
        server.cut_connections();
        widgets.asked.take();
        sleep(Duration::from_hours(1)).await;
        let asked = widgets.asked.take().len();
        assert!((80..=350).contains(&asked), "{faults:?}: {asked} requests");
        assert_eq!(widgets.informer.lister().len(), 1, "{faults:?}");
        assert!(widgets.heard.rest().is_empty(), "{faults:?}");

        server.faults().clear();
        widgets.make("b").await;
        assert_eq!(widgets.heard.word().await, "+b");
        let told = widgets.told();
        assert!(told.len() > 50, "{faults:?}: {} errors", told.len());
        let misled = told.iter().find(|error| error.is_not_served());
        assert!(misled.is_none(), "{faults:?}: {misled:?}");
        stopped(&widgets.informer).await;
    }
}
