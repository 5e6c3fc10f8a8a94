//! The body of an answer, which keeps its place on a connection until it ends.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;

use super::http1::{Pool, Sender};
use super::http2::Stream;

/// A body as it arrives.
pub(super) struct Arriving {
    // Dropped in this order: the stream is given up before its place is free.
    body: Incoming,
    place: Option<Place>,
}

/// What a request takes up.
pub(super) enum Place {
    Stream(#[expect(dead_code, reason = "dropping it is what it is for")] Stream),
    /// A whole connection, and where it goes when the body has ended.
    Connection(Sender, Arc<Pool>),
}

impl Arriving {
    pub(super) fn new(body: Incoming, place: Place) -> Arriving {
        let mut arriving = Arriving {
            body,
            place: Some(place),
        };
        arriving.leave_if_ended();
        arriving
    }

    fn leave_if_ended(&mut self) {
        if self.body.is_end_stream() {
            self.leave();
        }
    }

    /// The body has ended well: what it took up is free. One that breaks off or is given up takes its connection, if it
    /// had its own, with it.
    fn leave(&mut self) {
        if let Some(Place::Connection(sender, pool)) = self.place.take() {
            pool.put(sender);
        }
    }
}

impl Body for Arriving {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<hyper::Result<Frame<Bytes>>>> {
        let frame = ready!(Pin::new(&mut self.body).poll_frame(cx));
        match &frame {
            Some(Ok(_)) => self.leave_if_ended(),
            Some(Err(_)) => self.place = None,
            None => self.leave(),
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
