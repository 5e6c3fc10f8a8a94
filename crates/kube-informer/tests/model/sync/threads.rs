//! tokio's `spawn_blocking`, with a thread for each call.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use super::{AtomicWaker, Mutex};

struct Shared<T> {
    result: Mutex<Option<T>>,
    done: AtomicWaker,
}

pub(crate) struct JoinHandle<T>(Arc<Shared<T>>);

pub(crate) fn spawn_blocking<T: Send + 'static>(call: impl FnOnce() -> T + Send + 'static) -> JoinHandle<T> {
    let shared = Arc::new(Shared {
        result: Mutex::new(None),
        done: AtomicWaker::new(),
    });
    let there = Arc::clone(&shared);
    loom::thread::spawn(move || {
        let result = call();
        *there.result.lock() = Some(result);
        there.done.wake();
    });
    JoinHandle(shared)
}

impl<T> Future for JoinHandle<T> {
    type Output = Result<T, ()>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<T, ()>> {
        self.0.done.register(context.waker());
        match self.0.result.lock().take() {
            Some(result) => Poll::Ready(Ok(result)),
            None => Poll::Pending,
        }
    }
}
