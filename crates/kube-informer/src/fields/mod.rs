//! Fields of objects that are JSON: where they are, and in which of them two states of an object differ.
//!
//! The dashboard and `kubectl-informer` read objects of any kind with this.

mod difference;
mod hidden;
mod path;

use std::borrow::Cow;

use serde_json::Value;

pub(crate) use self::difference::differences_in_shown;
pub use self::difference::{Difference, differences};
pub(crate) use self::hidden::{is_secret, redact};
pub use self::path::{BadFieldPath, FieldPath};

/// A value as people write it.
pub(crate) fn printed(value: &Value) -> Cow<'_, str> {
    match value {
        Value::String(text) => Cow::Borrowed(text),
        other => Cow::Owned(other.to_string()),
    }
}
