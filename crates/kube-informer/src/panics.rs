//! Words for panics of users' functions.

use std::any::Any;

/// What a panic said, if it said something.
pub(crate) fn message(panic: &(dyn Any + Send)) -> &str {
    if let Some(text) = panic.downcast_ref::<&str>() {
        text
    } else if let Some(text) = panic.downcast_ref::<String>() {
        text
    } else {
        "(no message)"
    }
}
