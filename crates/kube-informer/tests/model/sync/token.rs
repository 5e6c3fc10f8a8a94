//! tokio-util's `CancellationToken` as documented, based on loom's lock.

use std::future::poll_fn;
use std::task::{Poll, Waker};

use super::Mutex;

#[derive(Default)]
struct State {
    cancelled: bool,
    waiting: Vec<Waker>,
}

pub(crate) struct CancellationToken {
    state: Mutex<State>,
}

impl CancellationToken {
    pub(crate) fn new() -> CancellationToken {
        CancellationToken {
            state: Mutex::new(State::default()),
        }
    }

    pub(crate) fn cancel(&self) {
        let woken = {
            let mut state = self.state.lock();
            state.cancelled = true;
            std::mem::take(&mut state.waiting)
        };
        woken.into_iter().for_each(Waker::wake);
    }

    pub(crate) fn is_cancelled(&self) -> bool {
        self.state.lock().cancelled
    }

    pub(crate) async fn cancelled(&self) {
        poll_fn(|context| {
            let mut state = self.state.lock();
            if state.cancelled {
                return Poll::Ready(());
            }
            state.waiting.push(context.waker().clone());
            Poll::Pending
        })
        .await;
    }
}
