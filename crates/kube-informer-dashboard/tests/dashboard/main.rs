//! Tests of the dashboard's HTTP interface.

mod access;
mod history;
mod large;
mod objects;
mod overview;
mod secrets;

use std::time::Duration;

use axum::Router;
use axum::body::Body;
use http::{HeaderMap, Request, StatusCode};
use http_body_util::BodyExt as _;
use kube::Client;
use kube_embedded::Server;
use kube_informer::SharedInformer;
use serde_json::{Value, json};
use tower::ServiceExt as _;

/// Timeout of every step.
const TIMEOUT: Duration = Duration::from_secs(60);

/// An HTTP response.
struct Response {
    status: StatusCode,
    headers: HeaderMap,
    text: String,
}

impl Response {
    fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|error| panic!("{error}: {}", self.text))
    }

    /// Returns the error message of a refused request.
    fn error_message(&self) -> String {
        assert!(self.status.is_client_error(), "{} {}", self.status, self.text);
        self.json()["error"].as_str().expect("a reason").to_owned()
    }
}

async fn send(router: &Router, request: Request<Body>) -> Response {
    let answered = router
        .clone()
        .oneshot(request)
        .await
        .expect("a router never fails");
    let (head, body) = answered.into_parts();
    let bytes = body.collect().await.expect("a body").to_bytes();
    Response {
        status: head.status,
        headers: head.headers,
        text: String::from_utf8(bytes.to_vec()).expect("text"),
    }
}

async fn get(router: &Router, path: &str) -> Response {
    let request = Request::get(path).body(Body::empty()).expect("a request");
    send(router, request).await
}

/// Returns the JSON of a successful request.
async fn get_json(router: &Router, path: &str) -> Value {
    let answer = get(router, path).await;
    assert_eq!(answer.status, StatusCode::OK, "{path}: {}", answer.text);
    answer.json()
}

/// Repeats a request until its response matches. Everything it waits for runs in this process, so it only
/// yields.
async fn until(router: &Router, path: &str, matches: impl Fn(&Value) -> bool) -> Value {
    let asking = async {
        loop {
            let answer = get(router, path).await;
            if answer.status == StatusCode::OK && matches(&answer.json()) {
                return answer.json();
            }
            tokio::task::yield_now().await;
        }
    };
    if let Ok(answer) = tokio::time::timeout(TIMEOUT, asking).await {
        return answer;
    }
    panic!("{path} never matches: {}", get(router, path).await.text)
}

async fn server() -> (Server, Client) {
    let server = Server::start().await.expect("a server");
    let namespaces = ["data", "many", "shop"];
    let namespaces = namespaces
        .map(|name| json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": name } }));
    server.load(namespaces).expect("namespaces");
    let client = server.client().expect("a client");
    (server, client)
}

async fn started<K: kube_informer::Kind>(informer: &SharedInformer<K>) {
    informer.start().expect("a start");
    informer.wait_for_sync(TIMEOUT).await.expect("a list");
}

fn config_map(namespace: &str, name: &str, app: &str, data: &Value) -> Value {
    json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": { "namespace": namespace, "name": name, "labels": { "app": app } },
        "data": data,
    })
}

/// Returns the keys of a page.
fn keys(page: &Value) -> Vec<&str> {
    let objects = page["objects"].as_array().expect("objects");
    objects
        .iter()
        .map(|row| row["key"].as_str().expect("a key"))
        .collect()
}
