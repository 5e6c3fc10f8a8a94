//! One who waits for an item.

use std::task::{Context, Poll};

use crate::core::Nanos;
use crate::item::Item;
use crate::queue::{State, Work, WorkQueue, wake};
use crate::waiters::Ticket;

/// A wait for an item. One of those who wait also looks after the item that is due next, for all.
///
/// For each item in line, and for the next that is due if nobody looks after it, somebody was called who has not looked
/// yet, or nobody waits. Who was called and leaves without having looked, or leaves what it looked after, calls another.
pub(crate) struct Wait<'a, T: Work> {
    queue: &'a WorkQueue<T>,
    /// Its place among those who wait, if it has waited since it last looked.
    ticket: Option<Ticket>,
    /// What it looks after.
    due: Option<Nanos>,
}

/// What came of a look.
pub(crate) enum Looked<T: Work> {
    /// An item, or none because there will be none.
    Got(Option<Item<T>>),
    /// Nothing yet, and this is when it has to look again, if it is not called before.
    Watch(Nanos),
}

impl<'a, T: Work> Wait<'a, T> {
    pub(crate) fn new(queue: &'a WorkQueue<T>) -> Wait<'a, T> {
        Wait {
            queue,
            ticket: None,
            due: None,
        }
    }

    /// Looks whether there is an item, and waits if not.
    pub(crate) fn look(&mut self, cx: &mut Context<'_>) -> Poll<Looked<T>> {
        let mut called = Vec::new();
        let looked = {
            let mut state = self.queue.shared.state.lock();
            // Who looks is not one to be called.
            if let Some(ticket) = self.ticket.take() {
                state.waiters.leave(ticket);
            }
            self.pause(&mut state);
            if let Some(turn) = self.queue.shared.take(&mut state) {
                called = state.waiters.call_some(turn.others as usize);
                // Whoever has work to do looks after nothing, also if it was called to do so.
                if Self::unwatched(&state).is_some() {
                    called.extend(state.waiters.call());
                }
                Poll::Ready(Looked::Got(Some(self.queue.item(&state, turn.slot))))
            } else if state.core.is_closed() {
                Poll::Ready(Looked::Got(None))
            } else {
                self.ticket = Some(state.waiters.wait(cx.waker()));
                match self.resume(&mut state) {
                    Some(due) => Poll::Ready(Looked::Watch(due)),
                    None => Poll::Pending,
                }
            }
        };
        wake(called);
        looked
    }

    /// Waits to be called, without a look.
    pub(crate) fn poll_called(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let mut state = self.queue.shared.state.lock();
        match self.ticket {
            Some(ticket) if state.waiters.waits(ticket, cx.waker()) => Poll::Pending,
            _ => Poll::Ready(()),
        }
    }

    /// Looks after nothing; whether it did.
    fn pause(&mut self, state: &mut State<T>) -> bool {
        let watched = self.due.take();
        let is_its = watched.is_some() && state.watched == watched;
        if is_its {
            state.watched = None;
        }
        is_its
    }

    /// Looks after the next item until this time, unless another does so already.
    fn resume(&mut self, state: &mut State<T>) -> Option<Nanos> {
        let due = Self::unwatched(state)?;
        state.watched = Some(due);
        self.due = Some(due);
        self.due
    }

    /// When the next item is due, if nobody looks after it.
    fn unwatched(state: &State<T>) -> Option<Nanos> {
        let due = state.core.next_due()?;
        let is_watched = state.watched.is_some_and(|watched| watched <= due);
        (!is_watched).then_some(due)
    }
}

impl<T: Work> Drop for Wait<'_, T> {
    fn drop(&mut self) {
        let Some(ticket) = self.ticket else { return };
        let called = {
            let mut state = self.queue.shared.state.lock();
            let was_called = !state.waiters.leave(ticket);
            let watched = self.pause(&mut state);
            let is_wanted = state.core.in_line() > 0 || Self::unwatched(&state).is_some();
            // One is enough for both: if it takes an item, it leaves the watch to another.
            ((was_called || watched) && is_wanted)
                .then(|| state.waiters.call())
                .flatten()
        };
        wake(called);
    }
}
