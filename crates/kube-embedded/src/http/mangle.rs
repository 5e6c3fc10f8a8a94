//! Faults that change the bytes of a response.

use std::io;
use std::time::Duration;

use bytes::Bytes;
use futures::StreamExt as _;
use http::Response;
use http::header::CONTENT_ENCODING;

use crate::faults::Fault;
use crate::response::{Body, broken_off};

/// Applies faults to the bytes of a response. `is_stream` is whether they are events of a watch.
pub(super) fn mangle(mut response: Response<Body>, faults: &[Fault], is_stream: bool) -> Response<Body> {
    for fault in faults {
        let body = std::mem::replace(response.body_mut(), Body::Full(None));
        *response.body_mut() = match fault {
            Fault::CutAfterBytes(limit) => cut(body, *limit),
            Fault::Drip(bytes, every) => drip(body, *bytes, *every),
            // The watch breaks its own JSON, after the requested number of events.
            Fault::BrokenJson(_) if !is_stream => {
                response.headers_mut().remove(CONTENT_ENCODING);
                Body::full("{\"kind\":\"List\",\"items\":[{]}\n")
            }
            _ => body,
        };
    }
    response
}

fn cut(body: Body, limit: usize) -> Body {
    let state = Some((body.into_stream(), limit));
    Body::stream(futures::stream::unfold(state, |state| async move {
        let (mut stream, left) = state?;
        if left == 0 {
            return Some((Err(broken_off("cut off by a fault").await), None));
        }
        match stream.next().await? {
            Ok(mut bytes) => {
                bytes.truncate(left);
                let left = left - bytes.len();
                Some((Ok(bytes), Some((stream, left))))
            }
            Err(error) => Some((Err(error), None)),
        }
    }))
}

fn drip(body: Body, size: usize, every: Duration) -> Body {
    let size = size.max(1);
    let drops = body.into_stream().flat_map(move |item| {
        let pieces: Vec<io::Result<Bytes>> = match item {
            Ok(mut bytes) => {
                let mut pieces = Vec::new();
                while !bytes.is_empty() {
                    pieces.push(Ok(bytes.split_to(size.min(bytes.len()))));
                }
                pieces
            }
            Err(error) => vec![Err(error)],
        };
        futures::stream::iter(pieces)
    });
    Body::stream(drops.then(move |piece| async move {
        tokio::time::sleep(every).await;
        piece
    }))
}
