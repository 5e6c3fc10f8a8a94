//! The state machine of the queue: no locks, tasks or clock. The caller passes the current time.
//!
//! Each item has one slot, found by a hash table. A slot can be queued (`ready`), delayed (`delays`) and running, in every
//! combination except queued and running: that keeps an item from being processed twice at the same time.

mod delays;
mod ready;
mod slots;

#[cfg(test)]
mod tests;

use std::hash::Hash;
use std::mem;

use self::delays::DelayHeap;
use self::ready::ReadyQueue;
pub(crate) use self::slots::SlotId;
use self::slots::Slots;

/// Nanoseconds since the queue was created.
pub(crate) type Nanos = u64;

/// State of a queue.
pub(crate) struct Core<T> {
    slots: Slots<T>,
    ready: ReadyQueue,
    delays: DelayHeap,
    running: usize,
    /// Number of running items that were added again.
    dirty: usize,
    /// Adds that were not duplicates, since the last call of `take_adds`.
    adds: u64,
    /// Adds returned by `take_adds` so far.
    reported_adds: u64,
    closed: bool,
}

/// Result of adding an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AddResult {
    /// The item is queued now.
    Queued,
    /// The item is delayed. `earliest` if no other item is due before it.
    Delayed { earliest: bool },
    /// The item was queued already, or is queued when its processing ends.
    Duplicate,
    /// The queue is shut down.
    ShutDown,
}

/// An item to process.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NextItem {
    pub(crate) slot: SlotId,
    /// Number of other delayed items that became due and are queued now.
    pub(crate) also_due: u32,
}

/// Result of finishing an item.
#[derive(Debug)]
pub(crate) struct Completion<T> {
    /// The item, if it has no state any more.
    pub(crate) removed: Option<T>,
    /// The item was added while running, and is queued again.
    pub(crate) requeued: bool,
    /// The queue is shut down, and no item is queued or running.
    pub(crate) idle: bool,
}

impl<T: Clone + Eq + Hash> Core<T> {
    /// Creates an empty queue. It records the times at which items are queued only if `tracks_times` is set.
    pub(crate) fn new(tracks_times: bool) -> Core<T> {
        Core {
            slots: Slots::new(tracks_times),
            ready: ReadyQueue::new(),
            delays: DelayHeap::new(),
            running: 0,
            dirty: 0,
            adds: 0,
            reported_adds: 0,
            closed: false,
        }
    }

    /// Queues an item.
    pub(crate) fn add(&mut self, item: T, now: Nanos, priority: i32) -> AddResult {
        if self.closed {
            return AddResult::ShutDown;
        }
        let id = self.slots.find_or_insert(item);
        self.enqueue(id, now, priority)
    }

    /// Queues an item at a later time. If it is delayed already, the earlier time wins.
    pub(crate) fn add_at(&mut self, item: T, due: Nanos, priority: i32) -> AddResult {
        if self.closed {
            return AddResult::ShutDown;
        }
        let id = self.slots.find_or_insert(item);
        self.delay(id, due, priority)
    }

    /// Requeues a running item: when its processing ends, but not before `due`. If the queue is shut down, the item is
    /// delayed without end, so that it is among the remaining items.
    pub(crate) fn requeue_at(&mut self, id: SlotId, due: Nanos, now: Nanos, priority: i32) -> AddResult {
        if due <= now && !self.closed {
            return self.enqueue(id, now, priority);
        }
        self.delay(id, due, priority)
    }

    fn delay(&mut self, id: SlotId, due: Nanos, priority: i32) -> AddResult {
        let before = self.delays.next_due();
        self.delays.insert(&mut self.slots, id, due, priority);
        AddResult::Delayed {
            earliest: before.is_none_or(|before| due < before),
        }
    }

    fn enqueue(&mut self, id: SlotId, since: Nanos, priority: i32) -> AddResult {
        let slot = self.slots.get_mut(id);
        if slot.is_running {
            let is_first = !mem::replace(&mut slot.is_dirty, true);
            if is_first || priority > slot.priority {
                slot.priority = priority;
            }
            if is_first {
                self.slots.set_queued_since(id, since);
                self.dirty += 1;
                self.adds += 1;
            }
            return AddResult::Duplicate;
        }
        if !slot.is_queued {
            self.slots.set_queued_since(id, since);
            self.adds += 1;
            self.ready.push(&mut self.slots, id, priority);
            return AddResult::Queued;
        }
        if priority > slot.priority {
            self.ready.remove(&mut self.slots, id);
            self.ready.push(&mut self.slots, id, priority);
        }
        AddResult::Duplicate
    }

    /// Queues the delayed items that are due. Returns how many are queued by this.
    fn enqueue_due(&mut self, now: Nanos) -> usize {
        let mut queued = 0;
        while !self.closed
            && let Some(item) = self.delays.pop_due(&mut self.slots, now)
        {
            queued += usize::from(self.enqueue(item.slot, item.due, item.priority) == AddResult::Queued);
        }
        queued
    }

    /// Takes the next item to process. Returns only its slot, which is cheap to copy; see [`Core::item`].
    pub(crate) fn pop(&mut self, now: Nanos) -> Option<NextItem> {
        let queued = self.enqueue_due(now);
        let slot = self.ready.pop(&mut self.slots)?;
        self.running += 1;
        self.slots.get_mut(slot).is_running = true;
        let also_due = u32::try_from(queued.min(self.ready.len())).expect("fewer items than slots");
        Some(NextItem { slot, also_due })
    }

    /// Returns a running item.
    pub(crate) fn item(&self, id: SlotId) -> T {
        self.slots.get(id).item()
    }

    /// Returns the priority that a running item had in the queue, unless it was added again.
    pub(crate) fn priority(&self, id: SlotId) -> i32 {
        self.slots.get(id).priority
    }

    /// Returns when an item was queued, or was added while running.
    pub(crate) fn queued_since(&self, id: SlotId) -> Nanos {
        self.slots.queued_since(id)
    }

    /// Ends the processing of an item.
    pub(crate) fn finish(&mut self, id: SlotId) -> Completion<T> {
        self.running -= 1;
        let slot = self.slots.get_mut(id);
        slot.is_running = false;
        let requeued = mem::take(&mut slot.is_dirty);
        let mut removed = None;
        if requeued {
            let priority = slot.priority;
            self.dirty -= 1;
            self.ready.push(&mut self.slots, id, priority);
        } else if !slot.is_delayed() {
            removed = self.slots.remove(id);
        }
        Completion {
            removed,
            requeued,
            idle: self.closed && self.is_idle(),
        }
    }

    /// Returns when the next delayed item is due.
    pub(crate) fn next_due(&self) -> Option<Nanos> {
        self.delays.next_due().filter(|_| !self.closed)
    }

    /// Queues the delayed items that are due. Returns the number of queued items, and how many of them are new.
    pub(crate) fn queued_at(&mut self, now: Nanos) -> (usize, usize) {
        let new = self.enqueue_due(now);
        (self.ready.len(), new)
    }

    /// Returns the number of queued items, without those that became due since the last call that passed the time.
    pub(crate) fn queued(&self) -> usize {
        self.ready.len()
    }

    /// Returns the number of running items that were added again.
    #[cfg(any(test, feature = "metrics"))]
    pub(crate) fn dirty(&self) -> usize {
        self.dirty
    }

    /// Returns the number of adds that were not duplicates, since the last call.
    pub(crate) fn take_adds(&mut self) -> u64 {
        self.reported_adds += self.adds;
        mem::take(&mut self.adds)
    }

    /// Returns the number of all adds that were not duplicates.
    pub(crate) fn total_adds(&self) -> u64 {
        self.reported_adds + self.adds
    }

    /// Returns the earliest time at which the first item of any priority was queued.
    ///
    /// This is the only operation that visits every priority. Only statistics use it.
    pub(crate) fn oldest(&self) -> Option<Nanos> {
        self.ready.heads().map(|head| self.slots.queued_since(head)).min()
    }

    pub(crate) fn running(&self) -> usize {
        self.running
    }

    pub(crate) fn delayed(&self) -> usize {
        self.delays.len()
    }

    /// Shuts the queue down: rejects adds, and keeps delayed items delayed.
    pub(crate) fn close(&mut self) {
        self.closed = true;
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.closed
    }

    pub(crate) fn is_idle(&self) -> bool {
        self.running == 0 && self.ready.len() == 0
    }

    /// Returns all items: queued, running, and only delayed.
    pub(crate) fn remaining(&self) -> [Vec<T>; 3] {
        let mut remaining = [Vec::new(), Vec::new(), Vec::new()];
        for slot in self.slots.iter() {
            let list = match (slot.is_queued, slot.is_running) {
                (true, _) => 0,
                (_, true) => 1,
                _ => 2,
            };
            remaining[list].push(slot.item());
        }
        remaining
    }
}

/// Reserves room for one more element. A long list grows by a quarter, so that little of it is unused.
fn make_room<E>(list: &mut Vec<E>) {
    const LONG: usize = 1_024;
    if list.len() == list.capacity() && list.len() >= LONG {
        list.reserve_exact(list.len() / 4);
    }
}
