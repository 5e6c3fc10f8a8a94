//! The connection pool: sends requests to one server over as few connections as possible.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use futures::future::BoxFuture;
use http::header::{HOST, UPGRADE};
use http::{Request, Response, StatusCode};
use http_body::{Body as HttpBody, Frame, SizeHint};
use hyper::body::Incoming;
use hyper::client::conn::{TrySendError, http1::SendRequest};
use kube::client::Body;
use tower::{BoxError, Service};

use super::connect::{Connector, NewConnection, Protocols};
use super::connect_error::{ConnectError, ConnectStep};
use super::http1::{IdleConnections, set_origin_form};
use super::http2::{Http2Connection, StreamSlot};
use super::single_flight::{AttemptCancelled, AttemptGuard, FindResult, SingleFlight};

/// A service that sends requests to one server. Clones share the connections.
#[derive(Clone)]
pub(super) struct PooledTransport(Arc<Pool>);

struct Pool {
    connector: Connector,
    /// Requests without a connection wait for the same attempt to connect.
    connections: Arc<SingleFlight<Connections, AttemptResult>>,
}

/// The HTTP/2 connection that an attempt opened; none if it opened an HTTP/1.1 connection, which is idle then.
type AttemptResult = Result<Option<Arc<Http2Connection>>, ConnectError>;

struct Connections {
    /// The first connection with a free stream is used, so the last ones become unused.
    http2: Vec<Arc<Http2Connection>>,
    idle_http1: IdleConnections,
    /// The server chose HTTP/1.1 last, so each request needs its own connection and waits for no attempt.
    is_http1: bool,
}

/// Exclusive use of a stream or a connection for one request.
enum Lease {
    Http2(StreamSlot),
    Http1(SendRequest<Body>),
}

/// How a request continues if it does not have to wait for an attempt to connect.
enum Route {
    Use(Lease),
    OpenConnection,
}

impl PooledTransport {
    pub(super) fn new(connector: Connector) -> PooledTransport {
        let connections = Connections {
            http2: Vec::new(),
            idle_http1: IdleConnections::default(),
            is_http1: !connector.supports_http2(),
        };
        PooledTransport(Arc::new(Pool {
            connector,
            connections: Arc::new(SingleFlight::new(connections)),
        }))
    }
}

impl Service<Request<Body>> for PooledTransport {
    type Response = Response<PooledBody>;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<Response<PooledBody>, BoxError>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        Box::pin(Arc::clone(&self.0).send(request))
    }
}

impl Pool {
    /// Sends a request. If the connection closes before any part of the request is sent, sends it once more over another
    /// connection. A request that was sent in part is never repeated: only the caller knows whether it is idempotent.
    async fn send(self: Arc<Pool>, request: Request<Body>) -> Result<Response<PooledBody>, BoxError> {
        let uri = request.uri().clone();
        let protocols = if request.headers().contains_key(UPGRADE) {
            Protocols::OnlyHttp1
        } else {
            Protocols::Any
        };
        let lease = self.lease(protocols).await?;
        let mut error = match self.send_over(lease, request).await {
            Ok(response) => return Ok(response),
            Err(error) => error,
        };
        let Some(mut request) = error.take_message() else {
            return Err(error.into_error().into());
        };
        tracing::debug!(error = %error.error(), server = %self.connector.server, "connection closed before a request was sent; retrying on a new connection");
        *request.uri_mut() = uri;
        let lease = self.fresh_lease(protocols).await?;
        let sent = self.send_over(lease, request).await;
        sent.map_err(|error| error.into_error().into())
    }

    async fn send_over(
        self: &Arc<Pool>,
        lease: Lease,
        mut request: Request<Body>,
    ) -> Result<Response<PooledBody>, Box<TrySendError<Request<Body>>>> {
        match lease {
            Lease::Http2(slot) => {
                request.headers_mut().remove(HOST);
                match slot.sender().try_send_request(request).await {
                    Ok(response) => Ok(self.pooled(response, Some(Lease::Http2(slot)))),
                    Err(error) => {
                        if error.message().is_some() {
                            self.remove(slot.connection());
                        }
                        Err(Box::new(error))
                    }
                }
            }
            Lease::Http1(mut sender) => {
                set_origin_form(&mut request);
                let response = sender.try_send_request(request).await.map_err(Box::new)?;
                // After an upgrade the connection speaks another protocol and cannot be reused.
                let is_reusable = response.status() != StatusCode::SWITCHING_PROTOCOLS;
                Ok(self.pooled(response, is_reusable.then_some(Lease::Http1(sender))))
            }
        }
    }

    fn pooled(self: &Arc<Pool>, response: Response<Incoming>, lease: Option<Lease>) -> Response<PooledBody> {
        response.map(|body| {
            let mut body = PooledBody {
                body,
                lease,
                pool: Arc::clone(self),
            };
            body.release_if_complete();
            body
        })
    }

    /// Returns a stream or a connection for one request.
    ///
    /// # Cancel safety
    /// An attempt to connect continues if the future is dropped, and later requests use its connection.
    async fn lease(self: &Arc<Pool>, protocols: Protocols) -> Result<Lease, ConnectError> {
        if protocols == Protocols::OnlyHttp1 {
            return self.open(protocols).await;
        }
        loop {
            let found = self
                .connections
                .find_or_wait(Connections::route, |attempt| self.start_attempt(attempt));
            match found.await {
                Ok(FindResult::Found(Route::Use(Lease::Http1(mut sender)))) => {
                    // The server may have closed it: then try the next one.
                    if sender.ready().await.is_ok() {
                        return Ok(Lease::Http1(sender));
                    }
                }
                Ok(FindResult::Found(Route::Use(lease))) => return Ok(lease),
                Ok(FindResult::Found(Route::OpenConnection)) => return self.open(protocols).await,
                Ok(FindResult::Waited(result)) => {
                    // If it is open, the next iteration uses it, or starts another attempt because all its streams are used.
                    if result?.is_some_and(|connection| !connection.is_open()) {
                        return Err(self.connector.error(ConnectStep::Closed));
                    }
                }
                Err(AttemptCancelled) => {
                    let cause = io::Error::other("the task that connects was cancelled");
                    return Err(self.connector.error(ConnectStep::Tcp).because(cause));
                }
            }
        }
    }

    /// Like [`Pool::lease`], but does not use an idle HTTP/1.1 connection, which may be closed like the previous one.
    async fn fresh_lease(self: &Arc<Pool>, protocols: Protocols) -> Result<Lease, ConnectError> {
        if self.connections.with(|connections| connections.is_http1) {
            self.open(protocols).await
        } else {
            self.lease(protocols).await
        }
    }

    /// Opens a connection for one request. If the server chooses HTTP/2, the connection is shared.
    async fn open(&self, protocols: Protocols) -> Result<Lease, ConnectError> {
        match self.connector.connect(protocols).await? {
            NewConnection::Http1(sender) => Ok(Lease::Http1(sender)),
            NewConnection::Http2(connection) => self.connections.with(|connections| {
                connections.is_http1 = false;
                if let Some(slot) = connections.free_stream() {
                    return Ok(Lease::Http2(slot));
                }
                let slot = connection.reserve();
                connections.http2.push(connection);
                slot.map(Lease::Http2)
                    .ok_or_else(|| self.connector.error(ConnectStep::Closed))
            }),
        }
    }

    /// Starts the attempt to connect that all requests wait for, in its own task: each request may be cancelled.
    fn start_attempt(self: &Arc<Pool>, attempt: AttemptGuard<Connections, AttemptResult>) {
        let pool = Arc::clone(self);
        tokio::spawn(async move {
            let connected = pool.connector.connect(Protocols::Any).await;
            attempt.finish(|connections| match connected? {
                NewConnection::Http2(connection) => {
                    connections.http2.push(Arc::clone(&connection));
                    Ok(Some(connection))
                }
                NewConnection::Http1(sender) => {
                    connections.is_http1 = true;
                    connections.idle_http1.put(sender);
                    Ok(None)
                }
            });
        });
    }

    /// Removes a closed HTTP/2 connection.
    fn remove(&self, closed: &Arc<Http2Connection>) {
        let is_other = |connection: &Arc<Http2Connection>| !Arc::ptr_eq(connection, closed);
        self.connections
            .with(|connections| connections.http2.retain(is_other));
    }
}

impl Connections {
    fn route(&mut self) -> Option<Route> {
        if let Some(slot) = self.free_stream() {
            return Some(Route::Use(Lease::Http2(slot)));
        }
        self.is_http1.then(|| match self.idle_http1.take() {
            Some(sender) => Route::Use(Lease::Http1(sender)),
            None => Route::OpenConnection,
        })
    }

    fn free_stream(&mut self) -> Option<StreamSlot> {
        self.http2.retain(|connection| connection.is_open());
        self.http2.iter().find_map(Http2Connection::reserve)
    }
}

/// The body of a response. It keeps the lease of its request until it ends.
pub(super) struct PooledBody {
    // Dropped in this order: the stream is reset before its slot is free.
    body: Incoming,
    lease: Option<Lease>,
    pool: Arc<Pool>,
}

impl PooledBody {
    fn release_if_complete(&mut self) {
        if self.body.is_end_stream() {
            self.release();
        }
    }

    /// Releases the lease after a complete body. An HTTP/1.1 connection with an incomplete body cannot be reused: it closes
    /// when the lease is dropped.
    fn release(&mut self) {
        if let Some(Lease::Http1(sender)) = self.lease.take() {
            self.pool
                .connections
                .with(|connections| connections.idle_http1.put(sender));
        }
    }
}

impl HttpBody for PooledBody {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<hyper::Result<Frame<Bytes>>>> {
        let frame = ready!(Pin::new(&mut self.body).poll_frame(cx));
        match &frame {
            Some(Ok(_)) => self.release_if_complete(),
            Some(Err(_)) => self.lease = None,
            None => self.release(),
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
