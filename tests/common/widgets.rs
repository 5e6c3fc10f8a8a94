//! Custom resources whose definition is created, deleted and created again.

use std::sync::Arc;

use conformance::{Raw, TestServer};
use http::Request;
use kube::Client;
use kube::api::{Api, DynamicObject, PostParams};
use kube::client::Body;
use kube::core::{ApiResource, GroupVersionKind};
use kube_informer::{Backoff, Error, SharedInformer};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::sync::mpsc;

use crate::config_maps::version_of;
use crate::informers::{ReceivedEvents, caught_up, recording_handler, soon};

pub(crate) const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

/// Widgets in a group that is unique to the test, and the requests for them.
pub(crate) struct Widgets {
    pub(crate) server: TestServer,
    pub(crate) raw: Raw,
    pub(crate) group: String,
    pub(crate) api: Api<DynamicObject>,
    pub(crate) informer: SharedInformer<DynamicObject>,
    pub(crate) errors: mpsc::UnboundedReceiver<Error>,
    pub(crate) received: ReceivedEvents<DynamicObject>,
    pub(crate) asked: RequestLog,
}

impl Widgets {
    pub(crate) async fn new(backoff: Backoff) -> Widgets {
        Widgets::on(TestServer::start().await, backoff)
    }

    /// Creates an informer of widgets on a server without their definition. It is not started.
    pub(crate) fn on(server: TestServer, backoff: Backoff) -> Widgets {
        let group = format!("{}.example.com", server.namespace);
        let kind = ApiResource::from_gvk(&GroupVersionKind::gvk(&group, "v1", "Widget"));
        let (client, asked) = RequestLog::through(server.client.clone());
        let (tell, errors) = mpsc::unbounded_channel();
        let informer = SharedInformer::<DynamicObject>::builder_with(client, kind.clone())
            .backoff(backoff)
            .seed(1)
            .watch_error_handler(move |error| drop(tell.send(error.clone())))
            .build();
        let (handler, received) = recording_handler();
        informer.add_handler(handler).expect("a handler");
        Widgets {
            raw: server.raw(),
            api: Api::namespaced_with(server.client.clone(), &server.namespace, &kind),
            server,
            group,
            informer,
            errors,
            received,
            asked,
        }
    }

    pub(crate) fn definition(&self, serves_v1: bool) -> Value {
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

    pub(crate) fn definition_name(&self) -> String {
        format!("widgets.{}", self.group)
    }

    pub(crate) fn definition_path(&self) -> String {
        format!("{DEFINITIONS}/{}", self.definition_name())
    }

    /// Creates the definition, and waits until it is served.
    pub(crate) async fn define(&self) {
        let made = self.raw.post(DEFINITIONS, &self.definition(true)).await;
        assert_eq!(made.code, 201, "{}", made.body);
        soon(self.answers(200)).await;
    }

    /// Deletes the definition, and waits until it is no longer served.
    pub(crate) async fn undefine(&self) {
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

    pub(crate) async fn serve_v1(&self, served: bool) {
        let versions = &self.definition(served)["spec"]["versions"];
        let patch = json!({ "spec": { "versions": versions } });
        let patched = self.raw.patch(&self.definition_path(), "merge", &patch).await;
        assert_eq!(patched.code, 200, "{}", patched.body);
        soon(self.answers(if served { 200 } else { 404 })).await;
    }

    /// Waits until lists get this status. The real server applies a definition with a delay.
    pub(crate) async fn answers(&self, code: u16) {
        let path = format!("/apis/{}/v1/namespaces/{{ns}}/widgets", self.group);
        while self.raw.get(&path).await.code != code {
            tokio::task::yield_now().await;
        }
    }

    pub(crate) async fn make(&self, name: &str) {
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

    /// Returns the next error that contains a text. Errors before it must be those of a kind that is not
    /// served.
    pub(crate) async fn complaint(&mut self, words: &str) -> Error {
        loop {
            let error = soon(self.errors.recv()).await.expect("an error");
            if error.to_string().contains(words) {
                return error;
            }
            assert!(error.is_not_served(), "{error}");
        }
    }

    pub(crate) fn take_errors(&mut self) -> Vec<Error> {
        std::iter::from_fn(|| self.errors.try_recv().ok()).collect()
    }
}

/// The requests of an informer.
#[derive(Clone, Default)]
pub(crate) struct RequestLog(Arc<Mutex<Vec<String>>>);

impl RequestLog {
    pub(crate) fn through(client: Client) -> (Client, RequestLog) {
        let asked = RequestLog::default();
        let log = asked.clone();
        let service = tower::service_fn(move |request: Request<Body>| {
            log.all().push(request.uri().to_string());
            let client = client.clone();
            async move { client.send(request).await }
        });
        (Client::new(service, "default"), asked)
    }

    pub(crate) fn all(&self) -> parking_lot::MutexGuard<'_, Vec<String>> {
        self.0.lock()
    }

    /// Returns the requests since the last call.
    pub(crate) fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.all())
    }
}
