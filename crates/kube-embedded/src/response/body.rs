//! Bodies of responses.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use futures::Stream;
use http_body::{Frame, SizeHint};

/// The body of a response: bytes, or a stream of bytes.
pub(crate) enum Body {
    Full(Option<Bytes>),
    Stream(Pin<Box<dyn Stream<Item = io::Result<Bytes>> + Send>>),
}

impl Body {
    pub(crate) fn full(bytes: impl Into<Bytes>) -> Body {
        Body::Full(Some(bytes.into()))
    }

    pub(crate) fn stream(stream: impl Stream<Item = io::Result<Bytes>> + Send + 'static) -> Body {
        Body::Stream(Box::pin(stream))
    }

    /// Returns the bytes as a stream.
    pub(crate) fn into_stream(self) -> Pin<Box<dyn Stream<Item = io::Result<Bytes>> + Send>> {
        match self {
            Body::Full(bytes) => Box::pin(futures::stream::iter(bytes.map(Ok))),
            Body::Stream(stream) => stream,
        }
    }
}

/// Time to send preceding bytes before a connection is broken.
const HEAD_START: Duration = Duration::from_millis(20);

/// Returns the error that breaks a connection, after a delay: hyper drops bytes that it has not sent when it receives an
/// error.
pub(crate) async fn broken_off(why: &'static str) -> io::Error {
    tokio::time::sleep(HEAD_START).await;
    io::Error::new(io::ErrorKind::ConnectionReset, why)
}

impl std::fmt::Debug for Body {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Body::Full(bytes) => write!(f, "Body({} bytes)", bytes.as_ref().map_or(0, Bytes::len)),
            Body::Stream(_) => f.write_str("Body(stream)"),
        }
    }
}

impl http_body::Body for Body {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        match self.get_mut() {
            Body::Full(bytes) => {
                Poll::Ready(bytes.take().filter(|b| !b.is_empty()).map(|b| Ok(Frame::data(b))))
            }
            Body::Stream(stream) => stream
                .as_mut()
                .poll_next(cx)
                .map(|item| item.map(|bytes| bytes.map(Frame::data))),
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self, Body::Full(None))
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Body::Full(bytes) => SizeHint::with_exact(bytes.as_ref().map_or(0, Bytes::len) as u64),
            Body::Stream(_) => SizeHint::default(),
        }
    }
}
