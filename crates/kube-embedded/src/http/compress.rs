//! Compresses large responses with gzip.

use std::io::{self, Write as _};

use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use futures::StreamExt as _;
use http::header::{CONTENT_ENCODING, CONTENT_LENGTH, VARY};
use http::{HeaderValue, Response};

use crate::response::Body;

/// Minimum size of a compressed response, as in the real server.
const MIN_SIZE: usize = 128 * 1024;

/// Compresses a large response if the client accepts gzip.
pub(super) fn negotiated(mut response: Response<Body>, accept_encoding: &str) -> Response<Body> {
    let accepted = accept_encoding
        .split(',')
        .any(|e| e.split(';').next().is_some_and(|e| e.trim() == "gzip"));
    if !accepted {
        return response;
    }
    let body = std::mem::replace(response.body_mut(), Body::Full(None));
    let large = match &body {
        Body::Full(bytes) => bytes.as_ref().is_some_and(|b| b.len() >= MIN_SIZE),
        Body::Stream(_) => true,
    };
    if !large {
        *response.body_mut() = body;
        return response;
    }
    *response.body_mut() = gzip(body);
    let headers = response.headers_mut();
    headers.remove(CONTENT_LENGTH);
    headers.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    headers.insert(VARY, HeaderValue::from_static("Accept-Encoding"));
    response
}

fn gzip(body: Body) -> Body {
    // The real server uses level 1.
    let encoder = GzEncoder::new(Vec::new(), Compression::fast());
    let state = (body.into_stream(), Some(encoder));
    Body::stream(futures::stream::unfold(
        state,
        |(mut stream, encoder)| async move {
            let mut encoder = encoder?;
            loop {
                match stream.next().await {
                    Some(Ok(bytes)) => {
                        if let Err(error) = encoder.write_all(&bytes) {
                            return Some((Err(error), (stream, None)));
                        }
                        let ready = encoder.get_mut();
                        if ready.len() >= 16 * 1024 {
                            let chunk = Bytes::from(std::mem::take(ready));
                            return Some((Ok(chunk), (stream, Some(encoder))));
                        }
                    }
                    Some(Err(error)) => return Some((Err(error), (stream, None))),
                    None => {
                        let last: io::Result<Bytes> = encoder.finish().map(Bytes::from);
                        return Some((last, (stream, None)));
                    }
                }
            }
        },
    ))
}
