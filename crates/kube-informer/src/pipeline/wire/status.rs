//! Failures, as the server tells them.

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

/// A failure's body is read for its words only.
const MAX_FAILURE_BYTES: usize = 1 << 20;

/// How many causes of a failure are kept.
const MAX_CAUSES: usize = 100;

/// The answer to a request, which is a failure.
pub(crate) async fn failure(response: Response<Body>) -> Error {
    let code = response.status().as_u16();
    let retry_after = response
        .headers()
        .get(RETRY_AFTER)
        .and_then(|value| value.to_str().ok()?.parse().ok())
        .map(Duration::from_secs);
    let body = words(response.into_body()).await;
    let mut status = match read(&body) {
        Some(status) if !(status.message.is_empty() && status.reason.is_empty()) => {
            status_error(status, code)
        }
        // A proxy answers in its own words; the first line of them is enough.
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

/// A `Status` in whichever format the server chose.
fn read(body: &[u8]) -> Option<Status> {
    match Envelope::parse(body) {
        Ok(envelope) if (envelope.api_version, envelope.kind) == ("v1", "Status") => {
            status_schema().decode(envelope.raw, &FieldMask::none()).ok()
        }
        _ => serde_json::from_slice(body).ok(),
    }
}

/// What a `Status` looks like in protobuf.
pub(super) fn status_schema() -> Schema {
    Schema::of("v1", "Status").expect("the table has it; a test says so")
}

/// The beginning of a failure's body, as far as it came.
async fn words(mut body: Body) -> BytesMut {
    let mut words = BytesMut::new();
    while words.len() < MAX_FAILURE_BYTES
        && let Some(Ok(frame)) = body.frame().await
    {
        if let Ok(data) = frame.into_data() {
            words.extend_from_slice(&data);
        }
    }
    words
}

/// A `Status` of the server as an error; `code` is used where the status has none.
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
