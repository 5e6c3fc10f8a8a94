//! What is known of each item, and how it is found.

use std::hash::{BuildHasher, Hash};

use foldhash::fast::RandomState;
use hashbrown::HashTable;

use super::Nanos;

use super::make_room;

/// No slot, no place.
pub(super) const NONE: u32 = u32::MAX;
/// Memory for so many items is kept when a queue is empty.
const KEPT: usize = 1_024;

/// A slot's number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct SlotId(pub(super) u32);

/// What is known of an item.
#[derive(Debug)]
pub(super) struct Slot<T> {
    /// None if the slot is free.
    item: Option<T>,
    hash: u32,
    pub(super) is_ready: bool,
    pub(super) is_running: bool,
    /// It was added while it was worked on.
    pub(super) is_again: bool,
    /// When it came in line, as a number that only grows.
    pub(super) order: u64,
    /// Since when there is something to do: it came in line, or was added while it was worked on.
    pub(super) since: Nanos,
    /// Neighbours in line; `after` also links the free slots.
    pub(super) before: u32,
    pub(super) after: u32,
    /// In line; while it is worked on, the one that it will have in line.
    pub(super) priority: i32,
    /// Its place among those that wait.
    pub(super) place: u32,
}

impl<T: Clone> Slot<T> {
    pub(super) fn item(&self) -> T {
        self.item.clone().expect("a slot that is in use has an item")
    }
}

impl<T> Slot<T> {
    pub(super) fn is_waiting(&self) -> bool {
        self.place != NONE
    }
}

pub(super) struct Slots<T> {
    all: Vec<Slot<T>>,
    free: u32,
    by_item: HashTable<u32>,
    hasher: RandomState,
}

impl<T: Eq + Hash> Slots<T> {
    pub(super) fn new() -> Slots<T> {
        Slots {
            all: Vec::new(),
            free: NONE,
            by_item: HashTable::new(),
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

    /// The slot of an item, which is new if the item is.
    pub(super) fn find_or_insert(&mut self, item: T) -> SlotId {
        let hash = low_half(self.hasher.hash_one(&item));
        let all = &self.all;
        let is_it = |at: &u32| {
            let slot = &all[*at as usize];
            slot.hash == hash && slot.item.as_ref() == Some(&item)
        };
        if let Some(found) = self.by_item.find(spread(hash), is_it) {
            return SlotId(*found);
        }
        let slot = Slot {
            item: Some(item),
            hash,
            is_ready: false,
            is_running: false,
            is_again: false,
            order: 0,
            since: 0,
            before: NONE,
            after: NONE,
            priority: 0,
            place: NONE,
        };
        let at = if self.free == NONE {
            let at =
                u32::try_from(self.all.len()).expect("a queue holds less than four thousand million items");
            make_room(&mut self.all);
            self.all.push(slot);
            at
        } else {
            let at = self.free;
            self.free = self.all[at as usize].after;
            self.all[at as usize] = slot;
            at
        };
        let all = &self.all;
        self.by_item
            .insert_unique(spread(hash), at, |at| spread(all[*at as usize].hash));
        SlotId(at)
    }

    /// Forgets an item.
    pub(super) fn remove(&mut self, id: SlotId) {
        let slot = &mut self.all[id.0 as usize];
        slot.item = None;
        slot.after = self.free;
        self.free = id.0;
        let hash = slot.hash;
        if let Ok(found) = self.by_item.find_entry(spread(hash), |at| *at == id.0) {
            found.remove();
        }
        // A queue that was once long does not stay large.
        if self.by_item.is_empty() && self.all.len() > KEPT {
            self.all = Vec::new();
            self.by_item = HashTable::new();
            self.free = NONE;
        }
    }
}

/// What is kept of a hash.
#[allow(
    clippy::cast_possible_truncation,
    reason = "half of it tells items apart well enough"
)]
fn low_half(hash: u64) -> u32 {
    hash as u32
}

/// A hash for the table, which uses the lowest and the highest bits, from what was kept of it.
fn spread(hash: u32) -> u64 {
    u64::from(hash).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}
