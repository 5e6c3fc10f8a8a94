//! A server that responds to `/stream` with what the test sends, and to all other paths with an empty list.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use futures::StreamExt;
use futures::stream::{self, BoxStream};
use http::{Request, Response};
use http_body::Frame;
use http_body_util::StreamBody;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use kube::Config;
use parking_lot::Mutex;
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, mpsc};
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;

type Body = StreamBody<BoxStream<'static, Result<Frame<Bytes>, Infallible>>>;

const EMPTY_LIST: &str =
    r#"{"kind":"ConfigMapList","apiVersion":"v1","metadata":{"resourceVersion":"1"},"items":[]}"#;

pub(crate) struct SmallServer {
    address: SocketAddr,
    scheme: &'static str,
    authority: Option<Vec<u8>>,
    shared: Arc<Shared>,
    accepting: JoinHandle<()>,
    pieces: mpsc::Sender<&'static str>,
}

struct Shared {
    connections: AtomicUsize,
    headers: Mutex<Vec<String>>,
    goaway: Notify,
    pieces: Mutex<Option<mpsc::Receiver<&'static str>>>,
}

/// A certificate and its authority.
pub(crate) struct Identity {
    authority: Vec<u8>,
    config: Arc<ServerConfig>,
}

impl Identity {
    pub(crate) fn loopback() -> Identity {
        Identity::new(&["127.0.0.1"], false)
    }

    pub(crate) fn new(names: &[&str], expired: bool) -> Identity {
        let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
        let (mut ca, ca_key) = (CertificateParams::default(), KeyPair::generate().expect("a key"));
        ca.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let authority = ca.self_signed(&ca_key).expect("an authority").der().to_vec();
        let mut server = CertificateParams::new(names).expect("names");
        if expired {
            server.not_after = (SystemTime::now() - Duration::from_secs(24 * 60 * 60)).into();
        }
        let key = KeyPair::generate().expect("a key");
        let signed = server.signed_by(&key, &Issuer::from_params(&ca, &ca_key));
        let chain: Vec<CertificateDer<'static>> = vec![signed.expect("a certificate").der().clone()];
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
        let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .expect("versions of TLS")
            .with_no_client_auth()
            .with_single_cert(chain, key)
            .expect("a certificate and its key");
        config.alpn_protocols = vec![b"h2".to_vec()];
        Identity {
            authority,
            config: Arc::new(config),
        }
    }
}

impl SmallServer {
    /// Starts a server for HTTP/1.1 without TLS.
    pub(crate) async fn plain() -> SmallServer {
        SmallServer::start(None).await
    }

    /// Starts a server for HTTP/2 over TLS.
    pub(crate) async fn tls(identity: &Identity) -> SmallServer {
        SmallServer::start(Some(identity)).await
    }

    async fn start(identity: Option<&Identity>) -> SmallServer {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let (pieces, receiver) = mpsc::channel(10);
        let shared = Arc::new(Shared {
            connections: AtomicUsize::new(0),
            headers: Mutex::default(),
            goaway: Notify::new(),
            pieces: Mutex::new(Some(receiver)),
        });
        let address = listener.local_addr().expect("an address");
        let tls = identity.map(|identity| TlsAcceptor::from(Arc::clone(&identity.config)));
        let inside = Arc::clone(&shared);
        let accepting = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                inside.connections.fetch_add(1, Ordering::SeqCst);
                tokio::spawn(connection(stream, tls.clone(), Arc::clone(&inside)));
            }
        });
        SmallServer {
            address,
            scheme: if identity.is_some() { "https" } else { "http" },
            authority: identity.map(|identity| identity.authority.clone()),
            shared,
            accepting,
            pieces,
        }
    }

    pub(crate) fn url(&self) -> String {
        format!("{}://{}", self.scheme, self.address)
    }

    pub(crate) fn config(&self) -> Config {
        let mut config = Config::new(self.url().parse().expect("a URL"));
        config.root_cert = self.authority.clone().map(|authority| vec![authority]);
        config
    }

    pub(crate) fn config_over_tls(&self) -> Config {
        Config::new(format!("https://{}", self.address).parse().expect("a URL"))
    }

    pub(crate) fn connections(&self) -> usize {
        self.shared.connections.load(Ordering::SeqCst)
    }

    /// Returns the headers of the last request, as `name: value`.
    pub(crate) fn headers_of_last(&self) -> Vec<String> {
        self.shared.headers.lock().clone()
    }

    /// Closes every connection gracefully: open requests may finish.
    pub(crate) fn send_goaway(&self) {
        self.shared.goaway.notify_waiters();
    }

    /// Sends a piece of the stream.
    pub(crate) async fn send(&self, piece: &'static str) {
        self.pieces.send(piece).await.expect("a stream");
    }
}

impl Drop for SmallServer {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

async fn connection(stream: TcpStream, tls: Option<TlsAcceptor>, shared: Arc<Shared>) {
    let inside = Arc::clone(&shared);
    let service = service_fn(move |request| {
        let answer = inside.answer(&request);
        async move { Ok::<_, Infallible>(answer) }
    });
    let Some(tls) = tls else {
        let http = hyper::server::conn::http1::Builder::new();
        let _ = http.serve_connection(TokioIo::new(stream), service).await;
        return;
    };
    let Ok(stream) = tls.accept(stream).await else {
        return;
    };
    let http = hyper::server::conn::http2::Builder::new(TokioExecutor::new());
    let mut connection = std::pin::pin!(http.serve_connection(TokioIo::new(stream), service));
    tokio::select! {
        _ = &mut connection => return,
        () = shared.goaway.notified() => connection.as_mut().graceful_shutdown(),
    }
    let _ = connection.await;
}

impl Shared {
    fn answer(&self, request: &Request<Incoming>) -> Response<Body> {
        let headers = request.headers().iter();
        *self.headers.lock() = headers
            .map(|(name, value)| format!("{name}: {}", String::from_utf8_lossy(value.as_bytes())))
            .collect();
        let frame = |text: &'static str| Ok(Frame::data(Bytes::from_static(text.as_bytes())));
        let pieces = match request.uri().path() {
            "/stream" => self.pieces.lock().take(),
            _ => None,
        };
        let body = match pieces {
            Some(pieces) => stream::unfold(pieces, async |mut pieces| Some((pieces.recv().await?, pieces)))
                .map(frame)
                .boxed(),
            None => stream::iter([frame(EMPTY_LIST)]).boxed(),
        };
        let response = Response::builder().header("content-type", "application/json");
        response
            .body(StreamBody::new(body))
            .expect("an answer of known parts")
    }
}
