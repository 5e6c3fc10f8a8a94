//! The port: accepts connections, plain or TLS, HTTP/1.1 or HTTP/2, and serves requests on them.

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
use super::tls::Identity;
use crate::cluster::Cluster;
use crate::http::serve;

/// First byte of a TLS handshake.
const TLS_HANDSHAKE: u8 = 0x16;

/// The port of a server.
#[derive(Debug)]
pub(super) struct Listener {
    address: SocketAddr,
    state: Mutex<State>,
    connections: TaskTracker,
    gate: Gate,
    protocols: Protocols,
}

/// What is spoken on the port.
#[derive(Debug, Clone, Copy)]
pub(super) struct Protocols {
    pub(super) http2: bool,
    /// Requests at a time on a connection with HTTP/2.
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

/// Whether connections are let in, for clients that need none.
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
enum State {
    /// The port is ours but nobody is let in yet.
    Bound(TcpListener),
    Open(JoinHandle<()>),
    Closed,
    /// There is no port: only the gate opens and closes.
    Nowhere,
}

impl Listener {
    pub(super) async fn bind(address: SocketAddr, protocols: Protocols) -> Result<Listener, Error> {
        let failed = |source| Error::Listen { address, source };
        let socket = TcpListener::bind(address).await.map_err(failed)?;
        let address = socket.local_addr().map_err(failed)?;
        Ok(Listener {
            address,
            state: Mutex::new(State::Bound(socket)),
            connections: TaskTracker::new(),
            gate: Gate::default(),
            protocols,
        })
    }

    /// One that nobody can connect to.
    pub(super) fn nowhere(protocols: Protocols) -> Listener {
        Listener {
            address: (Ipv4Addr::LOCALHOST, 0).into(),
            state: Mutex::new(State::Nowhere),
            connections: TaskTracker::new(),
            gate: Gate::default(),
            protocols,
        }
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Lets connections in; does nothing when they are let in already.
    pub(super) async fn open(&self, cluster: &Arc<Cluster>, identity: &Identity) -> Result<(), Error> {
        let was = {
            let mut state = self.state.lock();
            match *state {
                State::Open(_) => return Ok(()),
                State::Nowhere => {
                    self.gate.set(true);
                    return Ok(());
                }
                State::Bound(_) | State::Closed => {}
            }
            std::mem::replace(&mut *state, State::Closed)
        };
        let socket = match was {
            State::Bound(socket) => socket,
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
        *self.state.lock() = State::Open(tokio::spawn(accepting));
        self.gate.set(true);
        Ok(())
    }

    /// Lets nobody in any more. Connections that exist go on.
    pub(super) async fn close(&self) {
        self.gate.set(false);
        let task = {
            let mut state = self.state.lock();
            if matches!(*state, State::Nowhere) {
                return;
            }
            std::mem::replace(&mut *state, State::Closed)
        };
        if let State::Open(task) = task {
            task.abort();
            // Only when the task has ended is the port free.
            let _ = task.await;
        }
    }

    /// Like [`close`](Listener::close), without waiting.
    pub(super) fn abort(&self) {
        self.gate.set(false);
        if let State::Open(task) = &*self.state.lock() {
            task.abort();
        }
    }

    /// Waits until every connection has ended.
    pub(super) async fn ended(&self) {
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
                // Out of file descriptors, most likely: others have to end first.
                tracing::warn!(%error, "cannot accept a connection");
                tokio::time::sleep(std::time::Duration::from_millis(50)).await;
                continue;
            }
        };
        let number = cluster.record.connected();
        // Taken here and not in the connection's own task, which may begin only after a cut that is meant for it as well.
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
