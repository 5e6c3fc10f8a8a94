//! What the dashboard answers.

mod doors;
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

/// Longer than anything takes.
const PATIENCE: Duration = Duration::from_secs(60);

/// An answer.
struct Answer {
    status: StatusCode,
    headers: HeaderMap,
    text: String,
}

impl Answer {
    fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|error| panic!("{error}: {}", self.text))
    }

    /// Why it was refused.
    fn refusal(&self) -> String {
        assert!(self.status.is_client_error(), "{} {}", self.status, self.text);
        self.json()["error"].as_str().expect("a reason").to_owned()
    }
}

async fn send(router: &Router, request: Request<Body>) -> Answer {
    let answered = router
        .clone()
        .oneshot(request)
        .await
        .expect("a router never fails");
    let (head, body) = answered.into_parts();
    let bytes = body.collect().await.expect("a body").to_bytes();
    Answer {
        status: head.status,
        headers: head.headers,
        text: String::from_utf8(bytes.to_vec()).expect("text"),
    }
}

async fn get(router: &Router, path: &str) -> Answer {
    let request = Request::get(path).body(Body::empty()).expect("a request");
    send(router, request).await
}

/// What is answered to a question that is in order.
async fn told(router: &Router, path: &str) -> Value {
    let answer = get(router, path).await;
    assert_eq!(answer.status, StatusCode::OK, "{path}: {}", answer.text);
    answer.json()
}

/// Asks until the answer fits. Everything it waits for runs in this process, so it only lets that run.
async fn until(router: &Router, path: &str, fits: impl Fn(&Value) -> bool) -> Value {
    let asking = async {
        loop {
            let answer = get(router, path).await;
            if answer.status == StatusCode::OK && fits(&answer.json()) {
                return answer.json();
            }
            tokio::task::yield_now().await;
        }
    };
    if let Ok(answer) = tokio::time::timeout(PATIENCE, asking).await {
        return answer;
    }
    panic!("{path} never fits: {}", get(router, path).await.text)
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
    informer.wait_for_sync(PATIENCE).await.expect("a list");
}

fn config_map(namespace: &str, name: &str, app: &str, data: &Value) -> Value {
    json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": { "namespace": namespace, "name": name, "labels": { "app": app } },
        "data": data,
    })
}

/// The keys of a page.
fn keys(page: &Value) -> Vec<&str> {
    let objects = page["objects"].as_array().expect("objects");
    objects
        .iter()
        .map(|row| row["key"].as_str().expect("a key"))
        .collect()
}
