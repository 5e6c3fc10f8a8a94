//! Requests by path, with unprocessed responses: code, headers and JSON.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::{Buf, Bytes, BytesMut};
use futures::{Stream, StreamExt};
use http::{HeaderMap, Method, Request};
use http_body_util::{BodyDataStream, BodyExt};
use kube::Client;
use kube::client::Body;
use serde_json::Value;

use crate::Backend;

/// Timeout of an event.
const PATIENCE: Duration = Duration::from_secs(30);

/// A client for requests by path. `{ns}` in a path is replaced by the test's namespace.
#[derive(Clone)]
pub struct Raw {
    client: Client,
    namespace: String,
    /// The server must exist as long as this client.
    _server: Arc<Backend>,
}

impl std::fmt::Debug for Raw {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Raw")
            .field("namespace", &self.namespace)
            .finish_non_exhaustive()
    }
}

/// A response.
#[derive(Debug, Clone)]
pub struct Response {
    /// HTTP status.
    pub code: u16,
    /// Headers.
    pub headers: HeaderMap,
    /// The body; text that is not JSON is a string.
    pub body: Value,
}

impl Response {
    /// Returns the version of the object or the list.
    ///
    /// # Panics
    /// If it has none.
    pub fn version(&self) -> u64 {
        version_of(&self.body)
    }

    /// Returns the names of the items of a list.
    pub fn names(&self) -> Vec<&str> {
        let items = self.body["items"].as_array().into_iter().flatten();
        items
            .filter_map(|item| item["metadata"]["name"].as_str())
            .collect()
    }

    /// Returns the message of a failure.
    pub fn message(&self) -> &str {
        self.body["message"].as_str().unwrap_or_default()
    }
}

fn version_of(object: &Value) -> u64 {
    let text = object["metadata"]["resourceVersion"].as_str();
    match text.and_then(|t| t.parse().ok()) {
        Some(version) => version,
        None => panic!("no resource version in {object}"),
    }
}

impl Raw {
    pub(crate) fn new(client: Client, namespace: String, server: Arc<Backend>) -> Self {
        Self {
            client,
            namespace,
            _server: server,
        }
    }

    /// Sends a request with a method, headers and a body.
    ///
    /// # Panics
    /// If there is no response.
    pub async fn ask(
        &self,
        method: Method,
        path: &str,
        headers: &[(&str, &str)],
        body: impl Into<Vec<u8>>,
    ) -> Response {
        let response = self.send(method, path, headers, body).await;
        let (parts, body) = response.into_parts();
        let bytes = whole(path, body).await;
        let body = serde_json::from_slice(&bytes)
            .unwrap_or_else(|_| Value::String(String::from_utf8_lossy(&bytes).into_owned()));
        Response {
            code: parts.status.as_u16(),
            headers: parts.headers,
            body,
        }
    }

    async fn send(
        &self,
        method: Method,
        path: &str,
        headers: &[(&str, &str)],
        body: impl Into<Vec<u8>>,
    ) -> http::Response<Body> {
        let path = path.replace("{ns}", &self.namespace);
        let mut request = Request::builder().method(method).uri(&path);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = match request.body(Body::from(body.into())) {
            Ok(request) => request,
            Err(error) => panic!("invalid request {path}: {error}"),
        };
        match self.client.send(request).await {
            Ok(response) => response,
            Err(error) => panic!("no response to {path}: {error}"),
        }
    }

    /// Sends a GET request.
    pub async fn get(&self, path: &str) -> Response {
        self.ask(Method::GET, path, &[], "").await
    }

    /// Sends a GET request with an `Accept` header.
    pub async fn get_as(&self, path: &str, accept: &str) -> Response {
        self.ask(Method::GET, path, &[("accept", accept)], "").await
    }

    /// Sends a GET request for bytes that are not JSON.
    ///
    /// # Panics
    /// If there is no successful response.
    pub async fn bytes(&self, path: &str, accept: &str) -> Bytes {
        let response = self.send(Method::GET, path, &[("accept", accept)], "").await;
        assert!(
            response.status().is_success(),
            "{path} is refused with {}",
            response.status()
        );
        whole(path, response.into_body()).await
    }

    /// Sends a GET request that accepts gzip.
    ///
    /// # Panics
    /// If there is no response.
    pub async fn packed(&self, path: &str) -> (HeaderMap, Bytes) {
        let response = self
            .send(Method::GET, path, &[("accept-encoding", "gzip")], "")
            .await;
        let (parts, body) = response.into_parts();
        (parts.headers, whole(path, body).await)
    }

    /// Sends a POST request with JSON.
    pub async fn post(&self, path: &str, body: &Value) -> Response {
        self.ask(
            Method::POST,
            path,
            &[("content-type", "application/json")],
            body.to_string(),
        )
        .await
    }

    /// Sends a PUT request with JSON.
    pub async fn put(&self, path: &str, body: &Value) -> Response {
        self.ask(
            Method::PUT,
            path,
            &[("content-type", "application/json")],
            body.to_string(),
        )
        .await
    }

    /// Sends a PATCH request; `kind` is the middle of the content type: `merge`, `json`, `strategic-merge` or
    /// `apply`.
    pub async fn patch(&self, path: &str, kind: &str, body: &Value) -> Response {
        let suffix = if kind == "apply" { "yaml" } else { "json" };
        let content_type = format!("application/{kind}-patch+{suffix}");
        self.ask(
            Method::PATCH,
            path,
            &[("content-type", &content_type)],
            body.to_string(),
        )
        .await
    }

    /// Sends a DELETE request with options; `Null` sends none.
    pub async fn delete(&self, path: &str, options: &Value) -> Response {
        let body = if options.is_null() {
            String::new()
        } else {
            options.to_string()
        };
        self.ask(
            Method::DELETE,
            path,
            &[("content-type", "application/json")],
            body,
        )
        .await
    }

    /// Opens a watch.
    ///
    /// # Panics
    /// If it is refused.
    pub async fn watch(&self, path: &str) -> WatchEvents {
        self.watch_as(path, "application/json").await
    }

    /// Opens a watch with an `Accept` header.
    ///
    /// # Panics
    /// If it is refused.
    pub async fn watch_as(&self, path: &str, accept: &str) -> WatchEvents {
        let response = self.send(Method::GET, path, &[("accept", accept)], "").await;
        assert!(
            response.status().is_success(),
            "{path} is refused with {}",
            response.status()
        );
        WatchEvents {
            stream: Box::pin(BodyDataStream::new(response.into_body())),
            buffer: BytesMut::new(),
        }
    }
}

async fn whole(path: &str, body: Body) -> Bytes {
    match body.collect().await {
        Ok(collected) => collected.to_bytes(),
        Err(error) => panic!("incomplete response to {path}: {error}"),
    }
}

/// The events of a watch.
pub struct WatchEvents {
    stream: Pin<Box<dyn Stream<Item = Result<Bytes, kube::Error>> + Send>>,
    buffer: BytesMut,
}

impl std::fmt::Debug for WatchEvents {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("WatchEvents")
    }
}

impl WatchEvents {
    /// Returns the next event, or `None` if the watch has ended.
    ///
    /// # Panics
    /// After a timeout, or if the line is not an event.
    pub async fn next(&mut self) -> Option<Value> {
        loop {
            if let Some(end) = self.buffer.iter().position(|b| *b == b'\n') {
                let line = self.buffer.split_to(end);
                self.buffer.advance(1);
                return match serde_json::from_slice(&line) {
                    Ok(event) => Some(event),
                    Err(error) => panic!("invalid event: {error}: {line:?}"),
                };
            }
            match tokio::time::timeout(PATIENCE, self.stream.next()).await {
                Ok(Some(Ok(bytes))) => self.buffer.extend_from_slice(&bytes),
                Ok(Some(Err(error))) => panic!("the watch failed: {error}"),
                Ok(None) => return None,
                Err(elapsed) => panic!("no event for {PATIENCE:?}: {elapsed}"),
            }
        }
    }

    /// Returns the next event as `TYPE name`.
    ///
    /// # Panics
    /// Like [`WatchEvents::next`], and if the watch has ended.
    pub async fn expect(&mut self) -> String {
        match self.next().await {
            Some(event) => summary(&event),
            None => panic!("the watch has ended"),
        }
    }

    /// Returns the next event that is not a bookmark, which a server may send at any time.
    ///
    /// # Panics
    /// Like [`WatchEvents::expect`].
    pub async fn expect_change(&mut self) -> String {
        loop {
            let event = self.expect().await;
            if event != "BOOKMARK" {
                return event;
            }
        }
    }

    /// Returns all events until the end, as `TYPE name`.
    ///
    /// # Panics
    /// Like [`WatchEvents::next`].
    pub async fn rest(&mut self) -> Vec<String> {
        let mut all = Vec::new();
        while let Some(event) = self.next().await {
            all.push(summary(&event));
        }
        all
    }
}

fn summary(event: &Value) -> String {
    let kind = event["type"].as_str().unwrap_or_default();
    let object = &event["object"];
    match (kind, object["metadata"]["name"].as_str()) {
        ("ERROR", _) => format!("ERROR {}", object["code"]),
        ("BOOKMARK", _) => {
            let ends = &object["metadata"]["annotations"]["k8s.io/initial-events-end"] == "true";
            if ends {
                "BOOKMARK end".into()
            } else {
                "BOOKMARK".into()
            }
        }
        (_, name) => format!("{kind} {}", name.unwrap_or_default()),
    }
}
