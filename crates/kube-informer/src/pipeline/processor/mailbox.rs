//! The pending events of one handler and their delivery.
//!
//! This module contains all synchronisation between the controller, which adds events, the task that delivers
//! them, and the removal of the handler. `tests/model` checks all interleavings of threads.

use std::future::poll_fn;
use std::task::{Context, Poll};

use crate::util::sync::{AtomicWaker, CancellationToken, Mutex, spawn_blocking, yield_now};

/// Number of yields for which a blocking thread waits for the next event before it is released.
pub(super) const MAX_YIELDS: u32 = 16;

/// The events of a [`Mailbox`].
pub(super) trait Backlog {
    /// An event with its metadata.
    type Event: Send + 'static;

    /// Removes the next event. The caller has handled the previous one.
    fn pop(&mut self) -> Option<Self::Event>;

    /// Returns whether `pop` may return an event.
    fn is_waiting(&self) -> bool;

    /// Returns whether every initial event has been handled. Only valid for the caller of `pop`.
    fn is_past_initial(&self) -> bool;

    /// Removes all events and returns them, so that they can be dropped without a lock.
    fn clear(&mut self) -> Self;
}

/// Pending events of one handler.
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
    /// Pending events are delivered before the mailbox ends.
    Closing,
    /// Nothing is delivered any more.
    Removed,
}

/// The result of [`Mailbox::take`].
pub(super) enum Next<E> {
    Event(E),
    /// No event is pending.
    Nothing,
    /// No event will be pending again.
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

    /// Cancelled when the handler has handled every initial event.
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
            // The backlog was cleared by the removal and would not be cleared again.
            if state.phase == MailboxPhase::Removed {
                return;
            }
            add(&mut state.backlog);
        }
        self.changed.wake();
    }

    /// Ends the mailbox when all events are delivered.
    pub(super) fn close(&self) {
        {
            let mut state = self.state.lock();
            if state.phase == MailboxPhase::Open {
                state.phase = MailboxPhase::Closing;
            }
        }
        self.changed.wake();
    }

    /// Ends the mailbox immediately: after this returns, no event can be taken.
    pub(super) fn remove(&self) {
        let cleared = {
            let mut state = self.state.lock();
            state.phase = MailboxPhase::Removed;
            state.backlog.clear()
        };
        self.removed.cancel();
        self.changed.wake();
        // Dropped without the lock: freeing a long backlog takes time and may run user code.
        drop(cleared);
    }

    /// Takes the next event.
    ///
    /// The caller handles the event on the same thread without waiting, so a call cannot start after
    /// [`Mailbox::remove`] has returned.
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

    /// Takes the next event when there is one, or `None` at the end.
    pub(super) fn poll_take(&self, context: &mut Context<'_>) -> Poll<Option<B::Event>> {
        self.poll(context, || match self.take() {
            Next::Event(event) => Some(Some(event)),
            Next::Finished => Some(None),
            Next::Nothing => None,
        })
    }

    /// Waits until an event may be pending. Returns `false` at the end.
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

    /// Checks again after the waker is registered, so that no change in between is missed.
    fn poll<T>(&self, context: &mut Context<'_>, check: impl Fn() -> Option<T>) -> Poll<T> {
        if let Some(result) = check() {
            return Poll::Ready(result);
        }
        self.changed.register(context.waker());
        check().map_or(Poll::Pending, Poll::Ready)
    }
}

impl<B: Backlog> MailboxState<B> {
    /// Returns whether the initial events have just been handled.
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

    /// Called when no event is pending.
    fn on_idle(&mut self);
}

/// Delivers events on threads for blocking code until the mailbox ends.
///
/// Events are taken by the blocking thread: an event taken earlier would wait for the thread, and its handler
/// could be removed in between.
pub(super) async fn deliver_on_blocking_threads<R: BlockingReceiver>(mut receiver: R) {
    while receiver.mailbox().waiting().await {
        let burst = spawn_blocking(move || {
            deliver_burst(&mut receiver);
            receiver
        });
        // The runtime is shutting down, or user code panicked outside of a handler call.
        let Ok(returned) = burst.await else {
            return;
        };
        receiver = returned;
    }
}

/// Delivers pending events, and those that arrive within a few yields, because a new blocking thread costs
/// more.
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
                receiver.on_idle();
                yield_now();
            }
            Next::Nothing | Next::Finished => break,
        }
    }
    receiver.on_idle();
}
