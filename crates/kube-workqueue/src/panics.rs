//! Panics of what users gave: caught, so that they end neither a worker nor the item it works on.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use futures::FutureExt;

/// What a call gives, or none if it panics, which is logged.
pub(crate) fn caught<R>(queue: &str, what: &str, call: impl FnOnce() -> R) -> Option<R> {
    match catch_unwind(AssertUnwindSafe(call)) {
        Ok(given) => Some(given),
        Err(panic) => {
            let why = words(panic);
            // Who logs may be the one who panicked.
            let _ = catch_unwind(|| tracing::error!(queue, why, "{what} panicked")).map_err(words);
            None
        }
    }
}

/// What a future gives, or the words of its panic.
pub(crate) async fn caught_in<F: Future>(future: F) -> Result<F::Output, String> {
    AssertUnwindSafe(future).catch_unwind().await.map_err(words)
}

/// What a panic says.
pub(crate) fn words(panic: Box<dyn Any + Send>) -> String {
    let words = panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("without words")
        .to_owned();
    // It can be anything, also something that panics when it is dropped, and what that says can be so, too.
    if let Err(another) = catch_unwind(AssertUnwindSafe(|| drop(panic))) {
        std::mem::forget(another);
    }
    words
}
