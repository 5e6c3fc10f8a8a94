//! The objects of one resource, and their recent history.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Bound;
use std::sync::Arc;

use super::{EventKind, Key, Listening, Stored, Tidings};

/// One change in the history of a collection.
#[derive(Debug, Clone)]
pub(crate) struct Change {
    pub(crate) kind: EventKind,
    /// The object after the change; for a deletion its last state, at the revision of the deletion.
    pub(crate) object: Arc<Stored>,
    pub(crate) previous: Option<Arc<Stored>>,
}

impl Change {
    pub(crate) fn revision(&self) -> u64 {
        self.object.revision
    }
}

/// The objects of one resource, and their recent history.
#[derive(Debug)]
pub(super) struct Collection {
    objects: BTreeMap<Key, Arc<Stored>>,
    history: VecDeque<Change>,
    /// Nobody new may begin before this revision: changes up to it are no longer in `history`.
    forgotten: u64,
    /// The newest change that is no longer in `history`. Who has seen it misses nothing, whatever else was compacted.
    dropped: u64,
    /// Tells watchers the revision of the newest change.
    newest: Tidings,
    /// Revision of the newest change, also when history does not reach back to it.
    changed: u64,
}

impl Collection {
    pub(super) fn new(forgotten: u64) -> Collection {
        Collection {
            objects: BTreeMap::new(),
            history: VecDeque::new(),
            forgotten,
            dropped: forgotten,
            newest: Tidings::new(0),
            changed: 0,
        }
    }

    /// The same objects without history or watchers.
    pub(super) fn copy(&self) -> Collection {
        Collection {
            objects: self.objects.clone(),
            changed: self.changed,
            ..Collection::new(self.forgotten)
        }
    }

    pub(super) fn get(&self, key: &Key) -> Option<&Arc<Stored>> {
        self.objects.get(key)
    }

    pub(super) fn len(&self) -> usize {
        self.objects.len()
    }

    pub(super) fn forgotten(&self) -> u64 {
        self.forgotten
    }

    pub(super) fn changed(&self) -> u64 {
        self.changed
    }

    pub(super) fn subscribe(&self) -> Listening {
        self.newest.listen()
    }

    pub(super) fn objects(&self) -> impl Iterator<Item = &Arc<Stored>> {
        self.objects.values()
    }

    /// Applies a change and keeps it in the history of at most `keep` changes.
    pub(super) fn apply(&mut self, change: Change, keep: usize) {
        match change.kind {
            EventKind::Deleted => self.objects.remove(&change.object.key),
            _ => self
                .objects
                .insert(change.object.key.clone(), change.object.clone()),
        };
        let revision = change.revision();
        self.history.push_back(change);
        while self.history.len() > keep {
            self.forget_oldest();
        }
        self.changed = revision;
        self.newest.tell(revision);
    }

    fn forget_oldest(&mut self) {
        if let Some(change) = self.history.pop_front() {
            self.dropped = change.revision();
            self.forgotten = self.forgotten.max(self.dropped);
        }
    }

    /// Forgets history up to and including `revision`.
    pub(super) fn compact(&mut self, revision: u64) {
        while self.history.front().is_some_and(|c| c.revision() <= revision) {
            self.forget_oldest();
        }
        self.forgotten = self.forgotten.max(revision);
    }

    /// Up to `limit` changes after `revision`, oldest first. `None` when some of them are forgotten.
    pub(super) fn changes_after(&self, revision: u64, limit: usize) -> Option<Vec<Change>> {
        if revision < self.dropped {
            return None;
        }
        let start = self.history.partition_point(|c| c.revision() <= revision);
        Some(self.history.range(start..).take(limit).cloned().collect())
    }

    /// The objects in `range` as they were at `revision`, in order. `None` when history does not reach back that far.
    pub(super) fn at(&self, revision: u64, range: (Bound<Key>, Bound<Key>)) -> Option<Vec<Arc<Stored>>> {
        if revision < self.forgotten {
            return None;
        }
        // A range that is empty or turned around is a question for nothing, not a mistake.
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
