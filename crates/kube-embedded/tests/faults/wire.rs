//! A client with access to all bytes: plain or TLS, HTTP/1.1 or HTTP/2.

use std::fmt::Debug;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::header::HOST;
use http::{HeaderMap, Method, Request, Response};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::client::conn::{http1, http2};
use hyper_util::rt::{TokioExecutor, TokioIo};
use kube_embedded::Server;
use rustls::pki_types::{CertificateDer, ServerName};
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

/// The path of the tests' objects.
pub(crate) const MAPS: &str = "/api/v1/namespaces/default/configmaps";

/// Returns the path of a watch from a version.
pub(crate) fn watch_from(version: u64) -> String {
    format!("{MAPS}?watch=1&timeoutSeconds=600&allowWatchBookmarks=true&resourceVersion={version}")
}

/// The path of a streaming list.
pub(crate) const STREAMING_LIST: &str = "/api/v1/namespaces/default/configmaps?watch=1&timeoutSeconds=600\
    &allowWatchBookmarks=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan";

/// Creates or replaces an object with this value, without a request.
pub(crate) fn put(server: &Server, name: &str, value: &str) {
    let object = json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": { "name": name, "namespace": "default" },
        "data": { "value": value },
    });
    assert_eq!(server.load([object]).expect("an object"), 1);
}

/// Starts a server with the objects `a`, `b` and `c`.
pub(crate) async fn server_with_objects() -> Server {
    let server = Server::start().await.expect("a server");
    for name in ["a", "b", "c"] {
        put(&server, name, "1");
    }
    server
}

/// Waits for a future, for at most twenty seconds.
pub(crate) async fn soon<T>(what: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(20), what)
        .await
        .expect("completion within twenty seconds")
}

/// How a client connects to the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Transport {
    Http1,
    Http2,
    Https1,
    Https2,
}

impl Transport {
    pub(crate) const ALL: [Transport; 4] = [
        Transport::Http1,
        Transport::Http2,
        Transport::Https1,
        Transport::Https2,
    ];

    pub(crate) fn version(self) -> &'static str {
        match self {
            Transport::Http1 | Transport::Https1 => "HTTP/1.1",
            Transport::Http2 | Transport::Https2 => "HTTP/2.0",
        }
    }
}

/// A connection.
pub(crate) struct Wire {
    sender: Sender,
    host: String,
}

enum Sender {
    One(http1::SendRequest<Full<Bytes>>),
    Two(http2::SendRequest<Full<Bytes>>),
}

impl Wire {
    pub(crate) async fn connect(server: &Server, transport: Transport) -> Wire {
        let socket = TcpStream::connect(server.address()).await.expect("a connection");
        let sender = match transport {
            Transport::Http1 | Transport::Http2 => sender(socket, transport).await,
            Transport::Https1 | Transport::Https2 => {
                sender(encrypted(server, socket, transport).await, transport).await
            }
        };
        Wire {
            sender,
            host: server.address().to_string(),
        }
    }

    /// Sends a request and waits for the head of its response.
    pub(crate) async fn send(
        &mut self,
        method: Method,
        path: &str,
        headers: &[(&str, &str)],
        body: impl Into<Bytes>,
    ) -> hyper::Result<Response<Incoming>> {
        let uri = match self.sender {
            Sender::One(_) => path.to_owned(),
            Sender::Two(_) => format!("http://{}{path}", self.host),
        };
        let mut request = Request::builder().method(method).uri(uri);
        if matches!(self.sender, Sender::One(_)) {
            request = request.header(HOST, &self.host);
        }
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request.body(Full::new(body.into())).expect("a request");
        match &mut self.sender {
            Sender::One(sender) => {
                soon(sender.ready()).await?;
                soon(sender.send_request(request)).await
            }
            Sender::Two(sender) => {
                soon(sender.ready()).await?;
                soon(sender.send_request(request)).await
            }
        }
    }

    /// Sends a GET and reads its response.
    pub(crate) async fn get(&mut self, path: &str) -> Answer {
        self.request_json(Method::GET, path, "").await
    }

    /// Sends a request with JSON and reads its response.
    pub(crate) async fn request_json(
        &mut self,
        method: Method,
        path: &str,
        body: impl Into<Bytes>,
    ) -> Answer {
        let headers = [("content-type", "application/json")];
        Answer::read(self.send(method, path, &headers, body).await.expect("an answer")).await
    }

    /// Opens a watch.
    pub(crate) async fn watch(&mut self, path: &str) -> Events {
        let response = self.send(Method::GET, path, &[], "").await.expect("a watch");
        assert_eq!(response.status(), 200, "{path}");
        Events {
            body: response.into_body(),
            buffer: BytesMut::new(),
        }
    }
}

async fn encrypted(
    server: &Server,
    socket: TcpStream,
    transport: Transport,
) -> impl AsyncRead + AsyncWrite + Unpin + Send + 'static {
    let mut roots = rustls::RootCertStore::empty();
    for root in server.client_config().root_cert.expect("an authority") {
        roots.add(CertificateDer::from(root)).expect("a certificate");
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("protocol versions")
        .with_root_certificates(roots)
        .with_no_client_auth();
    let wanted: &[u8] = if transport == Transport::Https1 {
        b"http/1.1"
    } else {
        b"h2"
    };
    config.alpn_protocols = vec![wanted.to_vec()];
    let name = ServerName::from(server.address().ip());
    let stream = TlsConnector::from(Arc::new(config))
        .connect(name, socket)
        .await
        .expect("TLS");
    assert_eq!(stream.get_ref().1.alpn_protocol(), Some(wanted));
    stream
}

async fn sender(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    transport: Transport,
) -> Sender {
    let io = TokioIo::new(stream);
    match transport {
        Transport::Http1 | Transport::Https1 => {
            let (sender, connection) = http1::handshake(io).await.expect("HTTP/1.1");
            tokio::spawn(connection);
            Sender::One(sender)
        }
        Transport::Http2 | Transport::Https2 => {
            let (sender, connection) = http2::handshake(TokioExecutor::new(), io).await.expect("HTTP/2");
            tokio::spawn(connection);
            Sender::Two(sender)
        }
    }
}

/// A response, possibly incomplete.
pub(crate) struct Answer {
    pub(crate) code: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) bytes: Bytes,
    /// Whether the response is complete.
    pub(crate) whole: bool,
}

impl Debug for Answer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "{} (whole: {}) {}",
            self.code,
            self.whole,
            String::from_utf8_lossy(&self.bytes)
        )
    }
}

impl Answer {
    pub(crate) async fn read(response: Response<Incoming>) -> Answer {
        let (parts, mut body) = response.into_parts();
        let mut bytes = BytesMut::new();
        let whole = loop {
            match soon(body.frame()).await {
                Some(Ok(frame)) => bytes.extend_from_slice(&frame.into_data().unwrap_or_default()),
                Some(Err(_)) => break false,
                None => break true,
            }
        };
        Answer {
            code: parts.status.as_u16(),
            headers: parts.headers,
            bytes: bytes.freeze(),
            whole,
        }
    }

    pub(crate) fn json(&self) -> Value {
        assert!(self.whole, "{self:?}");
        serde_json::from_slice(&self.bytes).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// Returns the names of the items of a list.
    pub(crate) fn names(&self) -> Vec<String> {
        let list = self.json();
        let items = list["items"]
            .as_array()
            .unwrap_or_else(|| panic!("no items: {self:?}"));
        items
            .iter()
            .map(|i| i["metadata"]["name"].as_str().unwrap_or_default().to_owned())
            .collect()
    }

    pub(crate) fn version(&self) -> u64 {
        let version = &self.json()["metadata"]["resourceVersion"];
        version
            .as_str()
            .and_then(|v| v.parse().ok())
            .unwrap_or_else(|| panic!("no version: {self:?}"))
    }

    /// Returns the code and reason of a failure.
    pub(crate) fn failure(&self) -> (u16, String) {
        let status = self.json();
        assert_eq!(status["kind"], "Status", "{self:?}");
        assert_eq!(status["code"], self.code, "{self:?}");
        (
            self.code,
            status["reason"].as_str().unwrap_or_default().to_owned(),
        )
    }
}

/// The events of a watch.
pub(crate) struct Events {
    body: Incoming,
    buffer: BytesMut,
}

/// The next item of a watch.
#[derive(Debug, PartialEq)]
pub(crate) enum Next {
    Event(Value),
    /// A line that is not JSON.
    Garbage(Bytes),
    /// The stream has ended without an error.
    End,
    /// The connection broke after these bytes of an event.
    Broken(Bytes),
}

impl Events {
    pub(crate) async fn next(&mut self) -> Next {
        loop {
            if let Some(end) = self.buffer.iter().position(|b| *b == b'\n') {
                let line = self.buffer.split_to(end + 1).freeze();
                return serde_json::from_slice(&line).map_or(Next::Garbage(line), Next::Event);
            }
            match soon(self.body.frame()).await {
                Some(Ok(frame)) => self
                    .buffer
                    .extend_from_slice(&frame.into_data().unwrap_or_default()),
                Some(Err(_)) => return Next::Broken(self.buffer.split().freeze()),
                None => {
                    assert!(self.buffer.is_empty(), "a clean end inside {:?}", self.buffer);
                    return Next::End;
                }
            }
        }
    }

    /// Returns the next event as `TYPE name`, an error as `ERROR code`.
    pub(crate) async fn expect(&mut self) -> String {
        match self.next().await {
            Next::Event(event) => summary(&event),
            other => panic!("no event but {other:?}"),
        }
    }

    /// Returns the remaining events until the stream ends without an error.
    pub(crate) async fn rest(&mut self) -> Vec<String> {
        let mut all = Vec::new();
        loop {
            match self.next().await {
                Next::Event(event) => all.push(summary(&event)),
                Next::End => return all,
                other => panic!("{other:?} after {all:?}"),
            }
        }
    }
}

pub(crate) fn summary(event: &Value) -> String {
    let object = &event["object"];
    match event["type"].as_str().unwrap_or_default() {
        "ERROR" => format!("ERROR {}", object["code"]),
        "BOOKMARK" if object["metadata"]["annotations"]["k8s.io/initial-events-end"] == "true" => {
            "BOOKMARK end".into()
        }
        "BOOKMARK" => "BOOKMARK".into(),
        kind => format!("{kind} {}", object["metadata"]["name"].as_str().unwrap_or("?")),
    }
}
