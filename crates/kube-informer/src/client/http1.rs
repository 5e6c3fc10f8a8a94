//! Connections with HTTP/1.1: one request at a time on each, and those that are free are kept for the next.

use std::time::Duration;

use http::header::HOST;
use http::{HeaderValue, Request, Uri};
use hyper::client::conn::http1::{Builder, SendRequest};
use hyper_util::rt::TokioIo;
use kube::client::Body;
use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::Instant;

/// How many free connections are kept, and how long; as client-go.
const MOST_IDLE: usize = 25;
const LONGEST_IDLE: Duration = Duration::from_secs(90);

/// What a connection runs over.
pub(super) trait Stream: AsyncRead + AsyncWrite + Unpin + Send + 'static {}

impl<S: AsyncRead + AsyncWrite + Unpin + Send + 'static> Stream for S {}

pub(super) type Sender = SendRequest<Body>;

/// Free connections.
#[derive(Default)]
pub(super) struct Pool(Mutex<Vec<Idle>>);

struct Idle {
    sender: Sender,
    since: Instant,
}

pub(super) async fn begin<S: Stream>(io: TokioIo<S>) -> hyper::Result<Sender> {
    let (sender, connection) = Builder::new().handshake(io).await?;
    tokio::spawn(async move {
        if let Err(error) = connection.with_upgrades().await {
            tracing::debug!(%error, "a connection with HTTP/1.1 ended");
        }
    });
    Ok(sender)
}

impl Pool {
    pub(super) fn put(&self, sender: Sender) {
        let mut idle = self.0.lock();
        idle.retain(Idle::is_usable);
        if idle.len() < MOST_IDLE && !sender.is_closed() {
            let since = Instant::now();
            idle.push(Idle { sender, since });
        }
    }

    /// A free connection, the one used last: those that are not needed get old.
    pub(super) async fn take(&self) -> Option<Sender> {
        loop {
            let Idle { mut sender, .. } = {
                let mut idle = self.0.lock();
                idle.retain(Idle::is_usable);
                idle.pop()?
            };
            if sender.ready().await.is_ok() {
                return Some(sender);
            }
        }
    }
}

impl Idle {
    fn is_usable(&self) -> bool {
        !self.sender.is_closed() && self.since.elapsed() < LONGEST_IDLE
    }
}

/// The request as HTTP/1.1 wants it: the server in a header, the path in the first line.
pub(super) fn in_origin_form(request: &mut Request<Body>) {
    let uri = request.uri();
    let host = uri.authority().map(|authority| {
        let all = authority.as_str();
        let host = all.rsplit_once('@').map_or(all, |(_, host)| host);
        HeaderValue::from_str(host)
    });
    let path = uri.path_and_query().cloned();
    if let Some(Ok(host)) = host {
        request.headers_mut().entry(HOST).or_insert(host);
    }
    *request.uri_mut() = path.map_or_else(|| Uri::from_static("/"), Uri::from);
}
