//! The line: by priority, and in each priority in the order of coming.

use std::collections::BTreeMap;
use std::hash::Hash;

use super::slots::{NONE, SlotId, Slots};

/// While others of lower priority are in line, every so many turns go to whoever is in line longest. So low priority is
/// late, but its turn comes: with `n` before it in line, after at most so many times `n` turns.
pub(super) const SHARE: u32 = 8;

pub(super) struct Ready {
    /// By priority. One is empty only if there is no other.
    levels: BTreeMap<i32, Level>,
    /// All items in the order of coming.
    oldest: u32,
    newest: u32,
    len: usize,
    turn: u32,
}

/// The items of one priority in the order of coming.
struct Level {
    head: u32,
    tail: u32,
}

impl Ready {
    pub(super) fn new() -> Ready {
        Ready {
            levels: BTreeMap::new(),
            oldest: NONE,
            newest: NONE,
            len: 0,
            turn: 0,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// The first of each priority.
    pub(super) fn heads(&self) -> impl Iterator<Item = SlotId> {
        let heads = self.levels.values().map(|level| level.head);
        heads.filter(|head| *head != NONE).map(SlotId)
    }

    /// Puts an item at the end of its priority's line.
    pub(super) fn push<T: Eq + Hash>(&mut self, slots: &mut Slots<T>, id: SlotId, priority: i32) {
        if self.len == 0 && !self.levels.contains_key(&priority) {
            self.levels.clear();
        }
        let empty = Level {
            head: NONE,
            tail: NONE,
        };
        let level = self.levels.entry(priority).or_insert(empty);
        let slot = slots.get_mut(id);
        slot.is_ready = true;
        slot.priority = priority;
        slot.before = level.tail;
        slot.after = NONE;
        slot.older = self.newest;
        slot.newer = NONE;
        match level.tail {
            NONE => level.head = id.0,
            tail => slots.get_mut(SlotId(tail)).after = id.0,
        }
        level.tail = id.0;
        match self.newest {
            NONE => self.oldest = id.0,
            newest => slots.get_mut(SlotId(newest)).newer = id.0,
        }
        self.newest = id.0;
        self.len += 1;
    }

    /// Takes an item out of the line, wherever it is.
    pub(super) fn remove<T: Eq + Hash>(&mut self, slots: &mut Slots<T>, id: SlotId) {
        let slot = slots.get_mut(id);
        slot.is_ready = false;
        let (before, after, priority) = (slot.before, slot.after, slot.priority);
        let (older, newer) = (slot.older, slot.newer);
        match older {
            NONE => self.oldest = newer,
            older => slots.get_mut(SlotId(older)).newer = newer,
        }
        match newer {
            NONE => self.newest = older,
            newer => slots.get_mut(SlotId(newer)).older = older,
        }
        if before != NONE {
            slots.get_mut(SlotId(before)).after = after;
        }
        if after != NONE {
            slots.get_mut(SlotId(after)).before = before;
        }
        self.len -= 1;
        // In the middle of its level nothing else changes.
        if before != NONE && after != NONE {
            return;
        }
        if before == NONE && after == NONE && self.levels.len() > 1 {
            self.levels.remove(&priority);
            return;
        }
        if let Some(level) = self.levels.get_mut(&priority) {
            if before == NONE {
                level.head = after;
            }
            if after == NONE {
                level.tail = before;
            }
        }
    }

    /// Takes the item whose turn it is.
    pub(super) fn pop<T: Eq + Hash>(&mut self, slots: &mut Slots<T>) -> Option<SlotId> {
        if self.len == 0 {
            return None;
        }
        let (_, highest) = self.levels.last_key_value()?;
        let mut next = highest.head;
        if self.levels.len() > 1 {
            self.turn = (self.turn + 1) % SHARE;
            if self.turn == 0 {
                next = self.oldest;
            }
        }
        self.remove(slots, SlotId(next));
        Some(SlotId(next))
    }
}
