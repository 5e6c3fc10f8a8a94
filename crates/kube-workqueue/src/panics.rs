//! Catches panics of user code, so that they end neither a worker nor the processing of an item.
//!
//! kube-informer has a similar module. Sharing it would need a public API for panics in this crate, which does not belong
//! to a work queue.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use futures::FutureExt;

/// Calls a function. If it panics, logs the panic and returns none.
pub(crate) fn catch<R>(queue: &str, what: &str, call: impl FnOnce() -> R) -> Option<R> {
    match catch_unwind(AssertUnwindSafe(call)) {
        Ok(value) => Some(value),
        Err(panic) => {
            let panic = message(panic);
            // The `tracing` subscriber itself may have panicked.
            let _ = catch_unwind(|| tracing::error!(queue, panic, "{what} panicked")).map_err(message);
            None
        }
    }
}

/// Awaits a future. If it panics, returns the message of the panic.
pub(crate) async fn catch_async<F: Future>(future: F) -> Result<F::Output, String> {
    AssertUnwindSafe(future).catch_unwind().await.map_err(message)
}

/// Returns the message of a panic.
pub(crate) fn message(panic: Box<dyn Any + Send>) -> String {
    let message = panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("(no message)")
        .to_owned();
    // The payload can be of any type, also one that panics when it is dropped, with such a payload again.
    if let Err(another) = catch_unwind(AssertUnwindSafe(|| drop(panic))) {
        std::mem::forget(another);
    }
    message
}
