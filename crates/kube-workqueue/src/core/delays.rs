//! Delayed items: a heap ordered by due time, in which an entry can be moved.

use std::hash::Hash;

use super::slots::{NONE, SlotId, Slots};
use super::{Nanos, make_room};

/// Children per entry. A heap with four is half as high as a binary heap, and the children are adjacent in memory.
const CHILDREN: usize = 4;

/// The heap. An entry contains its due time, so sorting does not access the slots.
pub(super) struct DelayHeap {
    heap: Vec<HeapEntry>,
    next_order: u64,
}

#[derive(Clone, Copy)]
struct HeapEntry {
    due: Nanos,
    /// Orders entries with the same due time by arrival.
    order: u64,
    slot: u32,
    /// Priority in the queue once the item is due.
    priority: i32,
}

/// An item that is due.
pub(super) struct DueItem {
    pub(super) slot: SlotId,
    pub(super) priority: i32,
    pub(super) due: Nanos,
}

impl DelayHeap {
    pub(super) fn new() -> DelayHeap {
        DelayHeap {
            heap: Vec::new(),
            next_order: 0,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.heap.len()
    }

    #[cfg(test)]
    pub(super) fn capacity(&self) -> usize {
        self.heap.capacity()
    }

    /// Returns the earliest due time.
    pub(super) fn next_due(&self) -> Option<Nanos> {
        self.heap.first().map(|entry| entry.due)
    }

    /// Delays an item. If it is delayed already, the earlier time and the higher priority win.
    pub(super) fn insert<T: Eq + Hash>(
        &mut self,
        slots: &mut Slots<T>,
        id: SlotId,
        due: Nanos,
        priority: i32,
    ) {
        let slot = slots.get(id);
        if slot.is_delayed() {
            let index = slot.heap_index as usize;
            let entry = &mut self.heap[index];
            entry.priority = entry.priority.max(priority);
            if due < entry.due {
                entry.due = due;
                self.sift_up(slots, index);
            }
            return;
        }
        let order = self.next_order;
        self.next_order += 1;
        make_room(&mut self.heap);
        self.heap.push(HeapEntry {
            due,
            order,
            slot: id.0,
            priority,
        });
        self.sift_up(slots, self.heap.len() - 1);
    }

    /// Removes and returns the first item if it is due.
    pub(super) fn pop_due<T: Eq + Hash>(&mut self, slots: &mut Slots<T>, now: Nanos) -> Option<DueItem> {
        let first = *self.heap.first()?;
        if first.due > now {
            return None;
        }
        let last = self.heap.pop()?;
        if !self.heap.is_empty() {
            self.heap[0] = last;
            self.sift_down(slots, 0);
        } else if self.heap.capacity() > 1_024 {
            self.heap = Vec::new();
        }
        slots.get_mut(SlotId(first.slot)).heap_index = NONE;
        Some(DueItem {
            slot: SlotId(first.slot),
            priority: first.priority,
            due: first.due,
        })
    }

    fn sift_up<T: Eq + Hash>(&mut self, slots: &mut Slots<T>, mut index: usize) {
        let moved = self.heap[index];
        while index > 0 {
            let parent = (index - 1) / CHILDREN;
            if !moved.is_before(self.heap[parent]) {
                break;
            }
            self.set(slots, index, self.heap[parent]);
            index = parent;
        }
        self.set(slots, index, moved);
    }

    fn sift_down<T: Eq + Hash>(&mut self, slots: &mut Slots<T>, mut index: usize) {
        let moved = self.heap[index];
        loop {
            let children = index * CHILDREN + 1..self.heap.len().min(index * CHILDREN + 1 + CHILDREN);
            let Some(first) = children.min_by_key(|child| self.heap[*child].key()) else {
                break;
            };
            if !self.heap[first].is_before(moved) {
                break;
            }
            self.set(slots, index, self.heap[first]);
            index = first;
        }
        self.set(slots, index, moved);
    }

    fn set<T: Eq + Hash>(&mut self, slots: &mut Slots<T>, index: usize, entry: HeapEntry) {
        self.heap[index] = entry;
        let number = u32::try_from(index).expect("the heap has at most as many entries as there are slots");
        slots.get_mut(SlotId(entry.slot)).heap_index = number;
    }
}

impl HeapEntry {
    fn key(self) -> (Nanos, u64) {
        (self.due, self.order)
    }

    fn is_before(self, other: HeapEntry) -> bool {
        self.key() < other.key()
    }
}
