//! The state of each item, and the table that finds it.

use std::hash::{BuildHasher, Hash};

use foldhash::fast::RandomState;
use hashbrown::HashTable;

use super::{Nanos, make_room};
use crate::hash::{half, spread};

/// No slot, or no index.
pub(super) const NONE: u32 = u32::MAX;
/// An empty queue keeps memory for at most this many items.
const KEPT_SLOTS: usize = 1_024;

/// Index of a slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct SlotId(pub(super) u32);

/// State of an item.
#[derive(Debug)]
pub(super) struct Slot<T> {
    /// None if the slot is free.
    item: Option<T>,
    hash: u32,
    /// Neighbours in the list of its priority. `next` also links the free slots.
    pub(super) previous: u32,
    pub(super) next: u32,
    /// Neighbours in the list of all queued items.
    pub(super) older: u32,
    pub(super) newer: u32,
    /// Priority in the queue. While the item is running, the priority it is requeued with.
    pub(super) priority: i32,
    /// Index in the heap of delayed items.
    pub(super) heap_index: u32,
    pub(super) is_queued: bool,
    pub(super) is_running: bool,
    /// The item was added while it was running.
    pub(super) is_dirty: bool,
}

impl<T: Clone> Slot<T> {
    pub(super) fn item(&self) -> T {
        self.item.clone().expect("a used slot has an item")
    }
}

impl<T> Slot<T> {
    fn of(item: T, hash: u32) -> Slot<T> {
        Slot {
            item: Some(item),
            hash,
            previous: NONE,
            next: NONE,
            older: NONE,
            newer: NONE,
            priority: 0,
            heap_index: NONE,
            is_queued: false,
            is_running: false,
            is_dirty: false,
        }
    }

    pub(super) fn is_delayed(&self) -> bool {
        self.heap_index != NONE
    }
}

pub(super) struct Slots<T> {
    all: Vec<Slot<T>>,
    free: u32,
    by_item: HashTable<u32>,
    /// For each slot, when the item was queued, or was added while running. None if times are not tracked.
    queued_since: Option<Vec<Nanos>>,
    hasher: RandomState,
}

impl<T: Eq + Hash> Slots<T> {
    pub(super) fn new(tracks_times: bool) -> Slots<T> {
        Slots {
            all: Vec::new(),
            free: NONE,
            by_item: HashTable::new(),
            queued_since: tracks_times.then(Vec::new),
            hasher: RandomState::default(),
        }
    }

    pub(super) fn get(&self, id: SlotId) -> &Slot<T> {
        &self.all[id.0 as usize]
    }

    pub(super) fn get_mut(&mut self, id: SlotId) -> &mut Slot<T> {
        &mut self.all[id.0 as usize]
    }

    #[cfg(test)]
    pub(super) fn capacity(&self) -> usize {
        self.all.capacity()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Slot<T>> {
        self.all.iter().filter(|slot| slot.item.is_some())
    }

    /// Returns the slot of an item. Creates it if the item is new.
    pub(super) fn find_or_insert(&mut self, item: T) -> SlotId {
        let hash = half(self.hasher.hash_one(&item));
        let all = &self.all;
        let is_it = |at: &u32| {
            let slot = &all[*at as usize];
            slot.hash == hash && slot.item.as_ref() == Some(&item)
        };
        if let Some(found) = self.by_item.find(spread(hash), is_it) {
            return SlotId(*found);
        }
        let at = self.fill(item, hash);
        let all = &self.all;
        self.by_item
            .insert_unique(spread(hash), at, |at| spread(all[*at as usize].hash));
        SlotId(at)
    }

    /// Stores an item in a free slot. The other fields of a free slot are as in a new one.
    fn fill(&mut self, item: T, hash: u32) -> u32 {
        if self.free == NONE {
            let at = u32::try_from(self.all.len()).expect("fewer than 2^32 items fit into memory");
            make_room(&mut self.all);
            self.all.push(Slot::of(item, hash));
            if let Some(queued_since) = &mut self.queued_since {
                make_room(queued_since);
                queued_since.push(0);
            }
            return at;
        }
        let at = self.free;
        let slot = &mut self.all[at as usize];
        self.free = slot.next;
        slot.item = Some(item);
        slot.hash = hash;
        at
    }

    /// Removes an item and returns it, so that the caller can drop it outside of the lock.
    pub(super) fn remove(&mut self, id: SlotId) -> Option<T> {
        let slot = &mut self.all[id.0 as usize];
        let item = slot.item.take();
        slot.next = self.free;
        self.free = id.0;
        let hash = slot.hash;
        if let Ok(found) = self.by_item.find_entry(spread(hash), |at| *at == id.0) {
            found.remove();
        }
        // Release the memory of a queue that was long once.
        if self.by_item.is_empty() && self.all.len() > KEPT_SLOTS {
            self.all = Vec::new();
            self.free = NONE;
            self.by_item = HashTable::new();
            self.queued_since = self.queued_since.as_ref().map(|_| Vec::new());
        }
        item
    }

    /// Returns when the item was queued, or was added while running. Returns 0 if times are not tracked.
    pub(super) fn queued_since(&self, id: SlotId) -> Nanos {
        self.queued_since.as_ref().map_or(0, |since| since[id.0 as usize])
    }

    pub(super) fn set_queued_since(&mut self, id: SlotId, now: Nanos) {
        if let Some(since) = &mut self.queued_since {
            since[id.0 as usize] = now;
        }
    }
}
