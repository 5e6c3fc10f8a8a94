//! Pending changes, at most one for each object.

#[cfg(test)]
mod tests;

use std::sync::Arc;

use hashbrown::HashTable;

use super::queue::added;
use crate::handler::{DeletedObject, Event};
use crate::object::{Entry, Object};
use crate::pipeline::store::Change;

/// The changes of one object that are not delivered to a handler yet.
#[derive(Debug)]
pub(super) struct PendingChange<K> {
    /// The last state that was delivered to the handler, if any.
    delivered: Option<Arc<Entry<K>>>,
    /// The last state of that object if it was deleted, and whether that state is uncertain. A new object may
    /// have its name.
    deleted: Option<(Arc<Entry<K>>, bool)>,
    /// The current state.
    current: Option<Arc<Entry<K>>>,
}

impl<K> PendingChange<K> {
    fn new(change: &Change<K>) -> PendingChange<K> {
        let (delivered, deleted, current) = match change {
            Change::Added { new } => (None, None, Some(new)),
            Change::Updated { old, new } => (Some(old), None, Some(new)),
            Change::Deleted { old, last, unknown } => (Some(old), Some((Arc::clone(last), *unknown)), None),
        };
        PendingChange {
            delivered: delivered.cloned(),
            deleted,
            current: current.cloned(),
        }
    }

    /// Merges a further change into this one.
    fn merge(&mut self, change: &Change<K>) {
        match change {
            Change::Added { new } | Change::Updated { new, .. } => self.current = Some(Arc::clone(new)),
            Change::Deleted { last, unknown, .. } => {
                self.current = None;
                if self.delivered.is_some() && self.deleted.is_none() {
                    self.deleted = Some((Arc::clone(last), *unknown));
                }
            }
        }
    }

    /// Returns whether the object was added and deleted before any event was delivered.
    fn is_nothing(&self) -> bool {
        self.delivered.is_none() && self.current.is_none()
    }

    fn entry(&self) -> Option<&Arc<Entry<K>>> {
        self.delivered.as_ref().or(self.current.as_ref())
    }

    /// Returns the events to deliver: two if an object was replaced by a new one of its name.
    pub(super) fn events(self) -> (Option<Event<K>>, Option<Event<K>>) {
        match (self.delivered, self.deleted, self.current) {
            (Some(delivered), Some((last, unknown)), current) => (
                Some(Event::Deleted(DeletedObject::new(delivered, last, unknown))),
                current.map(added),
            ),
            (Some(old), None, Some(new)) => {
                let (old, new) = (Object::new(old), Object::new(new));
                (Some(Event::Updated { old, new }), None)
            }
            (None, _, current) => (current.map(added), None),
            (Some(_), None, None) => (None, None),
        }
    }
}

/// Pending changes in the order in which their objects first changed.
///
/// A linked list through the slots keeps the order and allows removal from the middle. A hash table maps
/// objects to slots.
#[derive(Debug)]
pub(super) struct PendingChanges<K> {
    slots: Vec<PendingSlot<K>>,
    by_key: HashTable<u32>,
    head: u32,
    tail: u32,
    free: u32,
}

#[derive(Debug)]
struct PendingSlot<K> {
    pending: Option<PendingChange<K>>,
    hash: u64,
    before: u32,
    after: u32,
}

const NO_SLOT: u32 = u32::MAX;
/// A queue that was longer than this releases its memory when it is empty.
const MAX_KEPT_SLOTS: usize = 1_024;

impl<K> PendingChanges<K> {
    pub(super) fn new() -> PendingChanges<K> {
        PendingChanges {
            slots: Vec::new(),
            by_key: HashTable::new(),
            head: NO_SLOT,
            tail: NO_SLOT,
            free: NO_SLOT,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.by_key.len()
    }

    /// Returns an entry of each object with a pending change.
    pub(super) fn entries(&self) -> impl Iterator<Item = &Arc<Entry<K>>> {
        self.slots
            .iter()
            .filter_map(|slot| slot.pending.as_ref().and_then(PendingChange::entry))
    }

    /// Adds a change, or merges it into the pending change of the object.
    pub(super) fn add(&mut self, change: &Change<K>) {
        let entry = change.entry();
        let hash = entry.hash();
        let is_it = |at: &u32| {
            let slot = &self.slots[*at as usize];
            let waiting = slot.pending.as_ref().and_then(PendingChange::entry);
            slot.hash == hash && waiting.is_some_and(|waiting| waiting.key() == entry.key())
        };
        let Ok(found) = self.by_key.find_entry(hash, is_it) else {
            return self.append(hash, PendingChange::new(change));
        };
        let at = *found.get();
        let Some(pending) = &mut self.slots[at as usize].pending else {
            return;
        };
        pending.merge(change);
        if pending.is_nothing() {
            found.remove();
            self.unlink(at);
            self.shrink_if_empty();
        }
    }

    /// Takes the oldest pending change.
    pub(super) fn take(&mut self) -> Option<PendingChange<K>> {
        let at = self.head;
        if at == NO_SLOT {
            return None;
        }
        let hash = self.slots[at as usize].hash;
        if let Ok(found) = self.by_key.find_entry(hash, |found| *found == at) {
            found.remove();
        }
        let pending = self.unlink(at);
        self.shrink_if_empty();
        pending
    }

    fn shrink_if_empty(&mut self) {
        if self.by_key.is_empty() && self.slots.len() > MAX_KEPT_SLOTS {
            *self = PendingChanges::new();
        }
    }

    fn append(&mut self, hash: u64, pending: PendingChange<K>) {
        let slot = PendingSlot {
            pending: Some(pending),
            hash,
            before: self.tail,
            after: NO_SLOT,
        };
        let at = if self.free == NO_SLOT {
            let Ok(at) = u32::try_from(self.slots.len()) else {
                return;
            };
            self.slots.push(slot);
            at
        } else {
            let at = self.free;
            self.free = self.slots[at as usize].after;
            self.slots[at as usize] = slot;
            at
        };
        match self.tail {
            NO_SLOT => self.head = at,
            tail => self.slots[tail as usize].after = at,
        }
        self.tail = at;
        let slots = &self.slots;
        self.by_key.insert_unique(hash, at, |at| slots[*at as usize].hash);
    }

    fn unlink(&mut self, at: u32) -> Option<PendingChange<K>> {
        let slot = &mut self.slots[at as usize];
        let (before, after) = (slot.before, slot.after);
        let pending = slot.pending.take();
        slot.after = self.free;
        self.free = at;
        match before {
            NO_SLOT => self.head = after,
            before => self.slots[before as usize].after = after,
        }
        match after {
            NO_SLOT => self.tail = before,
            after => self.slots[after as usize].before = before,
        }
        pending
    }
}
