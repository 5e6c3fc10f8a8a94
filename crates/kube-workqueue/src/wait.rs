//! Waiting for an item.

use std::task::{Context, Poll};

use crate::core::Nanos;
use crate::guard::ItemGuard;
use crate::queue::{QueueItem, State, WorkQueue, wake_all};
use crate::waiters::Ticket;

/// One wait for an item. One of all waiters also sleeps until the next delayed item is due: it holds the timer.
///
/// Invariant: for each queued item, and for the next due time if no waiter holds the timer, a waiter was woken that has not
/// polled yet, or there is no waiter. A waiter that is dropped after it was woken, or that gives up the timer, wakes another.
pub(crate) struct Wait<'a, T: QueueItem> {
    queue: &'a WorkQueue<T>,
    /// Position among the waiters, if it registered since the last poll.
    ticket: Option<Ticket>,
    /// When its timer fires, if it holds the timer.
    timer: Option<Nanos>,
}

/// Result of polling for an item.
pub(crate) enum Progress<T: QueueItem> {
    /// An item, or none because the queue is shut down and empty.
    Finished(Option<ItemGuard<T>>),
    /// No item yet. The waiter holds the timer, and has to poll again at this time unless it is woken before.
    SleepUntil(Nanos),
}

impl<'a, T: QueueItem> Wait<'a, T> {
    pub(crate) fn new(queue: &'a WorkQueue<T>) -> Wait<'a, T> {
        Wait {
            queue,
            ticket: None,
            timer: None,
        }
    }

    /// Takes an item, or registers as a waiter if there is none.
    pub(crate) fn poll_item(&mut self, cx: &mut Context<'_>) -> Poll<Progress<T>> {
        let mut wakers = Vec::new();
        let progress = {
            let mut state = self.queue.shared.state.lock();
            if let Some(ticket) = self.ticket.take() {
                state.waiters.remove(ticket);
            }
            self.release_timer(&mut state);
            if let Some(next) = self.queue.shared.pop(&mut state) {
                wakers = state.waiters.pop_up_to(next.also_due as usize);
                // A task with an item does not hold the timer, even if it was woken to do so.
                if Self::unwatched_due(&state).is_some() {
                    wakers.extend(state.waiters.pop());
                }
                Poll::Ready(Progress::Finished(Some(self.queue.guard(&state, next.slot))))
            } else if state.core.is_closed() {
                Poll::Ready(Progress::Finished(None))
            } else {
                self.ticket = Some(state.waiters.push(cx.waker()));
                match self.acquire_timer(&mut state) {
                    Some(due) => Poll::Ready(Progress::SleepUntil(due)),
                    None => Poll::Pending,
                }
            }
        };
        wake_all(wakers);
        progress
    }

    /// Waits until another task wakes this waiter. Does not look for an item.
    pub(crate) fn poll_woken(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let mut state = self.queue.shared.state.lock();
        match self.ticket {
            Some(ticket) if state.waiters.update(ticket, cx.waker()) => Poll::Pending,
            _ => Poll::Ready(()),
        }
    }

    /// Gives up the timer. Returns whether this waiter held it.
    fn release_timer(&mut self, state: &mut State<T>) -> bool {
        let timer = self.timer.take();
        let is_holder = timer.is_some() && state.timer == timer;
        if is_holder {
            state.timer = None;
        }
        is_holder
    }

    /// Takes the timer, unless another waiter holds it.
    fn acquire_timer(&mut self, state: &mut State<T>) -> Option<Nanos> {
        let due = Self::unwatched_due(state)?;
        state.timer = Some(due);
        self.timer = Some(due);
        self.timer
    }

    /// Returns when the next item is due, if no timer fires by then.
    fn unwatched_due(state: &State<T>) -> Option<Nanos> {
        let due = state.core.next_due()?;
        let is_watched = state.timer.is_some_and(|timer| timer <= due);
        (!is_watched).then_some(due)
    }
}

impl<T: QueueItem> Drop for Wait<'_, T> {
    fn drop(&mut self) {
        let Some(ticket) = self.ticket else { return };
        let waker = {
            let mut state = self.queue.shared.state.lock();
            let was_woken = !state.waiters.remove(ticket);
            let held_timer = self.release_timer(&mut state);
            let has_work = state.core.queued() > 0 || Self::unwatched_due(&state).is_some();
            // One waiter is enough for both: if it takes an item, it wakes another for the timer.
            ((was_woken || held_timer) && has_work)
                .then(|| state.waiters.pop())
                .flatten()
        };
        wake_all(waker);
    }
}
