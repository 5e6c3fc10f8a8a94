//! Fields of objects that are JSON: where they are, and in which of them two states of an object differ.
//!
//! The dashboard and `kubectl-informer` read objects of any kind with this.

mod path;

use std::borrow::Cow;

use serde_json::Value;

pub use self::path::{BadFieldPath, FieldPath};

/// A value as people write it.
pub(crate) fn printed(value: &Value) -> Cow<'_, str> {
    match value {
        Value::String(text) => Cow::Borrowed(text),
        other => Cow::Owned(other.to_string()),
    }
}
