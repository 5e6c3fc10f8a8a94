//! Requests to one server over as few connections as can be.

use std::io;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures::future::BoxFuture;
use http::header::{HOST, UPGRADE};
use http::{Request, Response, StatusCode};
use kube::client::Body;
use tower::{BoxError, Service};

use super::body::{Arriving, Place};
use super::connect::{Connected, Connector, Offer};
use super::single_flight::{AttemptGuard, Cancelled, Found, SingleFlight};
use super::unreachable::{Step, Unreachable};
use super::{http1, http2};

/// Sends requests to one server.
#[derive(Clone)]
pub(super) struct Transport(Arc<Lines>);

/// The connections.
struct Lines {
    connector: Connector,
    /// Requests that need a shared connection wait for the same attempt.
    state: Arc<SingleFlight<State, Result<Learned, Unreachable>>>,
    idle: Arc<http1::Pool>,
}

struct State {
    /// With HTTP/2; the first that has room is used, so that those behind it run empty.
    shared: Vec<Arc<http2::Connection>>,
    /// What the server spoke last is HTTP/1.1: everyone needs a connection of his own, and waits for nobody.
    separate: bool,
}

/// What came of an attempt.
#[derive(Clone)]
enum Learned {
    Http2(Arc<http2::Connection>),
    /// The connection is among the free ones.
    Http1,
}

/// How a request can go on without a new shared connection.
enum Route {
    Shared(http2::Stream),
    /// By a connection of its own.
    Separate,
}

/// What one request goes over.
enum Line {
    Http2(http2::Stream),
    Http1(http1::Sender),
}

impl Transport {
    pub(super) fn new(connector: Connector) -> Transport {
        let state = State {
            shared: Vec::new(),
            separate: !connector.may_give_http2(),
        };
        Transport(Arc::new(Lines {
            connector,
            state: Arc::new(SingleFlight::new(state)),
            idle: Arc::default(),
        }))
    }
}

impl Service<Request<Body>> for Transport {
    type Response = Response<Arriving>;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<Response<Arriving>, BoxError>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let lines = Arc::clone(&self.0);
        Box::pin(lines.send(request))
    }
}

impl Lines {
    /// Sends a request. If the connection closed before any of it was sent, it goes over a new one, once. What was sent is
    /// never sent again: only the one who asks knows whether that does harm.
    async fn send(self: Arc<Lines>, mut request: Request<Body>) -> Result<Response<Arriving>, BoxError> {
        let uri = request.uri().clone();
        let offer = if request.headers().contains_key(UPGRADE) {
            Offer::OnlyHttp1
        } else {
            Offer::Any
        };
        let line = self.line(offer).await?;
        let (unsent, error) = match self.send_over(line, request).await {
            Ok(response) => return Ok(response),
            Err(NotAnswered { unsent: None, error }) => return Err(error.into()),
            Err(NotAnswered {
                unsent: Some(unsent),
                error,
            }) => (unsent, error),
        };
        tracing::debug!(%error, server = %self.connector.server, "a connection closed before a request was sent; a new one is made");
        request = *unsent;
        *request.uri_mut() = uri;
        let line = self.fresh_line(offer).await?;
        let sent = self.send_over(line, request).await;
        sent.map_err(|not_answered| not_answered.error.into())
    }

    async fn send_over(
        &self,
        line: Line,
        mut request: Request<Body>,
    ) -> Result<Response<Arriving>, NotAnswered> {
        match line {
            Line::Http2(stream) => {
                request.headers_mut().remove(HOST);
                match stream.sender().try_send_request(request).await {
                    Ok(response) => Ok(response.map(|body| Arriving::new(body, Place::Stream(stream)))),
                    Err(error) => {
                        let error = NotAnswered::from(error);
                        if error.unsent.is_some() {
                            self.retire(stream.connection());
                        }
                        Err(error)
                    }
                }
            }
            Line::Http1(mut sender) => {
                http1::in_origin_form(&mut request);
                let response = sender.try_send_request(request).await?;
                // A connection that was taken over for something else does not come back.
                let pool = if response.status() == StatusCode::SWITCHING_PROTOCOLS {
                    Arc::default()
                } else {
                    Arc::clone(&self.idle)
                };
                Ok(response.map(|body| Arriving::new(body, Place::Connection(sender, pool))))
            }
        }
    }

    /// A connection with room for a request.
    ///
    /// # Cancel safety
    /// Nothing is lost when the future is dropped: a connection on its way is made all the same, for whoever comes next.
    async fn line(self: &Arc<Lines>, offer: Offer) -> Result<Line, Unreachable> {
        if offer == Offer::OnlyHttp1 {
            return self.own_line(offer).await;
        }
        loop {
            let found = self
                .state
                .find_or_wait(State::route, |attempt| self.begin(attempt));
            match found.await {
                Ok(Found::Found(Route::Shared(stream))) => return Ok(Line::Http2(stream)),
                Ok(Found::Found(Route::Separate)) => {
                    return match self.idle.take().await {
                        Some(sender) => Ok(Line::Http1(sender)),
                        None => self.own_line(offer).await,
                    };
                }
                Ok(Found::Waited(outcome)) => {
                    if let Learned::Http2(connection) = outcome? {
                        match connection.stream() {
                            Some(stream) => return Ok(Line::Http2(stream)),
                            // Others were faster, and took all of it.
                            None if connection.is_open() => {}
                            None => return Err(self.connector.failed(Step::Closed)),
                        }
                    }
                }
                Err(Cancelled) => {
                    let cause = io::Error::other("the task that connects was cancelled");
                    return Err(self.connector.failed(Step::Tcp).because(cause));
                }
            }
        }
    }

    /// As [`Lines::line`], and not a free connection that may be as dead as the last one was.
    async fn fresh_line(self: &Arc<Lines>, offer: Offer) -> Result<Line, Unreachable> {
        let separate = self.state.with(|state| state.separate);
        if separate {
            self.own_line(offer).await
        } else {
            self.line(offer).await
        }
    }

    /// A new connection for one request; or a place on a shared one, if the server has learned HTTP/2 meanwhile.
    async fn own_line(&self, offer: Offer) -> Result<Line, Unreachable> {
        match self.connector.connect(offer).await? {
            Connected::Http1(sender) => Ok(Line::Http1(sender)),
            Connected::Http2(connection) => self.state.with(|state| {
                state.separate = false;
                if let Some(stream) = state.stream() {
                    return Ok(Line::Http2(stream));
                }
                let stream = connection.stream();
                state.shared.push(connection);
                stream
                    .map(Line::Http2)
                    .ok_or_else(|| self.connector.failed(Step::Closed))
            }),
        }
    }

    /// Begins the attempt that everyone waits for. It is a task of its own: whoever waits may stop waiting.
    fn begin(self: &Arc<Lines>, attempt: AttemptGuard<State, Result<Learned, Unreachable>>) {
        let lines = Arc::clone(self);
        tokio::spawn(async move {
            let connected = lines.connector.connect(Offer::Any).await;
            attempt.finish(|state| {
                Ok(match connected? {
                    Connected::Http2(connection) => {
                        state.shared.push(Arc::clone(&connection));
                        Learned::Http2(connection)
                    }
                    Connected::Http1(sender) => {
                        state.separate = true;
                        lines.idle.put(sender);
                        Learned::Http1
                    }
                })
            });
        });
    }

    fn retire(&self, closed: &Arc<http2::Connection>) {
        let is_other = |connection: &Arc<http2::Connection>| !Arc::ptr_eq(connection, closed);
        self.state.with(|state| state.shared.retain(is_other));
    }
}

impl State {
    fn route(&mut self) -> Option<Route> {
        match self.stream() {
            Some(stream) => Some(Route::Shared(stream)),
            None => self.separate.then_some(Route::Separate),
        }
    }

    /// A place on a connection that is there.
    fn stream(&mut self) -> Option<http2::Stream> {
        self.shared.retain(|connection| connection.is_open());
        self.shared.iter().find_map(http2::Connection::stream)
    }
}

/// A request without an answer; with the request itself, if none of it was sent.
struct NotAnswered {
    unsent: Option<Box<Request<Body>>>,
    error: hyper::Error,
}

impl From<hyper::client::conn::TrySendError<Request<Body>>> for NotAnswered {
    fn from(mut error: hyper::client::conn::TrySendError<Request<Body>>) -> NotAnswered {
        NotAnswered {
            unsent: error.take_message().map(Box::new),
            error: error.into_error(),
        }
    }
}
