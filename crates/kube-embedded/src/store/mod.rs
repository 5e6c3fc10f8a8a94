//! All objects, with one revision, and the history for watches and consistent lists.
//!
//! As in etcd, all resources share one revision, and each write increments it. Every resource has its own collection
//! and history. A watch only contains a revision as a cursor on that history, so memory does not grow with the number
//! of watches. A watch that falls behind the history gets 410.

mod collection;
mod key;
mod object;
mod owners;
mod revisions;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::ops::Bound;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::RwLock;
use serde_json::Value;

use collection::Collection;
pub(crate) use collection::HistoryEntry;
pub(crate) use key::Key;
pub(crate) use object::{EventKind, Stored};
use owners::Owners;
pub(crate) use revisions::RevisionReceiver;
use revisions::RevisionSender;

/// Name of a collection: `group/plural`.
pub(crate) type CollectionId = Arc<str>;

/// The location of an object in the store.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct ObjectRef {
    pub(crate) collection: CollectionId,
    pub(crate) key: Key,
}

/// All objects.
#[derive(Debug)]
pub(crate) struct Store {
    state: RwLock<StoreState>,
    /// Maximum number of changes in the history of each collection.
    keep: usize,
    /// Notifies of the revision of every write.
    newest: RevisionSender,
}

#[derive(Debug)]
struct StoreState {
    revision: u64,
    collections: HashMap<CollectionId, Collection>,
    /// The history of new collections begins after this revision.
    compacted: u64,
    owners: Owners,
    /// Number of restored backups.
    restored: u64,
}

/// A copy of the store, for [`Store::restore`].
#[derive(Debug)]
pub(crate) struct Backup {
    revision: u64,
    collections: HashMap<CollectionId, Collection>,
    owners: Owners,
}

/// A write of one object.
#[derive(Debug)]
pub(crate) struct Write<'a> {
    pub(crate) collection: &'a CollectionId,
    pub(crate) key: Key,
    /// Expected revision of the object; `None` if it must not exist.
    pub(crate) expected: Option<u64>,
    pub(crate) kind: EventKind,
    pub(crate) object: Value,
    /// Values for field selectors.
    pub(crate) fields: Box<[Box<str>]>,
    /// Hash of the schema by which the object is pruned and defaulted; 0 for built-in kinds, or if unknown.
    pub(crate) schema: u64,
}

/// Identifies the content of some collections. It changes with each of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stamp {
    restored: u64,
    changed: u64,
}

/// The write was rejected because the object is not at the expected revision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StaleRevision;

/// The objects of a list at one revision.
#[derive(Debug)]
pub(crate) struct Snapshot {
    pub(crate) objects: Vec<Arc<Stored>>,
    pub(crate) revision: u64,
}

/// The requested revision is no longer in the history, which begins after this revision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct HistoryCompacted(pub(crate) u64);

/// Changes after a watch's cursor.
#[derive(Debug)]
pub(crate) struct ChangeBatch {
    pub(crate) changes: Vec<HistoryEntry>,
    /// The new cursor of the watch, which has then seen all changes up to this revision.
    pub(crate) cursor: u64,
}

/// Maximum number of changes in a batch.
const BATCH: usize = 256;

impl Store {
    pub(crate) fn new(keep: usize) -> Store {
        let state = StoreState {
            revision: 1,
            collections: HashMap::new(),
            compacted: 0,
            owners: Owners::default(),
            restored: 0,
        };
        Store {
            state: RwLock::new(state),
            keep,
            newest: RevisionSender::new(1),
        }
    }

    /// Returns the revision of the newest write.
    pub(crate) fn revision(&self) -> u64 {
        self.state.read().revision
    }

    pub(crate) fn get(&self, collection: &str, key: &Key) -> Option<Arc<Stored>> {
        self.state.read().collections.get(collection)?.get(key).cloned()
    }

    /// Returns the number of objects in a collection.
    pub(crate) fn len(&self, collection: &str) -> usize {
        self.state
            .read()
            .collections
            .get(collection)
            .map_or(0, Collection::len)
    }

    /// Returns the size of a collection's objects in bytes.
    pub(crate) fn size(&self, collection: &str) -> usize {
        let state = self.state.read();
        state
            .collections
            .get(collection)
            .map_or(0, |c| c.objects().map(|o| o.size()).sum())
    }

    /// Returns the object with this uid.
    pub(crate) fn by_uid(&self, uid: &str) -> Option<ObjectRef> {
        self.state.read().owners.place(uid).cloned()
    }

    /// Returns the objects that have this uid as an owner.
    pub(crate) fn dependents(&self, uid: &str) -> Vec<ObjectRef> {
        self.state.read().owners.dependents(uid)
    }

    /// Writes an object, if it is at the expected revision.
    pub(crate) fn write(&self, write: Write<'_>) -> Result<Arc<Stored>, StaleRevision> {
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
            return Err(StaleRevision);
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
            .update(write.collection, kind, &object, previous.as_deref());
        collection.apply(
            HistoryEntry {
                kind,
                object: object.clone(),
                previous,
            },
            self.keep,
        );
        self.newest.send(state.revision);
        Ok(object)
    }

    /// Returns the newest objects in `range`.
    pub(crate) fn list(&self, collection: &str, range: (Bound<Key>, Bound<Key>)) -> Snapshot {
        let state = self.state.read();
        let revision = state.revision;
        let objects = state
            .collections
            .get(collection)
            .and_then(|c| c.at(u64::MAX, range));
        Snapshot {
            objects: objects.unwrap_or_default(),
            revision,
        }
    }

    /// Returns the objects in `range` at `revision`.
    pub(crate) fn list_at(
        &self,
        collection: &str,
        range: (Bound<Key>, Bound<Key>),
        revision: u64,
    ) -> Result<Snapshot, HistoryCompacted> {
        let state = self.state.read();
        let Some(collection) = state.collections.get(collection) else {
            if revision < state.compacted {
                return Err(HistoryCompacted(state.compacted));
            }
            return Ok(Snapshot {
                objects: Vec::new(),
                revision,
            });
        };
        let objects = collection
            .at(revision, range)
            .ok_or(HistoryCompacted(collection.compacted()))?;
        Ok(Snapshot { objects, revision })
    }

    /// Returns a receiver that is notified of changes to a collection.
    pub(crate) fn subscribe(&self, collection: &CollectionId) -> RevisionReceiver {
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
        // All changes have different revisions, so the newest identifies the content.
        let changed = collections.iter().filter_map(|id| state.collections.get(*id));
        Stamp {
            restored: state.restored,
            changed: changed.map(Collection::changed).max().unwrap_or(0),
        }
    }

    /// Checks that a watch can start at `revision`.
    pub(crate) fn check_history(&self, collection: &str, revision: u64) -> Result<(), HistoryCompacted> {
        let state = self.state.read();
        let compacted = state
            .collections
            .get(collection)
            .map_or(state.compacted, Collection::compacted);
        if revision < compacted {
            return Err(HistoryCompacted(compacted));
        }
        Ok(())
    }

    /// Returns a batch of changes after `cursor`, for a watch that has started.
    pub(crate) fn changes_after(
        &self,
        collection: &str,
        cursor: u64,
    ) -> Result<ChangeBatch, HistoryCompacted> {
        let state = self.state.read();
        let Some(known) = state.collections.get(collection) else {
            return Ok(ChangeBatch {
                changes: Vec::new(),
                cursor: cursor.max(state.revision),
            });
        };
        let changes = known
            .changes_after(cursor, BATCH)
            .ok_or(HistoryCompacted(known.compacted()))?;
        let cursor = match changes.last() {
            Some(last) if changes.len() == BATCH => last.revision(),
            _ => cursor.max(state.revision),
        };
        Ok(ChangeBatch { changes, cursor })
    }

    /// Increases the revision without a change, like a write to another resource.
    pub(crate) fn advance(&self, by: u64) -> u64 {
        let mut state = self.state.write();
        state.revision += by;
        self.newest.send(state.revision);
        state.revision
    }

    /// Waits until the store has reached `revision`. Returns false after `patience`.
    pub(crate) async fn wait_for_revision(&self, revision: u64, patience: Duration) -> bool {
        let mut newest = self.newest.subscribe();
        let reached = newest.wait_for(revision);
        tokio::time::timeout(patience, reached)
            .await
            .is_ok_and(|r| r.is_ok())
    }

    /// Drops the history up to and including `revision`.
    pub(crate) fn compact(&self, revision: u64) {
        let mut state = self.state.write();
        let revision = revision.min(state.revision);
        state.compacted = state.compacted.max(revision);
        for collection in state.collections.values_mut() {
            collection.compact(revision);
        }
    }

    /// Returns a copy of the current state.
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

    /// Restores a backup including its revision, without history. All watches must have ended.
    pub(crate) fn restore(&self, backup: &Backup) {
        let mut state = self.state.write();
        state.revision = backup.revision;
        state.compacted = backup.revision;
        state.restored += 1;
        self.newest.send(state.revision);
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
