//! Failures as reported by the server.

use std::time::Duration;

use bytes::BytesMut;
use http::Response;
use http::header::RETRY_AFTER;
use http_body_util::BodyExt;
use kube::client::Body;
use kube::core::Status;
use kube_wire::FieldMask;
use kube_wire::protobuf::{Envelope, Schema};

use crate::error::{Error, StatusError, shortened};

/// Maximum size of the body of a failure, which is only read for its message.
const MAX_FAILURE_BYTES: usize = 1 << 20;

/// Maximum number of causes of a failure.
const MAX_CAUSES: usize = 100;

/// Converts a failed response to an error.
pub(crate) async fn failure(response: Response<Body>) -> Error {
    let code = response.status().as_u16();
    let retry_after = response
        .headers()
        .get(RETRY_AFTER)
        .and_then(|value| value.to_str().ok()?.parse().ok())
        .map(Duration::from_secs);
    let body = read_body(response.into_body()).await;
    let mut status = match parse_status(&body) {
        Some(status) if !(status.message.is_empty() && status.reason.is_empty()) => {
            status_error(status, code)
        }
        // Proxies respond with other formats, of which the first line is enough.
        _ => StatusError {
            code,
            message: String::from_utf8_lossy(&body)
                .lines()
                .next()
                .unwrap_or_default()
                .chars()
                .take(200)
                .collect(),
            ..StatusError::default()
        },
    };
    status.retry_after = status.retry_after.or(retry_after);
    Error::status(status)
}

/// Parses a `Status` in JSON or protobuf.
fn parse_status(body: &[u8]) -> Option<Status> {
    match Envelope::parse(body) {
        Ok(envelope) if (envelope.api_version, envelope.kind) == ("v1", "Status") => {
            status_schema().decode(envelope.raw, &FieldMask::none()).ok()
        }
        _ => serde_json::from_slice(body).ok(),
    }
}

/// Returns the protobuf schema of `Status`.
pub(super) fn status_schema() -> Schema {
    Schema::of("v1", "Status").expect("a test checks that the table contains Status")
}

/// Reads the beginning of a failure's body.
async fn read_body(mut body: Body) -> BytesMut {
    let mut content = BytesMut::new();
    while content.len() < MAX_FAILURE_BYTES
        && let Some(Ok(frame)) = body.frame().await
    {
        if let Ok(data) = frame.into_data() {
            content.extend_from_slice(&data);
        }
    }
    content
}

/// Converts a `Status`. `code` is used if the status has none.
pub(super) fn status_error(status: Status, code: u16) -> StatusError {
    let (causes, retry_after) = match status.details {
        Some(details) => (details.causes, details.retry_after_seconds),
        None => (Vec::new(), 0),
    };
    StatusError {
        code: if status.code == 0 { code } else { status.code },
        reason: shortened(status.reason),
        message: shortened(status.message),
        causes: causes
            .into_iter()
            .take(MAX_CAUSES)
            .map(|cause| shortened(cause.reason))
            .collect(),
        retry_after: (retry_after > 0).then(|| Duration::from_secs(retry_after.into())),
    }
}
