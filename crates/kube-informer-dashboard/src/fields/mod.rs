//! Fields of JSON objects: [paths](FieldPath) to them, and [differences] between two states of an object.
//!
//! The dashboard and `kubectl-informer` use this for objects of any kind.

mod difference;
mod path;
mod redaction;

use std::borrow::Cow;

use serde_json::Value;

pub(crate) use self::difference::differences_in_redacted;
pub use self::difference::{Difference, differences};
pub use self::path::{FieldPath, ParseFieldPathError};
pub(crate) use self::redaction::{is_secret, redact};

/// Returns strings without quotes, and other values as JSON.
pub(crate) fn printed(value: &Value) -> Cow<'_, str> {
    match value {
        Value::String(text) => Cow::Borrowed(text),
        other => Cow::Owned(other.to_string()),
    }
}
