//! A model of tokio's `Notify` with loom's lock. [`tests`] compares it with tokio's.

use std::collections::VecDeque;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use super::Mutex;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Notification {
    None,
    /// By `notify_one`: if it is dropped without being polled, another is notified.
    One,
    /// By `notify_waiters`.
    All,
}

struct NotifyWaiter {
    id: u64,
    notification: Notification,
    waker: Option<Waker>,
}

#[derive(Default)]
struct NotifyState {
    permit: bool,
    /// Number of calls of `notify_waiters`. A call also notifies futures that were created before and not
    /// polled yet.
    rounds: u64,
    waiters: VecDeque<NotifyWaiter>,
    next: u64,
}

impl NotifyState {
    fn tell_one(&mut self) -> Option<Waker> {
        let first = self
            .waiters
            .iter_mut()
            .find(|waiter| waiter.notification == Notification::None);
        let Some(first) = first else {
            self.permit = true;
            return None;
        };
        first.notification = Notification::One;
        first.waker.take()
    }

    fn remove(&mut self, id: u64) -> Notification {
        let at = self.waiters.iter().position(|waiter| waiter.id == id);
        let waiter = at.and_then(|at| self.waiters.remove(at));
        waiter.map_or(Notification::None, |waiter| waiter.notification)
    }
}

pub(crate) struct Notify {
    state: Mutex<NotifyState>,
}

impl Notify {
    pub(crate) fn new() -> Notify {
        Notify {
            state: Mutex::new(NotifyState::default()),
        }
    }

    pub(crate) fn notify_one(&self) {
        let woken = self.state.lock().tell_one();
        woken.into_iter().for_each(Waker::wake);
    }

    pub(crate) fn notify_waiters(&self) {
        let woken: Vec<Waker> = {
            let mut state = self.state.lock();
            state.rounds += 1;
            let waiting = state.waiters.iter_mut();
            let untold = waiting.filter(|waiter| waiter.notification == Notification::None);
            untold
                .filter_map(|waiter| {
                    waiter.notification = Notification::All;
                    waiter.waker.take()
                })
                .collect()
        };
        woken.into_iter().for_each(Waker::wake);
    }

    pub(crate) fn notified(&self) -> Notified<'_> {
        Notified {
            notify: self,
            stage: Stage::New {
                rounds: self.state.lock().rounds,
            },
        }
    }
}

pub(crate) struct Notified<'a> {
    notify: &'a Notify,
    stage: Stage,
}

#[derive(Clone, Copy)]
enum Stage {
    New { rounds: u64 },
    Waits { id: u64 },
    Done,
}

impl Notified<'_> {
    pub(crate) fn enable(self: Pin<&mut Self>) -> bool {
        self.get_mut().look(None)
    }

    fn look(&mut self, waker: Option<&Waker>) -> bool {
        let mut state = self.notify.state.lock();
        match self.stage {
            Stage::Done => return true,
            Stage::New { rounds } => {
                if state.rounds != rounds || std::mem::take(&mut state.permit) {
                    self.stage = Stage::Done;
                    return true;
                }
                let id = state.next;
                state.next += 1;
                state.waiters.push_back(NotifyWaiter {
                    id,
                    notification: Notification::None,
                    waker: waker.cloned(),
                });
                self.stage = Stage::Waits { id };
            }
            Stage::Waits { id } => {
                let waiter = state.waiters.iter_mut().find(|waiter| waiter.id == id);
                let waiter = waiter.expect("a waiter is in the list until it is polled or dropped");
                if waiter.notification != Notification::None {
                    state.remove(id);
                    self.stage = Stage::Done;
                    return true;
                }
                if let Some(waker) = waker {
                    waiter.waker = Some(waker.clone());
                }
            }
        }
        false
    }
}

impl Future for Notified<'_> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        if self.get_mut().look(Some(cx.waker())) {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    }
}

impl Drop for Notified<'_> {
    fn drop(&mut self) {
        let Stage::Waits { id } = self.stage else { return };
        let woken = {
            let mut state = self.notify.state.lock();
            match state.remove(id) {
                Notification::One => state.tell_one(),
                Notification::None | Notification::All => None,
            }
        };
        woken.into_iter().for_each(Waker::wake);
    }
}

/// Calls the model and the original on one thread and compares the results.
#[cfg(test)]
mod tests {
    use std::pin::Pin;

    use futures::FutureExt;
    use tokio::sync::futures::Notified as Original;

    type Pair<'a> = (Pin<Box<super::Notified<'a>>>, Pin<Box<Original<'a>>>);

    #[test]
    fn the_model_does_what_tokio_does() {
        for seed in 0..300 {
            loom::model(move || play(seed));
        }
    }

    fn play(seed: u64) {
        let mut random = fastrand::Rng::with_seed(seed);
        let (model, original) = (super::Notify::new(), tokio::sync::Notify::new());
        let mut waits: Vec<Pair<'_>> = Vec::new();
        for step in 0..200 {
            let at = random.usize(..waits.len().max(1));
            match random.u8(..12) {
                0..=2 => waits.push((Box::pin(model.notified()), Box::pin(original.notified()))),
                3..=4 => {
                    model.notify_one();
                    original.notify_one();
                }
                5 => {
                    model.notify_waiters();
                    original.notify_waiters();
                }
                6..=7 if !waits.is_empty() => drop(waits.swap_remove(at)),
                8..=9 if !waits.is_empty() => {
                    let (model, original) = &mut waits[at];
                    let answers = (model.as_mut().enable(), original.as_mut().enable());
                    assert_eq!(answers.0, answers.1, "seed {seed}, step {step}");
                }
                _ if !waits.is_empty() => {
                    let (model, original) = &mut waits[at];
                    let answers = (model.now_or_never(), original.now_or_never());
                    assert_eq!(answers.0, answers.1, "seed {seed}, step {step}");
                }
                _ => {}
            }
        }
    }
}
