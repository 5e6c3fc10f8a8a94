//! A server with the same content before each input, on a paused clock.

use std::cell::OnceCell;
use std::time::Duration;

use http::Request;
use http_body_util::BodyExt as _;
use kube::client::Body;
use kube_embedded::{Backup, Server};
use kube_wire::protobuf;
use serde_json::{Value, json};
use tokio::runtime::{self, Runtime};

use crate::objects::without_empty;

/// A server and its client.
pub(crate) struct World {
    pub(crate) server: Server,
    pub(crate) client: kube::Client,
    beginning: Backup,
}

/// A response.
#[derive(Debug)]
pub(crate) struct Response {
    pub(crate) code: u16,
    pub(crate) content_type: String,
    pub(crate) body: Vec<u8>,
}

/// Maximum number of frames to read of a watch, which does not end.
const FRAMES: usize = 64;

/// Timeout of every step. Paused time passes only when all tasks are idle.
const PATIENCE: Duration = Duration::from_secs(10);

/// Paths of the collections that requests may change, and whether they support protobuf.
const COLLECTIONS: [(&str, bool); 8] = [
    ("/api/v1/configmaps", true),
    ("/api/v1/secrets", true),
    ("/api/v1/pods", true),
    ("/api/v1/services", true),
    ("/api/v1/namespaces", true),
    ("/apis/apps/v1/deployments", true),
    ("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", true),
    ("/apis/example.com/v1/widgets", false),
];

thread_local! {
    static WORLD: OnceCell<(Runtime, World)> = const { OnceCell::new() };
}

/// Runs a function with a server in its initial state.
pub(crate) fn with<T>(work: impl AsyncFnOnce(&World) -> T) -> T {
    WORLD.with(|cell| {
        let (runtime, world) = cell.get_or_init(|| {
            let runtime = runtime::Builder::new_current_thread()
                .enable_all()
                .start_paused(true)
                .build()
                .expect("a runtime");
            let world = runtime.block_on(World::new());
            (runtime, world)
        });
        runtime.block_on(async {
            world.server.restore(&world.beginning);
            world.server.forget_requests();
            let done = work(world).await;
            world.settle().await;
            done
        })
    })
}

impl World {
    async fn new() -> World {
        let server = Server::builder()
            .seed(1)
            .history(1_000)
            .start()
            .await
            .expect("a server");
        server.load(initial_objects()).expect("objects");
        // The effects of a definition are applied asynchronously.
        tokio::time::sleep(PATIENCE).await;
        World {
            client: server.direct_client(),
            beginning: server.backup(),
            server,
        }
    }

    /// Waits until all tasks are idle.
    pub(crate) async fn settle(&self) {
        tokio::time::sleep(PATIENCE).await;
    }

    /// Sends a request and reads its response; of a watch, only the frames that arrive soon.
    pub(crate) async fn ask(&self, request: Request<Body>) -> Response {
        let response = self.client.send(request).await.expect("the server answers");
        let (parts, mut body) = response.into_parts();
        let mut bytes = Vec::new();
        for _ in 0..FRAMES {
            match tokio::time::timeout(PATIENCE, body.frame()).await {
                Ok(Some(Ok(frame))) => {
                    if let Some(data) = frame.data_ref() {
                        bytes.extend_from_slice(data);
                    }
                }
                Ok(Some(Err(error))) => panic!("the response was incomplete: {error}"),
                Ok(None) | Err(_) => break,
            }
        }
        let content_type = parts
            .headers
            .get("content-type")
            .and_then(|value| value.to_str().ok());
        Response {
            code: parts.status.as_u16(),
            content_type: content_type.unwrap_or_default().to_owned(),
            body: bytes,
        }
    }

    /// Gets an object or a list as JSON.
    pub(crate) async fn get(&self, path: &str) -> Value {
        let answer = self.get_as(path, "application/json").await;
        assert_eq!(answer.code, 200, "{path}: {answer:?}");
        answer.json()
    }

    async fn get_as(&self, path: &str, accept: &str) -> Response {
        let request = Request::get(path).header("accept", accept).body(Body::empty());
        self.ask(request.expect("a request")).await
    }

    /// Asserts that all objects can be read in every format, with the same result.
    pub(crate) async fn assert_consistent(&self) {
        for (path, has_protobuf) in COLLECTIONS {
            let listed = self.get_as(path, "application/json").await;
            if listed.code == 404 {
                // A definition can be deleted, the other collections cannot.
                assert!(!has_protobuf, "{path}: {listed:?}");
                continue;
            }
            assert_eq!(listed.code, 200, "{path}: {listed:?}");
            let json = listed.json();
            assert!(json["items"].is_array(), "{path}: {json}");
            if has_protobuf {
                let answer = self.get_as(path, protobuf::MEDIA_TYPE).await;
                assert_eq!(answer.code, 200, "{path}: {answer:?}");
                let decoded = protobuf::decode(&answer.body).expect("a list in protobuf");
                assert_eq!(without_empty(decoded), without_empty(json), "{path}");
            }
            let table = self
                .get_as(path, "application/json;as=Table;g=meta.k8s.io;v=v1")
                .await;
            assert_eq!(table.code, 200, "{path}: {table:?}");
        }
    }
}

impl Response {
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    pub(crate) fn is_good(&self) -> bool {
        (200..300).contains(&self.code)
    }

    /// Asserts that a failure is an error of the client, with a status of the API.
    #[track_caller]
    pub(crate) fn assert_client_error(&self) {
        if self.code < 400 {
            return;
        }
        if self.content_type.starts_with("text/plain") {
            assert!(self.code < 500, "{self:?}");
            return;
        }
        if self.body.is_empty() {
            // The response to a HEAD request.
            return;
        }
        let status = if self.body.starts_with(protobuf::MAGIC) {
            protobuf::decode(&self.body).expect("a status")
        } else {
            self.json()
        };
        assert_eq!(status["kind"], "Status", "{status}");
        assert_eq!(status["code"], self.code, "{status}");
        assert!(
            self.code < 500 || is_server_error_of_kubernetes(self.code, &status),
            "{status}"
        );
    }
}

/// Returns whether Kubernetes itself uses a server error for this error of the client: a version in the
/// future, and 500 for errors without a reason of their own (patches that do not apply, a watch from an
/// invalid version) or for a field of a wrong type.
fn is_server_error_of_kubernetes(code: u16, status: &Value) -> bool {
    let message = status["message"].as_str().unwrap_or_default();
    let reason = status["reason"].as_str().unwrap_or_default();
    let known = [
        "the spec replicas field",
        "value cannot be set because",
        "accessor error",
        "dial tcp",
    ];
    match (code, reason) {
        (504, "Timeout") | (500, "") => true,
        (500, "InternalError") => known.iter().any(|known| message.contains(known)),
        _ => false,
    }
}

/// Returns the initial objects of the server.
fn initial_objects() -> Vec<Value> {
    let map = |namespace: &str, name: &str| {
        json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": name, "namespace": namespace, "labels": {"app": name}, "annotations": {"a.b/c": "d"}},
            "data": {"a": "1", "b": "2"},
        })
    };
    let container = json!({
        "name": "c", "image": "i", "ports": [{"containerPort": 80, "name": "web"}],
        "env": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}],
        "resources": {"limits": {"cpu": "1"}},
    });
    let pod_spec = json!({"containers": [container], "tolerations": [{"key": "k", "operator": "Exists"}]});
    let schema = json!({
        "type": "object",
        "properties": {
            "spec": {
                "type": "object",
                "properties": {
                    "size": {"type": "integer", "minimum": 0, "default": 1},
                    "names": {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"},
                    "parts": {
                        "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["id"],
                        "items": {
                            "type": "object", "required": ["id"],
                            "properties": {"id": {"type": "string"}, "port": {"x-kubernetes-int-or-string": true}},
                        },
                    },
                    "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
                },
            },
            "status": {"type": "object", "properties": {"ready": {"type": "boolean"}}},
        },
    });
    vec![
        json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "other"}}),
        map("default", "a"),
        map("default", "b"),
        map("default", "c"),
        map("other", "a"),
        map("kube-system", "z"),
        json!({
            "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s", "namespace": "default"},
            "data": {"k": "AAEC"},
        }),
        json!({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": "p", "namespace": "default", "finalizers": ["example.com/f"]}, "spec": pod_spec,
        }),
        json!({
            "apiVersion": "v1", "kind": "Service", "metadata": {"name": "s", "namespace": "default"},
            "spec": {"ports": [{"name": "web", "port": 80}, {"name": "dns", "port": 53, "protocol": "UDP"}]},
        }),
        json!({
            "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d", "namespace": "default"},
            "spec": {
                "replicas": 2, "selector": {"matchLabels": {"app": "d"}},
                "template": {"metadata": {"labels": {"app": "d"}}, "spec": pod_spec},
            },
        }),
        json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": "widgets.example.com"},
            "spec": {
                "group": "example.com", "scope": "Namespaced",
                "names": {"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"},
                "versions": [{
                    "name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema},
                    "subresources": {"status": {}, "scale": {
                        "specReplicasPath": ".spec.size", "statusReplicasPath": ".status.size",
                    }},
                    "additionalPrinterColumns": [{"name": "Size", "type": "integer", "jsonPath": ".spec.size"}],
                }],
            },
        }),
        json!({
            "apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w", "namespace": "default"},
            "spec": {"size": 3, "names": ["x", "y"], "parts": [{"id": "1", "port": 80}], "free": {"a": {"b": 1}}},
        }),
    ]
}
