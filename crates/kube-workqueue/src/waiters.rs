//! Those who wait for an item, in the order of their coming.
//!
//! They are part of the state behind the queue's lock. So who adds an item knows at once whether anybody waits for it, and
//! a queue whose workers are busy calls nobody.

use std::collections::VecDeque;
use std::task::Waker;

pub(crate) struct Waiters {
    /// By rising tickets.
    line: VecDeque<Waiter>,
    next: u64,
}

struct Waiter {
    ticket: u64,
    waker: Waker,
}

/// A place among those who wait. Who is called has it no more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Ticket(u64);

impl Waiters {
    pub(crate) fn new() -> Waiters {
        Waiters {
            line: VecDeque::new(),
            next: 0,
        }
    }

    /// Waits at the end.
    pub(crate) fn wait(&mut self, waker: &Waker) -> Ticket {
        let ticket = self.next;
        self.next += 1;
        self.line.push_back(Waiter {
            ticket,
            waker: waker.clone(),
        });
        Ticket(ticket)
    }

    /// Waits on at its place, with this waker. Whether it does: if not, it was called.
    pub(crate) fn waits(&mut self, ticket: Ticket, waker: &Waker) -> bool {
        let place = self.place(ticket);
        if let Some(at) = place {
            self.line[at].waker.clone_from(waker);
        }
        place.is_some()
    }

    /// Waits no longer. Whether it still did: if not, it was called.
    pub(crate) fn leave(&mut self, ticket: Ticket) -> bool {
        let place = self.place(ticket);
        place.and_then(|at| self.line.remove(at)).is_some()
    }

    /// The next to be called, as soon as the lock is free.
    #[must_use]
    pub(crate) fn call(&mut self) -> Option<Waker> {
        self.line.pop_front().map(|waiter| waiter.waker)
    }

    /// So many to be called, or all if there are fewer.
    #[must_use]
    pub(crate) fn call_some(&mut self, count: usize) -> Vec<Waker> {
        let count = count.min(self.line.len());
        self.line.drain(..count).map(|waiter| waiter.waker).collect()
    }

    fn place(&self, ticket: Ticket) -> Option<usize> {
        self.line
            .binary_search_by_key(&ticket.0, |waiter| waiter.ticket)
            .ok()
    }
}
