//! The objects of one resource, and their recent history.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Bound;
use std::sync::Arc;

use super::{EventKind, Key, RevisionReceiver, RevisionSender, Stored};

/// A change in the history of a collection.
#[derive(Debug, Clone)]
pub(crate) struct HistoryEntry {
    pub(crate) kind: EventKind,
    /// The object after the change; for a deletion its last state, at the revision of the deletion.
    pub(crate) object: Arc<Stored>,
    pub(crate) previous: Option<Arc<Stored>>,
}

impl HistoryEntry {
    pub(crate) fn revision(&self) -> u64 {
        self.object.revision
    }
}

/// The objects of one resource, and their recent history.
#[derive(Debug)]
pub(super) struct Collection {
    objects: BTreeMap<Key, Arc<Stored>>,
    history: VecDeque<HistoryEntry>,
    /// Lists and watches cannot start before this revision.
    compacted: u64,
    /// Revision of the newest change that is no longer in `history`. A watch at or after it misses nothing.
    last_dropped: u64,
    /// Notifies watches of the newest revision.
    newest: RevisionSender,
    /// Revision of the newest change, even if it is no longer in `history`.
    changed: u64,
}

impl Collection {
    pub(super) fn new(compacted: u64) -> Collection {
        Collection {
            objects: BTreeMap::new(),
            history: VecDeque::new(),
            compacted,
            last_dropped: compacted,
            newest: RevisionSender::new(0),
            changed: 0,
        }
    }

    /// Returns a copy of the objects without history and watches.
    pub(super) fn copy(&self) -> Collection {
        Collection {
            objects: self.objects.clone(),
            changed: self.changed,
            ..Collection::new(self.compacted)
        }
    }

    pub(super) fn get(&self, key: &Key) -> Option<&Arc<Stored>> {
        self.objects.get(key)
    }

    pub(super) fn len(&self) -> usize {
        self.objects.len()
    }

    pub(super) fn compacted(&self) -> u64 {
        self.compacted
    }

    pub(super) fn changed(&self) -> u64 {
        self.changed
    }

    pub(super) fn subscribe(&self) -> RevisionReceiver {
        self.newest.subscribe()
    }

    pub(super) fn objects(&self) -> impl Iterator<Item = &Arc<Stored>> {
        self.objects.values()
    }

    /// Applies a change and adds it to the history, which keeps at most `keep` changes.
    pub(super) fn apply(&mut self, change: HistoryEntry, keep: usize) {
        match change.kind {
            EventKind::Deleted => self.objects.remove(&change.object.key),
            _ => self
                .objects
                .insert(change.object.key.clone(), change.object.clone()),
        };
        let revision = change.revision();
        self.history.push_back(change);
        while self.history.len() > keep {
            self.drop_oldest();
        }
        self.changed = revision;
        self.newest.send(revision);
    }

    fn drop_oldest(&mut self) {
        if let Some(change) = self.history.pop_front() {
            self.last_dropped = change.revision();
            self.compacted = self.compacted.max(self.last_dropped);
        }
    }

    /// Drops the history up to and including `revision`.
    pub(super) fn compact(&mut self, revision: u64) {
        while self.history.front().is_some_and(|c| c.revision() <= revision) {
            self.drop_oldest();
        }
        self.compacted = self.compacted.max(revision);
    }

    /// Returns up to `limit` changes after `revision`, oldest first; `None` if some of them were dropped.
    pub(super) fn changes_after(&self, revision: u64, limit: usize) -> Option<Vec<HistoryEntry>> {
        if revision < self.last_dropped {
            return None;
        }
        let start = self.history.partition_point(|c| c.revision() <= revision);
        Some(self.history.range(start..).take(limit).cloned().collect())
    }

    /// Returns the objects in `range` at `revision`, in order; `None` if the history begins later.
    pub(super) fn at(&self, revision: u64, range: (Bound<Key>, Bound<Key>)) -> Option<Vec<Arc<Stored>>> {
        if revision < self.compacted {
            return None;
        }
        // An empty or reversed range would panic below.
        if is_empty(&range) {
            return Some(Vec::new());
        }
        let start = self.history.partition_point(|c| c.revision() <= revision);
        if start == self.history.len() {
            return Some(
                self.objects
                    .range(range)
                    .map(|(_, object)| object.clone())
                    .collect(),
            );
        }
        let mut objects: BTreeMap<Key, Arc<Stored>> = self
            .objects
            .range(range.clone())
            .map(|(k, o)| (k.clone(), o.clone()))
            .collect();
        for change in self.history.range(start..).rev() {
            if !contains(&range, &change.object.key) {
                continue;
            }
            match &change.previous {
                Some(previous) => objects.insert(previous.key.clone(), previous.clone()),
                None => objects.remove(&change.object.key),
            };
        }
        Some(objects.into_values().collect())
    }
}

fn contains((from, to): &(Bound<Key>, Bound<Key>), key: &Key) -> bool {
    let above = match from {
        Bound::Included(from) => key >= from,
        Bound::Excluded(from) => key > from,
        Bound::Unbounded => true,
    };
    let below = match to {
        Bound::Included(to) => key <= to,
        Bound::Excluded(to) => key < to,
        Bound::Unbounded => true,
    };
    above && below
}

fn is_empty((from, to): &(Bound<Key>, Bound<Key>)) -> bool {
    match (from, to) {
        (Bound::Included(a), Bound::Included(b)) => a > b,
        (Bound::Included(a) | Bound::Excluded(a), Bound::Included(b) | Bound::Excluded(b)) => a >= b,
        _ => false,
    }
}
