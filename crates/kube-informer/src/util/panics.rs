//! Catches panics of user code.
//!
//! kube-workqueue has a similar module. Sharing it would need a public API for panics in that crate, which does not belong to
//! a work queue.

use std::any::Any;
use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::task::Poll;

/// Calls a function of the user. If it panics, returns the message of the panic.
pub(crate) fn caught<R>(call: impl FnOnce() -> R) -> Result<R, String> {
    catch_unwind(AssertUnwindSafe(call)).map_err(message)
}

/// Awaits a future of the user and drops it. If it panics, returns the message of the panic.
pub(crate) async fn caught_in<F: Future>(future: F) -> Result<F::Output, String> {
    let mut future = pin!(Some(future));
    let ended = poll_fn(|context| match future.as_mut().as_pin_mut() {
        Some(future) => match caught(|| future.poll(context)) {
            Ok(poll) => poll.map(Ok),
            Err(panic) => Poll::Ready(Err(panic)),
        },
        None => Poll::Pending,
    });
    let ended = ended.await;
    let dropped = caught(|| future.set(None));
    ended.and_then(|output| dropped.map(|()| output))
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

#[cfg(test)]
mod tests {
    use std::task::Poll;

    use super::caught_in;

    /// Panics when it is dropped.
    struct PanicsInDrop;

    impl Drop for PanicsInDrop {
        fn drop(&mut self) {
            assert!(std::thread::panicking(), "in drop");
        }
    }

    #[tokio::test]
    async fn a_future_is_dropped_where_panics_are_caught() {
        let dropped = PanicsInDrop;
        let ready = std::future::poll_fn(move |_| {
            let _ = &dropped;
            Poll::Ready(1)
        });
        assert_eq!(caught_in(ready).await, Err("in drop".to_owned()));

        let dropped = PanicsInDrop;
        let panicking = std::future::poll_fn(move |_| -> Poll<()> {
            let _ = &dropped;
            panic!("in poll")
        });
        assert_eq!(caught_in(panicking).await, Err("in poll".to_owned()));
        assert_eq!(caught_in(async { 2 }).await, Ok(2));
    }
}
