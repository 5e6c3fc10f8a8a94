//! Requests by path, answers as they are: code, headers and JSON, good or bad.

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

use crate::Server;

/// A test that waits this long for an event has failed.
const PATIENCE: Duration = Duration::from_secs(30);

/// Requests by path. `{ns}` in a path stands for the test's namespace.
#[derive(Clone)]
pub struct Raw {
    client: Client,
    namespace: String,
    /// The server lives as long as someone may ask it.
    _server: Arc<Server>,
}

impl std::fmt::Debug for Raw {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Raw")
            .field("namespace", &self.namespace)
            .finish_non_exhaustive()
    }
}

/// What a server answered.
#[derive(Debug, Clone)]
pub struct Answer {
    /// HTTP status.
    pub code: u16,
    /// Headers.
    pub headers: HeaderMap,
    /// The body; text that is not JSON is a string.
    pub body: Value,
}

impl Answer {
    /// The answer's own version: of the object, or of the list.
    ///
    /// # Panics
    /// When it has none.
    pub fn version(&self) -> u64 {
        version_of(&self.body)
    }

    /// Names of the items of a list.
    pub fn names(&self) -> Vec<&str> {
        let items = self.body["items"].as_array().into_iter().flatten();
        items
            .filter_map(|item| item["metadata"]["name"].as_str())
            .collect()
    }

    /// The message of a failure.
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
    pub(crate) fn new(client: Client, namespace: String, server: Arc<Server>) -> Self {
        Self {
            client,
            namespace,
            _server: server,
        }
    }

    /// Asks with a method, headers and a body.
    ///
    /// # Panics
    /// When there is no answer.
    pub async fn ask(
        &self,
        method: Method,
        path: &str,
        headers: &[(&str, &str)],
        body: impl Into<Vec<u8>>,
    ) -> Answer {
        let response = self.send(method, path, headers, body).await;
        let (parts, body) = response.into_parts();
        let bytes = whole(path, body).await;
        let body = serde_json::from_slice(&bytes)
            .unwrap_or_else(|_| Value::String(String::from_utf8_lossy(&bytes).into_owned()));
        Answer {
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
            Err(error) => panic!("{path} is no request: {error}"),
        };
        match self.client.send(request).await {
            Ok(response) => response,
            Err(error) => panic!("no answer to {path}: {error}"),
        }
    }

    /// GET.
    pub async fn get(&self, path: &str) -> Answer {
        self.ask(Method::GET, path, &[], "").await
    }

    /// GET with an `Accept` header.
    pub async fn get_as(&self, path: &str, accept: &str) -> Answer {
        self.ask(Method::GET, path, &[("accept", accept)], "").await
    }

    /// GET of bytes that are not JSON.
    ///
    /// # Panics
    /// When there is no answer, or not a good one.
    pub async fn bytes(&self, path: &str, accept: &str) -> Bytes {
        let response = self.send(Method::GET, path, &[("accept", accept)], "").await;
        assert!(
            response.status().is_success(),
            "{path} is refused with {}",
            response.status()
        );
        whole(path, response.into_body()).await
    }

    /// GET as it is sent to those who take gzip.
    ///
    /// # Panics
    /// When there is no answer.
    pub async fn packed(&self, path: &str) -> (HeaderMap, Bytes) {
        let response = self
            .send(Method::GET, path, &[("accept-encoding", "gzip")], "")
            .await;
        let (parts, body) = response.into_parts();
        (parts.headers, whole(path, body).await)
    }

    /// POST of JSON.
    pub async fn post(&self, path: &str, body: &Value) -> Answer {
        self.ask(
            Method::POST,
            path,
            &[("content-type", "application/json")],
            body.to_string(),
        )
        .await
    }

    /// PUT of JSON.
    pub async fn put(&self, path: &str, body: &Value) -> Answer {
        self.ask(
            Method::PUT,
            path,
            &[("content-type", "application/json")],
            body.to_string(),
        )
        .await
    }

    /// PATCH; `kind` is the middle of the content type: `merge`, `json`, `strategic-merge` or `apply`.
    pub async fn patch(&self, path: &str, kind: &str, body: &Value) -> Answer {
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

    /// DELETE with options; `Null` sends none.
    pub async fn delete(&self, path: &str, options: &Value) -> Answer {
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
    /// When it is refused.
    pub async fn watch(&self, path: &str) -> Events {
        self.watch_as(path, "application/json").await
    }

    /// Opens a watch in a representation.
    ///
    /// # Panics
    /// When it is refused.
    pub async fn watch_as(&self, path: &str, accept: &str) -> Events {
        let response = self.send(Method::GET, path, &[("accept", accept)], "").await;
        assert!(
            response.status().is_success(),
            "{path} is refused with {}",
            response.status()
        );
        Events {
            stream: Box::pin(BodyDataStream::new(response.into_body())),
            buffer: BytesMut::new(),
        }
    }
}

async fn whole(path: &str, body: Body) -> Bytes {
    match body.collect().await {
        Ok(collected) => collected.to_bytes(),
        Err(error) => panic!("the answer to {path} broke off: {error}"),
    }
}

/// The events of a watch.
pub struct Events {
    stream: Pin<Box<dyn Stream<Item = Result<Bytes, kube::Error>> + Send>>,
    buffer: BytesMut,
}

impl std::fmt::Debug for Events {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Events")
    }
}

impl Events {
    /// The next event; `None` when the watch has ended.
    ///
    /// # Panics
    /// When nothing comes for a long time, or what comes is not an event.
    pub async fn next(&mut self) -> Option<Value> {
        loop {
            if let Some(end) = self.buffer.iter().position(|b| *b == b'\n') {
                let line = self.buffer.split_to(end);
                self.buffer.advance(1);
                return match serde_json::from_slice(&line) {
                    Ok(event) => Some(event),
                    Err(error) => panic!("not an event: {error}: {line:?}"),
                };
            }
            match tokio::time::timeout(PATIENCE, self.stream.next()).await {
                Ok(Some(Ok(bytes))) => self.buffer.extend_from_slice(&bytes),
                Ok(Some(Err(error))) => panic!("the watch broke off: {error}"),
                Ok(None) => return None,
                Err(elapsed) => panic!("no event for {PATIENCE:?}: {elapsed}"),
            }
        }
    }

    /// The next event as `TYPE name`.
    ///
    /// # Panics
    /// As [`Events::next`], and when the watch has ended.
    pub async fn expect(&mut self) -> String {
        match self.next().await {
            Some(event) => summary(&event),
            None => panic!("the watch has ended"),
        }
    }

    /// The next event that is no bookmark between others, which a server sends when it likes.
    ///
    /// # Panics
    /// As [`Events::expect`].
    pub async fn expect_change(&mut self) -> String {
        loop {
            let event = self.expect().await;
            if event != "BOOKMARK" {
                return event;
            }
        }
    }

    /// Every event until the end, as `TYPE name`.
    ///
    /// # Panics
    /// As [`Events::next`].
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
