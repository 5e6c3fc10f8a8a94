//! What is known of each item, and how it is found.

use std::hash::{BuildHasher, Hash};

use foldhash::fast::RandomState;
use hashbrown::HashTable;

use super::{Nanos, make_room};
use crate::half_hash::{half, spread};

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
    /// Neighbours in the line of its priority; `after` also links the free slots.
    pub(super) before: u32,
    pub(super) after: u32,
    /// Neighbours among all in line.
    pub(super) older: u32,
    pub(super) newer: u32,
    /// In line; while it is worked on, the one that it will have in line.
    pub(super) priority: i32,
    /// Its place among those that wait.
    pub(super) place: u32,
    pub(super) is_ready: bool,
    pub(super) is_running: bool,
    /// It was added while it was worked on.
    pub(super) is_again: bool,
}

impl<T: Clone> Slot<T> {
    pub(super) fn item(&self) -> T {
        self.item.clone().expect("a slot that is in use has an item")
    }
}

impl<T> Slot<T> {
    fn of(item: T, hash: u32) -> Slot<T> {
        Slot {
            item: Some(item),
            hash,
            before: NONE,
            after: NONE,
            older: NONE,
            newer: NONE,
            priority: 0,
            place: NONE,
            is_ready: false,
            is_running: false,
            is_again: false,
        }
    }

    pub(super) fn is_waiting(&self) -> bool {
        self.place != NONE
    }
}

pub(super) struct Slots<T> {
    all: Vec<Slot<T>>,
    free: u32,
    by_item: HashTable<u32>,
    /// Since when there is something to do, for each slot; None where nobody measures it.
    since: Option<Vec<Nanos>>,
    hasher: RandomState,
}

impl<T: Eq + Hash> Slots<T> {
    pub(super) fn new(is_measured: bool) -> Slots<T> {
        Slots {
            all: Vec::new(),
            free: NONE,
            by_item: HashTable::new(),
            since: is_measured.then(Vec::new),
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

    /// Puts an item into a free slot. One that was in use has nothing else in it that would be wrong for the next.
    fn fill(&mut self, item: T, hash: u32) -> u32 {
        if self.free == NONE {
            let at = u32::try_from(self.all.len()).expect("memory holds fewer items than that");
            make_room(&mut self.all);
            self.all.push(Slot::of(item, hash));
            if let Some(since) = &mut self.since {
                make_room(since);
                since.push(0);
            }
            return at;
        }
        let at = self.free;
        let slot = &mut self.all[at as usize];
        self.free = slot.after;
        slot.item = Some(item);
        slot.hash = hash;
        at
    }

    /// Forgets an item, which is given back: dropping it may take its time.
    pub(super) fn remove(&mut self, id: SlotId) -> Option<T> {
        let slot = &mut self.all[id.0 as usize];
        let item = slot.item.take();
        slot.after = self.free;
        self.free = id.0;
        let hash = slot.hash;
        if let Ok(found) = self.by_item.find_entry(spread(hash), |at| *at == id.0) {
            found.remove();
        }
        // A queue that was once long does not stay large.
        if self.by_item.is_empty() && self.all.len() > KEPT {
            self.all = Vec::new();
            self.free = NONE;
            self.by_item = HashTable::new();
            self.since = self.since.as_ref().map(|_| Vec::new());
        }
        item
    }

    /// Since when there is something to do: it came in line, or was added while it was worked on. 0 where nobody measures.
    pub(super) fn since(&self, id: SlotId) -> Nanos {
        self.since.as_ref().map_or(0, |since| since[id.0 as usize])
    }

    pub(super) fn set_since(&mut self, id: SlotId, now: Nanos) {
        if let Some(since) = &mut self.since {
            since[id.0 as usize] = now;
        }
    }
}
