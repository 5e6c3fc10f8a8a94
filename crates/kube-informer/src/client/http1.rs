//! HTTP/1.1: one request at a time on each connection, and idle connections are reused.

use std::time::Duration;

use http::header::HOST;
use http::{HeaderValue, Request, Uri};
use hyper::client::conn::http1::{Builder, SendRequest};
use hyper_util::rt::TokioIo;
use kube::client::Body;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::Instant;

/// Maximum number and age of idle connections, as in client-go.
const MAX_IDLE: usize = 25;
const MAX_IDLE_TIME: Duration = Duration::from_secs(90);

/// Performs the handshake and spawns the task of the connection.
pub(super) async fn connect<S>(stream: S) -> hyper::Result<SendRequest<Body>>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let (sender, connection) = Builder::new().handshake(TokioIo::new(stream)).await?;
    tokio::spawn(async move {
        if let Err(error) = connection.with_upgrades().await {
            tracing::debug!(%error, "HTTP/1.1 connection failed");
        }
    });
    Ok(sender)
}

/// Connections without a request.
#[derive(Default)]
pub(super) struct IdleConnections(Vec<IdleConnection>);

struct IdleConnection {
    sender: SendRequest<Body>,
    since: Instant,
}

impl IdleConnections {
    pub(super) fn put(&mut self, sender: SendRequest<Body>) {
        self.0.retain(IdleConnection::is_usable);
        if self.0.len() < MAX_IDLE && !sender.is_closed() {
            let since = Instant::now();
            self.0.push(IdleConnection { sender, since });
        }
    }

    /// Returns the connection that was used last, so that superfluous ones expire.
    pub(super) fn take(&mut self) -> Option<SendRequest<Body>> {
        self.0.retain(IdleConnection::is_usable);
        self.0.pop().map(|idle| idle.sender)
    }
}

impl IdleConnection {
    fn is_usable(&self) -> bool {
        !self.sender.is_closed() && self.since.elapsed() < MAX_IDLE_TIME
    }
}

/// Changes a request to HTTP/1.1's origin form: the host in a header, and only the path in the request line.
pub(super) fn set_origin_form(request: &mut Request<Body>) {
    let uri = request.uri();
    let host = uri.authority().map(|authority| {
        let authority = authority.as_str();
        let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
        HeaderValue::from_str(host)
    });
    let path = uri.path_and_query().cloned();
    if let Some(Ok(host)) = host {
        request.headers_mut().entry(HOST).or_insert(host);
    }
    *request.uri_mut() = path.map_or_else(|| Uri::from_static("/"), Uri::from);
}
