//! A server with RBAC, and helpers of tests.

use std::fmt::Debug;

use http::Request;
use kube::{Client, Error};
use kube_embedded::{Authorization, Server};
use serde_json::{Value, json};

pub(crate) const RBAC: &str = "/apis/rbac.authorization.k8s.io/v1";

/// Starts a server with RBAC, the namespaces `shop` and `other`, and these objects.
pub(crate) async fn server(objects: impl IntoIterator<Item = Value>) -> Server {
    let builder = Server::builder().authorization(Authorization::Rbac);
    let server = builder.start().await.expect("a server");
    let namespaces = ["shop", "other"]
        .map(|name| json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": name } }));
    server.load(namespaces).expect("namespaces");
    server.load(objects).expect("objects");
    server
}

/// Returns a Role in the namespace `shop`, or a ClusterRole of the name.
pub(crate) fn role(kind: &str, name: &str, rules: &Value) -> Value {
    json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": kind,
        "metadata": { "name": name, "namespace": (kind == "Role").then_some("shop") }, "rules": rules,
    })
}

/// Returns a binding of `Role/name` or `ClusterRole/name` to a user, in the namespace `shop` if it is a RoleBinding.
pub(crate) fn binding(kind: &str, role: &str, user: &str) -> Value {
    let (role_kind, name) = role.split_once('/').expect("a kind");
    json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": kind,
        "metadata": {
            "name": format!("{name}-{user}"), "namespace": (kind == "RoleBinding").then_some("shop"),
        },
        "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": role_kind, "name": name },
        "subjects": [{ "apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": user }],
    })
}

/// Returns a rule on resources of the core group.
pub(crate) fn core(resources: &[&str], verbs: &[&str]) -> Value {
    json!([{ "apiGroups": [""], "resources": resources, "verbs": verbs }])
}

/// Sends a request and decodes the response.
pub(crate) async fn send(client: &Client, method: &str, path: &str, body: &Value) -> Result<Value, Error> {
    send_with(client, method, path, body, &[]).await
}

/// Sends a request with headers and decodes the response.
pub(crate) async fn send_with(
    client: &Client,
    method: &str,
    path: &str,
    body: &Value,
    headers: &[(&str, &str)],
) -> Result<Value, Error> {
    let mut request = Request::builder().method(method).uri(path);
    let content_type = if method == "PATCH" {
        "application/merge-patch+json"
    } else {
        "application/json"
    };
    request = request.header("content-type", content_type);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let bytes = if body.is_null() {
        Vec::new()
    } else {
        body.to_string().into_bytes()
    };
    client.request(request.body(bytes).expect("a request")).await
}

/// Returns the code and message of an error response.
pub(crate) fn refusal<T: Debug>(outcome: Result<T, Error>) -> (u16, String) {
    match outcome {
        Err(Error::Api(status)) => (status.code, status.message.clone()),
        other => panic!("not refused: {other:?}"),
    }
}

/// Returns the message of a 403.
pub(crate) fn forbidden<T: Debug>(outcome: Result<T, Error>) -> String {
    let (code, message) = refusal(outcome);
    assert_eq!(code, 403, "{message}");
    message
}
