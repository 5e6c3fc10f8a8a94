//! Those whose time has not come: a heap, the earliest first, in which an item can be moved.

use std::hash::Hash;

use super::slots::{NONE, SlotId, Slots};
use super::{Nanos, make_room};

/// Children of a place. Four make a heap that is half as high as one of two, and its children lie side by side.
const CHILDREN: usize = 4;

/// The heap. A place holds its time as well, so that sorting does not go to the slots.
pub(super) struct Waiting {
    heap: Vec<Place>,
    order: u64,
}

#[derive(Clone, Copy)]
struct Place {
    due: Nanos,
    /// Of equal times the first that came is the first.
    order: u64,
    slot: u32,
    /// The one it will have in line.
    priority: i32,
}

/// An item whose time has come.
pub(super) struct Due {
    pub(super) slot: SlotId,
    pub(super) priority: i32,
    pub(super) at: Nanos,
}

impl Waiting {
    pub(super) fn new() -> Waiting {
        Waiting {
            heap: Vec::new(),
            order: 0,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.heap.len()
    }

    #[cfg(test)]
    pub(super) fn capacity(&self) -> usize {
        self.heap.capacity()
    }

    /// When the first is due.
    pub(super) fn next(&self) -> Option<Nanos> {
        self.heap.first().map(|place| place.due)
    }

    /// Lets an item wait, or wait less long if it does already. Its priority may only rise.
    pub(super) fn put<T: Eq + Hash>(&mut self, slots: &mut Slots<T>, id: SlotId, due: Nanos, priority: i32) {
        let slot = slots.get(id);
        if slot.is_waiting() {
            let at = slot.place as usize;
            let place = &mut self.heap[at];
            place.priority = place.priority.max(priority);
            if due < place.due {
                place.due = due;
                self.up(slots, at);
            }
            return;
        }
        let order = self.order;
        self.order += 1;
        make_room(&mut self.heap);
        self.heap.push(Place {
            due,
            order,
            slot: id.0,
            priority,
        });
        self.up(slots, self.heap.len() - 1);
    }

    /// Takes the first item if it is due.
    pub(super) fn pop_due<T: Eq + Hash>(&mut self, slots: &mut Slots<T>, now: Nanos) -> Option<Due> {
        let first = *self.heap.first()?;
        if first.due > now {
            return None;
        }
        let last = self.heap.pop()?;
        if !self.heap.is_empty() {
            self.heap[0] = last;
            self.down(slots, 0);
        } else if self.heap.capacity() > 1_024 {
            self.heap = Vec::new();
        }
        slots.get_mut(SlotId(first.slot)).place = NONE;
        Some(Due {
            slot: SlotId(first.slot),
            priority: first.priority,
            at: first.due,
        })
    }

    fn up<T: Eq + Hash>(&mut self, slots: &mut Slots<T>, mut at: usize) {
        let moved = self.heap[at];
        while at > 0 {
            let parent = (at - 1) / CHILDREN;
            if !moved.is_before(self.heap[parent]) {
                break;
            }
            self.set(slots, at, self.heap[parent]);
            at = parent;
        }
        self.set(slots, at, moved);
    }

    fn down<T: Eq + Hash>(&mut self, slots: &mut Slots<T>, mut at: usize) {
        let moved = self.heap[at];
        loop {
            let children = at * CHILDREN + 1..self.heap.len().min(at * CHILDREN + 1 + CHILDREN);
            let Some(first) = children.min_by_key(|child| self.heap[*child].key()) else {
                break;
            };
            if !self.heap[first].is_before(moved) {
                break;
            }
            self.set(slots, at, self.heap[first]);
            at = first;
        }
        self.set(slots, at, moved);
    }

    fn set<T: Eq + Hash>(&mut self, slots: &mut Slots<T>, at: usize, place: Place) {
        self.heap[at] = place;
        let number = u32::try_from(at).expect("there are not more places than slots");
        slots.get_mut(SlotId(place.slot)).place = number;
    }
}

impl Place {
    fn key(self) -> (Nanos, u64) {
        (self.due, self.order)
    }

    fn is_before(self, other: Place) -> bool {
        self.key() < other.key()
    }
}
