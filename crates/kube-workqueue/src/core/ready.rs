//! The line: by priority, and in each priority in the order of coming.

use std::hash::Hash;

use super::slots::{NONE, SlotId, Slots};

/// While others of lower priority are in line, every so many turns go to whoever is in line longest. So low priority is
/// late, but its turn comes: with `n` before it in line, after at most so many times `n` turns.
pub(super) const SHARE: u32 = 8;

/// Where numbers of coming begin: so near to their end that every test that is long goes past it.
const FIRST: u32 = u32::MAX - 100;

pub(super) struct Ready {
    /// The highest first. One is empty only if there is no other.
    levels: Vec<Level>,
    len: usize,
    order: u32,
    turn: u32,
}

struct Level {
    priority: i32,
    head: u32,
    tail: u32,
}

impl Ready {
    pub(super) fn new() -> Ready {
        Ready {
            levels: Vec::new(),
            len: 0,
            order: FIRST,
            turn: 0,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// The first of each priority.
    pub(super) fn heads(&self) -> impl Iterator<Item = SlotId> {
        let heads = self.levels.iter().map(|level| level.head);
        heads.filter(|head| *head != NONE).map(SlotId)
    }

    /// Puts an item at the end of its priority's line.
    pub(super) fn push<T: Eq + Hash>(&mut self, slots: &mut Slots<T>, id: SlotId, priority: i32) {
        if self.len == 0
            && let Some(only) = self.levels.first_mut()
        {
            only.priority = priority;
        }
        let at = self.levels.partition_point(|level| level.priority > priority);
        if self.levels.get(at).is_none_or(|level| level.priority != priority) {
            let level = Level {
                priority,
                head: NONE,
                tail: NONE,
            };
            self.levels.insert(at, level);
        }
        let level = &mut self.levels[at];
        let slot = slots.get_mut(id);
        slot.is_ready = true;
        slot.priority = priority;
        slot.order = self.order;
        slot.before = level.tail;
        slot.after = NONE;
        match level.tail {
            NONE => level.head = id.0,
            tail => slots.get_mut(SlotId(tail)).after = id.0,
        }
        level.tail = id.0;
        self.order = self.order.wrapping_add(1);
        self.len += 1;
    }

    /// Takes an item out of the line, wherever it is.
    pub(super) fn remove<T: Eq + Hash>(&mut self, slots: &mut Slots<T>, id: SlotId) {
        let slot = slots.get_mut(id);
        slot.is_ready = false;
        let (before, after, priority) = (slot.before, slot.after, slot.priority);
        let at = self.levels.partition_point(|level| level.priority > priority);
        match before {
            NONE => self.levels[at].head = after,
            before => slots.get_mut(SlotId(before)).after = after,
        }
        match after {
            NONE => self.levels[at].tail = before,
            after => slots.get_mut(SlotId(after)).before = before,
        }
        if self.levels[at].head == NONE && self.levels.len() > 1 {
            self.levels.remove(at);
        }
        self.len -= 1;
    }

    /// Takes the item whose turn it is.
    pub(super) fn pop<T: Eq + Hash>(&mut self, slots: &mut Slots<T>) -> Option<SlotId> {
        if self.len == 0 {
            return None;
        }
        let mut head = self.levels.first()?.head;
        if self.levels.len() > 1 {
            self.turn = (self.turn + 1) % SHARE;
            if self.turn == 0 {
                let heads = self.levels.iter().map(|level| level.head);
                head = heads.max_by_key(|head| self.age(slots.get(SlotId(*head)).order))?;
            }
        }
        self.remove(slots, SlotId(head));
        Some(SlotId(head))
    }

    /// How many came in line since. It is right while the number of those who came may begin anew, because nobody stays in
    /// line for longer than so many turns: no more than [`SHARE`] for each that is in line.
    fn age(&self, order: u32) -> u32 {
        self.order.wrapping_sub(order)
    }
}
