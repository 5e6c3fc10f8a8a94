//! Changes that wait, at most one for each object.

#[cfg(test)]
mod tests;

use std::sync::Arc;

use hashbrown::HashTable;

use super::queue::added;
use crate::handler::{DeletedObject, Event};
use crate::object::{Entry, Object};
use crate::pipeline::store::Change;

/// What a handler does not know yet of one object.
#[derive(Debug)]
pub(super) struct PendingChange<K> {
    /// What the handler saw last, if it knows the object.
    seen: Option<Arc<Entry<K>>>,
    /// That object is gone: its last state, and whether nobody saw it go. Another of its name may be there by now.
    gone: Option<(Arc<Entry<K>>, bool)>,
    /// What is there now.
    present: Option<Arc<Entry<K>>>,
}

impl<K> PendingChange<K> {
    fn new(change: &Change<K>) -> PendingChange<K> {
        let (seen, gone, present) = match change {
            Change::Added { new } => (None, None, Some(new)),
            Change::Updated { old, new } => (Some(old), None, Some(new)),
            Change::Deleted { old, last, unknown } => (Some(old), Some((Arc::clone(last), *unknown)), None),
        };
        PendingChange {
            seen: seen.cloned(),
            gone,
            present: present.cloned(),
        }
    }

    /// Folds a further change into this one.
    fn fold(&mut self, change: &Change<K>) {
        match change {
            Change::Added { new } | Change::Updated { new, .. } => self.present = Some(Arc::clone(new)),
            Change::Deleted { last, unknown, .. } => {
                self.present = None;
                if self.seen.is_some() && self.gone.is_none() {
                    self.gone = Some((Arc::clone(last), *unknown));
                }
            }
        }
    }

    /// It came and went unseen.
    fn is_nothing(&self) -> bool {
        self.seen.is_none() && self.present.is_none()
    }

    fn entry(&self) -> Option<&Arc<Entry<K>>> {
        self.seen.as_ref().or(self.present.as_ref())
    }

    /// What to tell the handler.
    pub(super) fn events(self) -> (Option<Event<K>>, Option<Event<K>>) {
        match (self.seen, self.gone, self.present) {
            (Some(seen), Some((last, unknown)), present) => (
                Some(Event::Deleted(DeletedObject::new(seen, last, unknown))),
                present.map(added),
            ),
            (Some(old), None, Some(new)) => {
                let (old, new) = (Object::new(old), Object::new(new));
                (Some(Event::Updated { old, new }), None)
            }
            (None, _, present) => (present.map(added), None),
            (Some(_), None, None) => (None, None),
        }
    }
}

/// Pending changes in the order in which their objects first changed.
///
/// A list through the slots keeps the order, so that a change that came to nothing can be taken out of the middle, and
/// a table finds the slot of an object.
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
/// A queue that was once longer than this gives its memory back when it is empty.
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

    /// An entry of each object that waits.
    pub(super) fn entries(&self) -> impl Iterator<Item = &Arc<Entry<K>>> {
        self.slots
            .iter()
            .filter_map(|slot| slot.pending.as_ref().and_then(PendingChange::entry))
    }

    /// Adds a change, or folds it into the one that waits.
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
        pending.fold(change);
        if pending.is_nothing() {
            found.remove();
            self.unlink(at);
            self.give_back();
        }
    }

    /// Takes the change that waits longest.
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
        self.give_back();
        pending
    }

    fn give_back(&mut self) {
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
