//! Queued items: ordered by priority, and by arrival within a priority.
//!
//! Adding and taking an item costs O(log p), where p is the number of distinct priorities that are queued.

use std::collections::BTreeMap;
use std::hash::Hash;

use super::slots::{NONE, SlotId, Slots};

/// When several priorities are queued, one in this many pops takes the oldest item instead of one with the
/// highest priority. So an item with `n` older ones is taken after at most this many times `n + 1` pops.
pub(super) const OLDEST_EVERY: u32 = 8;

pub(super) struct ReadyQueue {
    /// By priority. A level is empty only if it is the only one.
    levels: BTreeMap<i32, PriorityLevel>,
    /// Ends of the list of all items in the order of arrival.
    oldest: u32,
    newest: u32,
    len: usize,
    /// Pops since the oldest item was taken.
    pops: u32,
}

/// Ends of the list of items with one priority, in the order of arrival.
struct PriorityLevel {
    head: u32,
    tail: u32,
}

impl ReadyQueue {
    pub(super) fn new() -> ReadyQueue {
        ReadyQueue {
            levels: BTreeMap::new(),
            oldest: NONE,
            newest: NONE,
            len: 0,
            pops: 0,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Returns the first item of each priority.
    pub(super) fn heads(&self) -> impl Iterator<Item = SlotId> {
        let heads = self.levels.values().map(|level| level.head);
        heads.filter(|head| *head != NONE).map(SlotId)
    }

    /// Appends an item to the list of its priority.
    pub(super) fn push<T: Eq + Hash>(&mut self, slots: &mut Slots<T>, id: SlotId, priority: i32) {
        if self.len == 0 && !self.levels.contains_key(&priority) {
            self.levels.clear();
        }
        let empty = PriorityLevel {
            head: NONE,
            tail: NONE,
        };
        let level = self.levels.entry(priority).or_insert(empty);
        let slot = slots.get_mut(id);
        slot.is_queued = true;
        slot.priority = priority;
        slot.previous = level.tail;
        slot.next = NONE;
        slot.older = self.newest;
        slot.newer = NONE;
        match level.tail {
            NONE => level.head = id.0,
            tail => slots.get_mut(SlotId(tail)).next = id.0,
        }
        level.tail = id.0;
        match self.newest {
            NONE => self.oldest = id.0,
            newest => slots.get_mut(SlotId(newest)).newer = id.0,
        }
        self.newest = id.0;
        self.len += 1;
    }

    /// Removes an item from any position.
    pub(super) fn remove<T: Eq + Hash>(&mut self, slots: &mut Slots<T>, id: SlotId) {
        let slot = slots.get_mut(id);
        slot.is_queued = false;
        let (previous, next, priority) = (slot.previous, slot.next, slot.priority);
        let (older, newer) = (slot.older, slot.newer);
        match older {
            NONE => self.oldest = newer,
            older => slots.get_mut(SlotId(older)).newer = newer,
        }
        match newer {
            NONE => self.newest = older,
            newer => slots.get_mut(SlotId(newer)).older = older,
        }
        if previous != NONE {
            slots.get_mut(SlotId(previous)).next = next;
        }
        if next != NONE {
            slots.get_mut(SlotId(next)).previous = previous;
        }
        self.len -= 1;
        // Removing from the middle of a level does not change its ends.
        if previous != NONE && next != NONE {
            return;
        }
        if previous == NONE && next == NONE && self.levels.len() > 1 {
            self.levels.remove(&priority);
            return;
        }
        if let Some(level) = self.levels.get_mut(&priority) {
            if previous == NONE {
                level.head = next;
            }
            if next == NONE {
                level.tail = previous;
            }
        }
    }

    /// Removes and returns the next item.
    pub(super) fn pop<T: Eq + Hash>(&mut self, slots: &mut Slots<T>) -> Option<SlotId> {
        if self.len == 0 {
            return None;
        }
        let (_, highest) = self.levels.last_key_value()?;
        let mut next = highest.head;
        if self.levels.len() > 1 {
            self.pops = (self.pops + 1) % OLDEST_EVERY;
            if self.pops == 0 {
                next = self.oldest;
            }
        }
        self.remove(slots, SlotId(next));
        Some(SlotId(next))
    }
}
