//! Accepts connections (plain or TLS, HTTP/1.1 or HTTP/2) and serves requests on them.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use http::Request;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::Error;
use super::tls::TlsIdentity;
use crate::cluster::Cluster;
use crate::http::serve;

/// First byte of a TLS handshake.
const TLS_HANDSHAKE: u8 = 0x16;

/// The port of a server, or of a server without one.
#[derive(Debug)]
pub(super) struct Listener {
    address: SocketAddr,
    state: Mutex<PortState>,
    connections: TaskTracker,
    gate: Gate,
    protocols: Protocols,
}

/// The protocols of a port.
#[derive(Debug, Clone, Copy)]
pub(super) struct Protocols {
    pub(super) http2: bool,
    /// Maximum number of concurrent requests on an HTTP/2 connection.
    pub(super) streams: u32,
}

impl Default for Protocols {
    fn default() -> Protocols {
        Protocols {
            http2: true,
            streams: 100,
        }
    }
}

/// Whether the server accepts requests, for clients without a socket.
#[derive(Debug, Clone, Default)]
pub(super) struct Gate(Arc<AtomicBool>);

impl Gate {
    #[cfg(feature = "client")]
    pub(super) fn is_open(&self) -> bool {
        self.0.load(Ordering::SeqCst)
    }

    fn set(&self, open: bool) {
        self.0.store(open, Ordering::SeqCst);
    }
}

#[derive(Debug)]
enum PortState {
    /// The port is bound, but connections are not accepted yet.
    Bound(TcpListener),
    Open(JoinHandle<()>),
    Closed,
    /// The server has no port. Only the gate opens and closes.
    NoPort,
}

impl Listener {
    pub(super) async fn bind(address: SocketAddr, protocols: Protocols) -> Result<Listener, Error> {
        let failed = |source| Error::Listen { address, source };
        let socket = TcpListener::bind(address).await.map_err(failed)?;
        let address = socket.local_addr().map_err(failed)?;
        Ok(Listener {
            address,
            state: Mutex::new(PortState::Bound(socket)),
            connections: TaskTracker::new(),
            gate: Gate::default(),
            protocols,
        })
    }

    /// Creates a listener without a port, for clients without a socket.
    pub(super) fn without_port(protocols: Protocols) -> Listener {
        Listener {
            address: (Ipv4Addr::LOCALHOST, 0).into(),
            state: Mutex::new(PortState::NoPort),
            connections: TaskTracker::new(),
            gate: Gate::default(),
            protocols,
        }
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Starts to accept connections, unless they are accepted already.
    pub(super) async fn open(&self, cluster: &Arc<Cluster>, identity: &TlsIdentity) -> Result<(), Error> {
        let was = {
            let mut state = self.state.lock();
            match *state {
                PortState::Open(_) => return Ok(()),
                PortState::NoPort => {
                    self.gate.set(true);
                    return Ok(());
                }
                PortState::Bound(_) | PortState::Closed => {}
            }
            std::mem::replace(&mut *state, PortState::Closed)
        };
        let socket = match was {
            PortState::Bound(socket) => socket,
            _ => TcpListener::bind(self.address)
                .await
                .map_err(|source| Error::Listen {
                    address: self.address,
                    source,
                })?,
        };
        let accepting = accept(
            socket,
            cluster.clone(),
            identity.acceptor(),
            self.connections.clone(),
            self.protocols,
        );
        *self.state.lock() = PortState::Open(tokio::spawn(accepting));
        self.gate.set(true);
        Ok(())
    }

    /// Stops accepting connections. Existing connections continue.
    pub(super) async fn close(&self) {
        self.gate.set(false);
        let task = {
            let mut state = self.state.lock();
            if matches!(*state, PortState::NoPort) {
                return;
            }
            std::mem::replace(&mut *state, PortState::Closed)
        };
        if let PortState::Open(task) = task {
            task.abort();
            // The port is free when the task has ended.
            let _ = task.await;
        }
    }

    /// Stops accepting connections without waiting.
    pub(super) fn abort(&self) {
        self.gate.set(false);
        if let PortState::Open(task) = &*self.state.lock() {
            task.abort();
        }
    }

    /// Waits until all connections have ended.
    pub(super) async fn wait_for_connections(&self) {
        self.connections.close();
        self.connections.wait().await;
    }

    #[cfg(feature = "client")]
    pub(super) fn gate(&self) -> Gate {
        self.gate.clone()
    }
}

async fn accept(
    socket: TcpListener,
    cluster: Arc<Cluster>,
    tls: TlsAcceptor,
    connections: TaskTracker,
    protocols: Protocols,
) {
    loop {
        let stream = match socket.accept().await {
            Ok((stream, _)) => stream,
            Err(error) => {
                // Usually there are no file descriptors left until other connections end.
                tracing::warn!(%error, "cannot accept a connection");
                tokio::time::sleep(std::time::Duration::from_millis(50)).await;
                continue;
            }
        };
        let number = cluster.record.count_connection();
        // The connection's own task might start after a cut that must also close this connection.
        let cut = cluster.connections();
        let tls = tls.clone();
        connections.spawn(connection(stream, number, cluster.clone(), tls, cut, protocols));
    }
}

async fn connection(
    stream: TcpStream,
    number: u64,
    cluster: Arc<Cluster>,
    tls: TlsAcceptor,
    cut: CancellationToken,
    protocols: Protocols,
) {
    let served = async {
        let _ = stream.set_nodelay(true);
        let mut first = [0];
        match stream.peek(&mut first).await {
            Ok(1..) if first[0] == TLS_HANDSHAKE => match tls.accept(stream).await {
                Ok(stream) => requests(stream, number, cluster, protocols).await,
                Err(error) => tracing::debug!(%error, "TLS handshake failed"),
            },
            Ok(1..) => requests(stream, number, cluster, protocols).await,
            _ => {}
        }
    };
    tokio::select! {
        () = served => {}
        () = cut.cancelled() => {}
    }
}

async fn requests<S>(stream: S, number: u64, cluster: Arc<Cluster>, protocols: Protocols)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let service = service_fn(move |request: Request<Incoming>| {
        let cluster = cluster.clone();
        async move { serve(&cluster, request, number).await }
    });
    let mut server = auto::Builder::new(TokioExecutor::new());
    if !protocols.http2 {
        server = server.http1_only();
    }
    server.http1().timer(TokioTimer::new());
    server.http2().max_concurrent_streams(protocols.streams);
    if let Err(error) = server.serve_connection(TokioIo::new(stream), service).await {
        tracing::debug!(%error, connection = number, "connection ended");
    }
}
