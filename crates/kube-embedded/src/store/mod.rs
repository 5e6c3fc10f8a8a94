//! All objects, under one revision, with the history that watches and consistent lists need.
//!
//! As in etcd there is one revision for everything; each write takes the next. Every resource has its own collection
//! and history; a watcher is a cursor (a revision) on that history and holds nothing else, so memory does not grow with
//! the number of watchers, and one that falls behind the kept history is told so (410) instead of being buffered for.

mod collection;
mod key;
mod object;
mod owners;
#[cfg(test)]
mod tests;
mod tidings;

use std::collections::HashMap;
use std::ops::Bound;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::RwLock;
use serde_json::Value;

pub(crate) use collection::Change;
use collection::Collection;
pub(crate) use key::Key;
pub(crate) use object::{EventKind, Stored};
use owners::Owners;
pub(crate) use tidings::Listening;
use tidings::Tidings;

/// Name of a collection: `group/plural`.
pub(crate) type CollectionId = Arc<str>;

/// Where in the store an object is.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Place {
    pub(crate) collection: CollectionId,
    pub(crate) key: Key,
}

/// All objects.
#[derive(Debug)]
pub(crate) struct Store {
    state: RwLock<State>,
    /// How many changes each collection remembers.
    keep: usize,
    /// Tells of the revision of every write.
    newest: Tidings,
}

#[derive(Debug)]
struct State {
    revision: u64,
    collections: HashMap<CollectionId, Collection>,
    /// Where the history of collections begins that are not there yet.
    compacted: u64,
    owners: Owners,
    /// How often a backup was restored.
    restored: u64,
}

/// A moment of the whole store, to go back to.
#[derive(Debug)]
pub(crate) struct Backup {
    revision: u64,
    collections: HashMap<CollectionId, Collection>,
    owners: Owners,
}

/// What to write.
#[derive(Debug)]
pub(crate) struct Write<'a> {
    pub(crate) collection: &'a CollectionId,
    pub(crate) key: Key,
    /// Revision the object must be at; `None` when it must not exist.
    pub(crate) expected: Option<u64>,
    pub(crate) kind: EventKind,
    pub(crate) object: Value,
    /// Values for field selectors.
    pub(crate) fields: Box<[Box<str>]>,
    /// Hash of the schema that the object is pruned and defaulted by; 0 for built-in kinds, and if it is not known.
    pub(crate) schema: u64,
}

/// Identifies the content of some collections: after a change to one of them it is another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stamp {
    restored: u64,
    changed: u64,
}

/// A write that was not done, because the object is not at the expected revision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Stale;

/// Objects of one moment.
#[derive(Debug)]
pub(crate) struct Listed {
    pub(crate) objects: Vec<Arc<Stored>>,
    pub(crate) revision: u64,
}

/// History does not reach back to where it was asked from; it begins after this revision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Forgotten(pub(crate) u64);

/// What follows a watcher's cursor.
#[derive(Debug)]
pub(crate) struct Following {
    pub(crate) changes: Vec<Change>,
    /// The cursor after these changes: everything up to here has been seen.
    pub(crate) cursor: u64,
}

/// How many changes a watcher takes at once.
const BATCH: usize = 256;

impl Store {
    pub(crate) fn new(keep: usize) -> Store {
        let state = State {
            revision: 1,
            collections: HashMap::new(),
            compacted: 0,
            owners: Owners::default(),
            restored: 0,
        };
        Store {
            state: RwLock::new(state),
            keep,
            newest: Tidings::new(1),
        }
    }

    /// The revision of the newest write.
    pub(crate) fn revision(&self) -> u64 {
        self.state.read().revision
    }

    pub(crate) fn get(&self, collection: &str, key: &Key) -> Option<Arc<Stored>> {
        self.state.read().collections.get(collection)?.get(key).cloned()
    }

    /// How many objects a collection has.
    pub(crate) fn len(&self, collection: &str) -> usize {
        self.state
            .read()
            .collections
            .get(collection)
            .map_or(0, Collection::len)
    }

    /// Bytes that the newest versions of a collection's objects take.
    pub(crate) fn size(&self, collection: &str) -> usize {
        let state = self.state.read();
        state
            .collections
            .get(collection)
            .map_or(0, |c| c.objects().map(|o| o.size()).sum())
    }

    /// The object with this uid.
    pub(crate) fn by_uid(&self, uid: &str) -> Option<Place> {
        self.state.read().owners.place(uid).cloned()
    }

    /// The objects that name this uid as an owner.
    pub(crate) fn dependents(&self, uid: &str) -> Vec<Place> {
        self.state.read().owners.dependents(uid)
    }

    /// Does one write, or nothing when the object is not at the expected revision.
    pub(crate) fn write(&self, write: Write<'_>) -> Result<Arc<Stored>, Stale> {
        let mut state = self.state.write();
        let state = &mut *state;
        let collection = match state.collections.get_mut(write.collection) {
            Some(collection) => collection,
            None => state
                .collections
                .entry(write.collection.clone())
                .or_insert_with(|| Collection::new(state.compacted)),
        };
        let previous = collection.get(&write.key).cloned();
        if previous.as_ref().map(|p| p.revision) != write.expected {
            return Err(Stale);
        }
        state.revision += 1;
        let Write {
            kind,
            key,
            mut object,
            fields,
            schema,
            ..
        } = write;
        let object = Stored::encode(kind, key, state.revision, &mut object, fields, schema);
        let object = Arc::new(object);
        state
            .owners
            .follow(write.collection, kind, &object, previous.as_deref());
        collection.apply(
            Change {
                kind,
                object: object.clone(),
                previous,
            },
            self.keep,
        );
        self.newest.tell(state.revision);
        Ok(object)
    }

    /// The newest objects of `range`.
    pub(crate) fn list(&self, collection: &str, range: (Bound<Key>, Bound<Key>)) -> Listed {
        let state = self.state.read();
        let revision = state.revision;
        let objects = state
            .collections
            .get(collection)
            .and_then(|c| c.at(u64::MAX, range));
        Listed {
            objects: objects.unwrap_or_default(),
            revision,
        }
    }

    /// The objects of `range` as they were at `revision`.
    pub(crate) fn list_at(
        &self,
        collection: &str,
        range: (Bound<Key>, Bound<Key>),
        revision: u64,
    ) -> Result<Listed, Forgotten> {
        let state = self.state.read();
        let Some(collection) = state.collections.get(collection) else {
            if revision < state.compacted {
                return Err(Forgotten(state.compacted));
            }
            return Ok(Listed {
                objects: Vec::new(),
                revision,
            });
        };
        let objects = collection
            .at(revision, range)
            .ok_or(Forgotten(collection.forgotten()))?;
        Ok(Listed { objects, revision })
    }

    /// Tells of every change to a collection.
    pub(crate) fn subscribe(&self, collection: &CollectionId) -> Listening {
        if let Some(known) = self.state.read().collections.get(collection) {
            return known.subscribe();
        }
        let mut state = self.state.write();
        let compacted = state.compacted;
        state
            .collections
            .entry(collection.clone())
            .or_insert_with(|| Collection::new(compacted))
            .subscribe()
    }

    /// Returns the stamp of some collections.
    pub(crate) fn stamp(&self, collections: &[&str]) -> Stamp {
        let state = self.state.read();
        // Every change has a revision of its own, so the newest one stands for all.
        let changed = collections.iter().filter_map(|id| state.collections.get(*id));
        Stamp {
            restored: state.restored,
            changed: changed.map(Collection::changed).max().unwrap_or(0),
        }
    }

    /// Returns whether a watcher may begin after `revision`.
    pub(crate) fn remembers(&self, collection: &str, revision: u64) -> Result<(), Forgotten> {
        let state = self.state.read();
        let forgotten = state
            .collections
            .get(collection)
            .map_or(state.compacted, Collection::forgotten);
        if revision < forgotten {
            return Err(Forgotten(forgotten));
        }
        Ok(())
    }

    /// The changes after `cursor`, at most a batch of them, for a watcher that has begun.
    pub(crate) fn follow(&self, collection: &str, cursor: u64) -> Result<Following, Forgotten> {
        let state = self.state.read();
        let Some(known) = state.collections.get(collection) else {
            return Ok(Following {
                changes: Vec::new(),
                cursor: cursor.max(state.revision),
            });
        };
        let changes = known
            .changes_after(cursor, BATCH)
            .ok_or(Forgotten(known.forgotten()))?;
        let cursor = match changes.last() {
            Some(last) if changes.len() == BATCH => last.revision(),
            _ => cursor.max(state.revision),
        };
        Ok(Following { changes, cursor })
    }

    /// Raises the revision without a change, as a write to some other resource would.
    pub(crate) fn advance(&self, by: u64) -> u64 {
        let mut state = self.state.write();
        state.revision += by;
        self.newest.tell(state.revision);
        state.revision
    }

    /// Waits until `revision` has been reached, but no longer than `patience`. Says whether it was.
    pub(crate) async fn reached(&self, revision: u64, patience: Duration) -> bool {
        let mut newest = self.newest.listen();
        let reached = newest.reaches(revision);
        tokio::time::timeout(patience, reached)
            .await
            .is_ok_and(|r| r.is_ok())
    }

    /// Forgets the history of everything up to and including `revision`.
    pub(crate) fn compact(&self, revision: u64) {
        let mut state = self.state.write();
        let revision = revision.min(state.revision);
        state.compacted = state.compacted.max(revision);
        for collection in state.collections.values_mut() {
            collection.compact(revision);
        }
    }

    /// Remembers this moment.
    pub(crate) fn backup(&self) -> Backup {
        let state = self.state.read();
        Backup {
            revision: state.revision,
            collections: state
                .collections
                .iter()
                .map(|(id, c)| (id.clone(), c.copy()))
                .collect(),
            owners: state.owners.clone(),
        }
    }

    /// Goes back to a moment, revision included, with no history. Watchers must have been ended before.
    pub(crate) fn restore(&self, backup: &Backup) {
        let mut state = self.state.write();
        state.revision = backup.revision;
        state.compacted = backup.revision;
        state.restored += 1;
        self.newest.tell(state.revision);
        state.owners = backup.owners.clone();
        state.collections = backup
            .collections
            .iter()
            .map(|(id, c)| {
                let mut copy = c.copy();
                copy.compact(backup.revision);
                (id.clone(), copy)
            })
            .collect();
    }
}
