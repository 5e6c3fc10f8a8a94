//! Builds responses from status, headers and body.

use bytes::Bytes;
use http::header::{CACHE_CONTROL, CONTENT_TYPE, RETRY_AFTER, WARNING};
use http::{HeaderValue, Response, StatusCode};

use crate::request::Representation;
use crate::response::{Body, encode_json};
use crate::status::Status;

pub(super) fn respond(status: StatusCode, body: Body, representation: Representation) -> Response<Body> {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    let media_type = HeaderValue::from_static(representation.encoding.media_type());
    response.headers_mut().insert(CONTENT_TYPE, media_type);
    response
        .headers_mut()
        .insert(CACHE_CONTROL, HeaderValue::from_static("no-cache, private"));
    response
}

pub(super) fn ok(bytes: Bytes, representation: Representation) -> Response<Body> {
    respond(StatusCode::OK, Body::full(bytes), representation)
}

pub(super) fn plain(status: StatusCode, text: impl Into<Bytes>) -> Response<Body> {
    let mut response = respond(status, Body::full(text), Representation::JSON);
    let content_type = HeaderValue::from_static("text/plain; charset=utf-8");
    response.headers_mut().insert(CONTENT_TYPE, content_type);
    response
}

pub(super) fn failed(status: &Status, pretty: bool) -> Response<Body> {
    let code = StatusCode::from_u16(status.code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    // Without a negotiated representation, JSON is indented.
    let pretty = pretty || code == StatusCode::NOT_ACCEPTABLE;
    let bytes = encode_json(&status.to_json(), pretty);
    let mut response = respond(code, Body::full(bytes), Representation::JSON);
    if let Some(seconds) = status.retry_after_seconds()
        && matches!(status.code, 429 | 503 | 504)
    {
        response.headers_mut().insert(RETRY_AFTER, seconds.into());
    }
    response
}

/// Adds a warning header to a response.
pub(super) fn warn(response: &mut Response<Body>, text: &str) {
    if let Ok(value) = HeaderValue::from_str(&format!("299 - {text:?}")) {
        response.headers_mut().append(WARNING, value);
    }
}
