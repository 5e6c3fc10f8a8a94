//! A bounded queue between several producers and one consumer. `tests/model` checks it in every order of threads.

use std::collections::VecDeque;

use crate::util::sync::{Mutex, Notify};

/// A bounded queue: producers wait while it is full, the consumer takes everything at once.
pub(crate) struct BoundedQueue<T, const CAPACITY: usize> {
    state: Mutex<State<T>>,
    /// Notified when an item was pushed, or the queue was closed.
    filled: Notify,
    /// Notified when there is room, or the queue was closed. A producer that was woken wakes the next.
    emptied: Notify,
}

struct State<T> {
    items: VecDeque<T>,
    closed: bool,
}

impl<T, const CAPACITY: usize> BoundedQueue<T, CAPACITY> {
    pub(crate) fn new() -> BoundedQueue<T, CAPACITY> {
        BoundedQueue {
            state: Mutex::new(State {
                items: VecDeque::new(),
                closed: false,
            }),
            filled: Notify::new(),
            emptied: Notify::new(),
        }
    }

    /// Adds an item, waiting while the queue is full. After [`BoundedQueue::close`] the item is dropped.
    ///
    /// # Cancel safety
    /// A cancelled push has added nothing.
    pub(crate) async fn push(&self, item: T) {
        let mut waited = false;
        loop {
            {
                let mut state = self.state.lock();
                if state.closed {
                    break;
                }
                if state.items.len() < CAPACITY {
                    state.items.push_back(item);
                    let is_full = state.items.len() == CAPACITY;
                    drop(state);
                    self.filled.notify_one();
                    if is_full {
                        return;
                    }
                    break;
                }
            }
            self.emptied.notified().await;
            waited = true;
        }
        // A pop and a close wake one producer, which passes it on: there is room, or nothing to wait for.
        if waited {
            self.emptied.notify_one();
        }
    }

    /// Takes all items; none once the queue is closed and empty.
    ///
    /// # Cancel safety
    /// A cancelled pop has taken nothing.
    pub(crate) async fn pop(&self) -> Option<Vec<T>> {
        loop {
            {
                let mut state = self.state.lock();
                if !state.items.is_empty() {
                    let batch = state.items.drain(..).collect();
                    drop(state);
                    self.emptied.notify_one();
                    return Some(batch);
                }
                if state.closed {
                    return None;
                }
            }
            self.filled.notified().await;
        }
    }

    /// Number of items that wait.
    pub(crate) fn len(&self) -> usize {
        self.state.lock().items.len()
    }

    /// Refuses further items. Items that wait can still be popped.
    pub(crate) fn close(&self) {
        self.state.lock().closed = true;
        self.filled.notify_one();
        self.emptied.notify_one();
    }
}
