//! The events that wait for one handler, and the delivery of them.
//!
//! This module contains all synchronisation between the controller, which adds events, the task that delivers them, and
//! the removal of the handler. `tests/model` checks it in every order of threads.

use std::future::poll_fn;
use std::task::{Context, Poll};

use crate::util::sync::{AtomicWaker, CancellationToken, Mutex, spawn_blocking, yield_now};

/// Number of turns of other threads that a blocking thread waits for the next event before it is given back.
pub(super) const MAX_YIELDS: u32 = 16;

/// The events of a [`Mailbox`].
pub(super) trait Backlog {
    /// An event with whatever belongs to it.
    type Event: Send + 'static;

    /// Removes the next event. The caller has handled the one before.
    fn pop(&mut self) -> Option<Self::Event>;

    /// Whether `pop` has something to look at. It may still return nothing.
    fn is_waiting(&self) -> bool;

    /// Whether every initial event has been handled. Only the caller of `pop` may rely on it.
    fn is_past_initial(&self) -> bool;

    /// Removes all events and returns them, so that they can be dropped without a lock.
    fn clear(&mut self) -> Self;
}

/// Events that wait for one handler.
pub(super) struct Mailbox<B> {
    state: Mutex<MailboxState<B>>,
    /// Woken after every change of the state.
    changed: AtomicWaker,
    synced: CancellationToken,
    removed: CancellationToken,
}

struct MailboxState<B> {
    backlog: B,
    phase: MailboxPhase,
    synced: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum MailboxPhase {
    Open,
    /// What is left is delivered, and then it ends.
    Closing,
    /// Nothing is delivered any more.
    Removed,
}

/// The result of [`Mailbox::take`].
pub(super) enum Next<E> {
    Event(E),
    /// Nothing waits now.
    Nothing,
    /// Nothing will ever wait.
    Finished,
}

impl<B: Backlog> Mailbox<B> {
    pub(super) fn new(backlog: B) -> Mailbox<B> {
        Mailbox {
            state: Mutex::new(MailboxState {
                backlog,
                phase: MailboxPhase::Open,
                synced: false,
            }),
            changed: AtomicWaker::new(),
            synced: CancellationToken::new(),
            removed: CancellationToken::new(),
        }
    }

    /// Cancelled once the handler has handled every initial event.
    pub(super) fn synced(&self) -> &CancellationToken {
        &self.synced
    }

    /// Cancelled by [`Mailbox::remove`].
    pub(super) fn removed(&self) -> &CancellationToken {
        &self.removed
    }

    /// Reads the backlog.
    pub(super) fn read<T>(&self, read: impl FnOnce(&B) -> T) -> T {
        read(&self.state.lock().backlog)
    }

    /// Changes the backlog and wakes the task, unless the handler was removed.
    pub(super) fn add(&self, add: impl FnOnce(&mut B)) {
        {
            let mut state = self.state.lock();
            // The removal cleared the backlog, and nobody would clear it again.
            if state.phase == MailboxPhase::Removed {
                return;
            }
            add(&mut state.backlog);
        }
        self.changed.wake();
    }

    /// Ends the mailbox once everything is delivered.
    pub(super) fn close(&self) {
        {
            let mut state = self.state.lock();
            if state.phase == MailboxPhase::Open {
                state.phase = MailboxPhase::Closing;
            }
        }
        self.changed.wake();
    }

    /// Ends the mailbox at once: when this returns, no further event can be taken.
    pub(super) fn remove(&self) {
        let cleared = {
            let mut state = self.state.lock();
            state.phase = MailboxPhase::Removed;
            state.backlog.clear()
        };
        self.removed.cancel();
        self.changed.wake();
        // To free a long backlog takes a while, and user code may run here.
        drop(cleared);
    }

    /// Takes the next event.
    ///
    /// The call of the handler begins here. The caller handles the event on the same thread, without waiting for
    /// anything else, so a call cannot begin after [`Mailbox::remove`] has returned.
    pub(super) fn take(&self) -> Next<B::Event> {
        let mut state = self.state.lock();
        if state.phase == MailboxPhase::Removed {
            return Next::Finished;
        }
        let taken = match state.backlog.pop() {
            Some(event) => Next::Event(event),
            None if state.phase == MailboxPhase::Closing => Next::Finished,
            None => Next::Nothing,
        };
        let now_synced = state.now_synced();
        drop(state);
        if now_synced {
            self.synced.cancel();
        }
        taken
    }

    /// Takes the next event as soon as there is one; none at the end.
    pub(super) fn poll_take(&self, context: &mut Context<'_>) -> Poll<Option<B::Event>> {
        self.poll(context, || match self.take() {
            Next::Event(event) => Some(Some(event)),
            Next::Finished => Some(None),
            Next::Nothing => None,
        })
    }

    /// Waits until events wait. Returns whether there may be one: `false` at the end.
    async fn waiting(&self) -> bool {
        poll_fn(|context| self.poll(context, || self.is_waiting())).await
    }

    fn is_waiting(&self) -> Option<bool> {
        let mut state = self.state.lock();
        if state.phase == MailboxPhase::Removed {
            return Some(false);
        }
        if state.backlog.is_waiting() {
            return Some(true);
        }
        let end = (state.phase == MailboxPhase::Closing).then_some(false);
        let now_synced = state.now_synced();
        drop(state);
        if now_synced {
            self.synced.cancel();
        }
        end
    }

    /// Looks, and looks again after the waker is registered, so that no change in between is missed.
    fn poll<T>(&self, context: &mut Context<'_>, look: impl Fn() -> Option<T>) -> Poll<T> {
        if let Some(seen) = look() {
            return Poll::Ready(seen);
        }
        self.changed.register(context.waker());
        look().map_or(Poll::Pending, Poll::Ready)
    }
}

impl<B: Backlog> MailboxState<B> {
    /// Whether the initial events have just been handled.
    fn now_synced(&mut self) -> bool {
        if self.synced || !self.backlog.is_past_initial() {
            return false;
        }
        self.synced = true;
        true
    }
}

/// A handler that may block, together with its mailbox.
pub(super) trait BlockingReceiver: Send + 'static {
    type Backlog: Backlog;

    fn mailbox(&self) -> &Mailbox<Self::Backlog>;

    /// Handles an event that was just taken.
    fn handle(&mut self, event: <Self::Backlog as Backlog>::Event);

    /// Called when nothing waits.
    fn rest(&mut self);
}

/// Delivers events on threads that may block, for as long as something waits, until the mailbox ends.
///
/// The thread takes the events. An event that was taken before would wait for the thread, and its handler could be
/// removed meanwhile.
pub(super) async fn deliver_on_blocking_threads<R: BlockingReceiver>(mut receiver: R) {
    while receiver.mailbox().waiting().await {
        let burst = spawn_blocking(move || {
            deliver_burst(&mut receiver);
            receiver
        });
        // The runtime is being shut down, or user code panicked where that cannot be handled.
        let Ok(returned) = burst.await else {
            return;
        };
        receiver = returned;
    }
}

/// Delivers what waits, and what arrives within a few turns of other threads: coming back to this thread costs more.
pub(super) fn deliver_burst<R: BlockingReceiver>(receiver: &mut R) {
    let mut turns = 0;
    loop {
        match receiver.mailbox().take() {
            Next::Event(event) => {
                receiver.handle(event);
                turns = 0;
            }
            Next::Nothing if turns < MAX_YIELDS => {
                turns += 1;
                receiver.rest();
                yield_now();
            }
            Next::Nothing | Next::Finished => break,
        }
    }
    receiver.rest();
}
