//! Catches panics of user code.
//!
//! kube-workqueue has a similar module. Sharing it would need a public API for panics in that crate, which does not belong to
//! a work queue.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use futures::FutureExt;

/// Calls a function of the user. If it panics, returns the message of the panic.
pub(crate) fn caught<R>(call: impl FnOnce() -> R) -> Result<R, String> {
    catch_unwind(AssertUnwindSafe(call)).map_err(message)
}

/// Awaits a future of the user. If it panics, returns the message of the panic.
pub(crate) fn caught_in<F: Future>(future: F) -> impl Future<Output = Result<F::Output, String>> {
    let caught = AssertUnwindSafe(future).catch_unwind();
    caught.map(|result| result.map_err(message))
}

/// Drops a value of the user. A panic is logged, so that the caller can continue.
pub(crate) fn drop_logged<T>(what: &str, value: T) {
    if let Err(panic) = caught(|| drop(value)) {
        tracing::error!(panic, "dropping {what} panicked");
    }
}

/// Returns the message of a panic and drops its payload.
fn message(panic: Box<dyn Any + Send>) -> String {
    let message = panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("(no message)")
        .to_owned();
    // The payload can be of any type. Dropping it may panic, with another such payload.
    if let Err(another) = catch_unwind(AssertUnwindSafe(|| drop(panic))) {
        std::mem::forget(another);
    }
    message
}
