//! Models of the primitives in `src/util/sync.rs`.

#[path = "../../../../kube-workqueue/tests/model/sync/mutex.rs"]
mod mutex;
mod threads;
mod token;

use std::task::Waker;

pub(crate) use loom::thread::yield_now;

pub(crate) use self::mutex::Mutex;
pub(crate) use self::threads::spawn_blocking;
pub(crate) use self::token::CancellationToken;

/// Loom's waker with the signature of the one in `futures`.
pub(crate) struct AtomicWaker(loom::future::AtomicWaker);

impl AtomicWaker {
    pub(crate) fn new() -> AtomicWaker {
        AtomicWaker(loom::future::AtomicWaker::new())
    }

    pub(crate) fn register(&self, waker: &Waker) {
        self.0.register_by_ref(waker);
    }

    pub(crate) fn wake(&self) {
        self.0.wake();
    }
}
