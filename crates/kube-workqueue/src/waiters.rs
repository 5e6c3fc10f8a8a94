//! Tasks that wait for an item, in the order of arrival.
//!
//! The list is part of the state behind the queue's lock, so adding an item wakes a task only if one waits.

use std::collections::VecDeque;
use std::task::Waker;

pub(crate) struct Waiters {
    /// Sorted by ticket.
    waiters: VecDeque<Waiter>,
    next_ticket: u64,
}

struct Waiter {
    ticket: u64,
    waker: Waker,
}

/// Position of a waiter. It becomes invalid when the waiter is removed to be woken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Ticket(u64);

impl Waiters {
    pub(crate) fn new() -> Waiters {
        Waiters {
            waiters: VecDeque::new(),
            next_ticket: 0,
        }
    }

    /// Appends a waiter.
    pub(crate) fn push(&mut self, waker: &Waker) -> Ticket {
        let ticket = self.next_ticket;
        self.next_ticket += 1;
        self.waiters.push_back(Waiter {
            ticket,
            waker: waker.clone(),
        });
        Ticket(ticket)
    }

    /// Replaces the waker of a waiter, which keeps its position. Returns false if the waiter was removed to be woken.
    pub(crate) fn update(&mut self, ticket: Ticket, waker: &Waker) -> bool {
        let index = self.index(ticket);
        if let Some(index) = index {
            self.waiters[index].waker.clone_from(waker);
        }
        index.is_some()
    }

    /// Removes a waiter. Returns false if it was removed to be woken.
    pub(crate) fn remove(&mut self, ticket: Ticket) -> bool {
        let index = self.index(ticket);
        index.and_then(|index| self.waiters.remove(index)).is_some()
    }

    /// Removes the first waiter. The caller wakes it after releasing the lock.
    #[must_use]
    pub(crate) fn pop(&mut self) -> Option<Waker> {
        self.waiters.pop_front().map(|waiter| waiter.waker)
    }

    /// Removes at most `count` waiters from the front. The caller wakes them after releasing the lock.
    #[must_use]
    pub(crate) fn pop_up_to(&mut self, count: usize) -> Vec<Waker> {
        let count = count.min(self.waiters.len());
        self.waiters.drain(..count).map(|waiter| waiter.waker).collect()
    }

    fn index(&self, ticket: Ticket) -> Option<usize> {
        self.waiters
            .binary_search_by_key(&ticket.0, |waiter| waiter.ticket)
            .ok()
    }
}
