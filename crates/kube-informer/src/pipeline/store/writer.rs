//! The writer of the store: applies deltas to the trees, records the changes and publishes them.

use std::sync::Arc;

use super::Store;
use super::hash::Seed;
use super::index::{IndexFunction, IndexTree, IndexValue, WritableIndex};
use super::scopes::Scopes;
use super::snapshot::Contents;
use super::tree::Tree;
use crate::error::{Error, ErrorChain, Operation, Problem};
use crate::object::{Entry, Kind, WatchedResource};
use crate::pipeline::reflector::{Delta, Replacement, Scope};

/// A change of the store, which is delivered to handlers as events.
#[derive(Debug)]
pub(crate) enum Change<K> {
    Added {
        new: Arc<Entry<K>>,
    },
    Updated {
        old: Arc<Entry<K>>,
        new: Arc<Entry<K>>,
    },
    Deleted {
        /// The cached state.
        old: Arc<Entry<K>>,
        /// The last known state of the object.
        last: Arc<Entry<K>>,
        /// The deletion was not observed: the object was missing in a list, or replaced by another one.
        unknown: bool,
    },
}

impl<K> Change<K> {
    /// Returns the new entry, or the old one of a deleted object.
    pub(crate) fn entry(&self) -> &Arc<Entry<K>> {
        match self {
            Change::Added { new } | Change::Updated { new, .. } => new,
            Change::Deleted { old, .. } => old,
        }
    }
}

impl<K> Clone for Change<K> {
    fn clone(&self) -> Self {
        match self {
            Change::Added { new } => Change::Added { new: Arc::clone(new) },
            Change::Updated { old, new } => Change::Updated {
                old: Arc::clone(old),
                new: Arc::clone(new),
            },
            Change::Deleted { old, last, unknown } => Change::Deleted {
                old: Arc::clone(old),
                last: Arc::clone(last),
                unknown: *unknown,
            },
        }
    }
}

/// The writer's side of the cache. Each store has one writer.
pub(crate) struct Writer<K> {
    store: Arc<Store<K>>,
    objects: Tree<Arc<Entry<K>>>,
    indexes: Vec<Box<dyn WritableIndex<K>>>,
    scopes: Scopes,
    seed: Seed,
    /// Replaced contents that readers may still hold. The writer drops them last, so that no reader has to
    /// free a whole cache.
    retired: Vec<Arc<Contents<K>>>,
    /// Errors of index functions since the last publication.
    errors: Vec<Error>,
    /// Nothing will be written any more.
    closed: bool,
}

/// The functions of a closed writer, to be dropped without a lock.
pub(crate) struct IndexFunctions<K>(
    #[expect(dead_code, reason = "only held to be dropped")] Vec<Box<dyn WritableIndex<K>>>,
);

impl<K> Writer<K> {
    /// Ends writing and returns the user's index functions. Published contents stay readable.
    pub(crate) fn close(&mut self) -> IndexFunctions<K> {
        self.closed = true;
        IndexFunctions(std::mem::take(&mut self.indexes))
    }
}

impl<K: Kind> Writer<K> {
    pub(crate) fn new(store: Arc<Store<K>>, seed: Seed, scopes: Scopes) -> Writer<K> {
        Writer {
            store,
            objects: Tree::new(),
            indexes: Vec::new(),
            scopes,
            seed,
            retired: Vec::new(),
            errors: Vec::new(),
            closed: false,
        }
    }

    /// Applies one delta and records the changes. Readers see them after [`Writer::publish`].
    pub(crate) fn apply(&mut self, delta: Delta<K>, changes: &mut Vec<Change<K>>) {
        match delta {
            Delta::Upsert(entry) => {
                self.advance_scope(&entry);
                let (old, new) = self.insert(entry);
                // A repeated event is not a change.
                let is_repeated = old.as_ref().is_some_and(|old| is_unchanged(old, &new));
                if !is_repeated {
                    record_change(old, new, changes);
                }
            }
            Delta::Deleted(last) => {
                self.advance_scope(&last);
                self.delete(last, changes);
            }
            Delta::Bookmark(version, scope) => self.scopes.set_version(scope, version),
            Delta::Replaced(replacement) => self.replace(replacement, changes),
            Delta::KindRemoved { version, scope } => {
                self.replace(
                    Replacement {
                        objects: Vec::new(),
                        version,
                        scope,
                        trusts_versions: true,
                    },
                    changes,
                );
                self.scopes.remove_kind(scope);
            }
        }
    }

    fn advance_scope(&mut self, entry: &Entry<K>) {
        self.scopes
            .set_version(self.scopes.of(entry.key()), entry.version().clone());
    }

    /// Returns whether every scope was listed. Until then, the contents are hidden, because they are
    /// incomplete.
    pub(crate) fn is_filled(&self) -> bool {
        self.scopes.all_listed()
    }

    /// Returns the number of objects.
    pub(crate) fn len(&self) -> usize {
        self.objects.len()
    }

    /// Makes all changes visible to readers and returns the errors of index functions since the last call.
    pub(crate) fn publish(&mut self) -> Vec<Error> {
        let filled = self.is_filled();
        let versions = self.scopes.versions();
        let contents = Contents {
            objects: if filled { self.objects.clone() } else { Tree::new() },
            hidden: if filled { Tree::new() } else { self.objects.clone() },
            indexes: self.indexes.iter().map(|index| index.publish(filled)).collect(),
            version: versions.least(),
            versions: versions.clone(),
            seed: self.seed,
            resource: self.store.resource().clone(),
        };
        let old = self.store.publish(Arc::new(contents), versions);
        self.retired.push(old);
        std::mem::take(&mut self.errors)
    }

    /// Takes replaced contents without readers. Dropping them may free a whole cache and run user code, so the
    /// caller holds no lock.
    pub(crate) fn take_retired(&mut self) -> Vec<Arc<Contents<K>>> {
        let has_no_reader = |contents: &mut Arc<Contents<K>>| Arc::strong_count(contents) == 1;
        self.retired.extract_if(.., has_no_reader).collect()
    }

    /// Adds an index and fills it with the current objects.
    ///
    /// Every entry stores its position in every index, so all indexes and entries are rebuilt. The objects
    /// are not copied.
    pub(crate) fn add_index<V: IndexValue>(
        &mut self,
        name: Arc<str>,
        function: IndexFunction<K, V>,
    ) -> Result<(), Error> {
        if self.closed {
            return Err(Error::new(Problem::Stopped).with_context(Operation::Cache, self.store.resource()));
        }
        if self.indexes.iter().any(|index| **index.name() == *name) {
            let conflict = Error::new(Problem::IndexConflict(name.to_string()));
            return Err(conflict.with_context(Operation::Cache, self.store.resource()));
        }
        // The current indexes are kept unchanged in case user code panics here.
        let mut indexes: Vec<_> = self.indexes.iter().map(|index| index.new_empty()).collect();
        indexes.push(Box::new(IndexTree::new(name, function, self.seed)));
        let (mut errors, resource) = (Vec::new(), self.store.resource());
        let entries: Vec<_> = self
            .objects
            .iter()
            .map(|entry| add_to_indexes(Arc::clone(entry), &mut indexes, &mut errors, resource))
            .collect();
        self.objects = Tree::from_sorted(entries.into_iter().map(|entry| (entry.hash(), entry)));
        self.indexes = indexes;
        self.errors.append(&mut errors);
        Ok(())
    }

    /// Adds an entry, or replaces the one with its key.
    fn insert(&mut self, entry: Arc<Entry<K>>) -> (Option<Arc<Entry<K>>>, Arc<Entry<K>>) {
        let new = self.add_to_indexes(entry);
        let old = self
            .objects
            .insert(new.hash(), Arc::clone(&new), |entry| entry.key() == new.key());
        if let Some(old) = &old {
            self.remove_from_indexes(old);
        }
        (old, new)
    }

    fn delete(&mut self, last: Arc<Entry<K>>, changes: &mut Vec<Change<K>>) {
        let Some(old) = self
            .objects
            .remove(last.hash(), |entry| entry.key() == last.key())
        else {
            return;
        };
        self.remove_from_indexes(&old);
        // The deletion of another object with this name implies only that this one was deleted, too.
        let unknown = !old.is_same_object(last.uid());
        changes.push(Change::Deleted {
            last: if unknown { Arc::clone(&old) } else { last },
            old,
            unknown,
        });
    }

    /// Replaces the objects of a scope by a whole list: first removes missing objects, then adds new and
    /// changed ones (contract 3 and 4).
    fn replace(&mut self, replacement: Replacement<K>, changes: &mut Vec<Change<K>>) {
        let first = !self.is_filled();
        self.scopes.set_version(replacement.scope, replacement.version);
        if self.objects.is_empty() {
            let added = self.fill(replacement.objects);
            // Handlers get the first list from the snapshot.
            if !first {
                changes.extend(added.map(|new| Change::Added { new }));
            }
            return;
        }
        for old in self.missing_in(&replacement.objects, replacement.scope) {
            self.objects.remove(old.hash(), |entry| Arc::ptr_eq(entry, &old));
            self.remove_from_indexes(&old);
            changes.push(Change::Deleted {
                last: Arc::clone(&old),
                old,
                unknown: true,
            });
        }
        for entry in replacement.objects {
            let current = self.objects.get(entry.hash(), |other| other.key() == entry.key());
            // Entries are not compared by pointer, because an index that was added in between has rebuilt
            // them.
            if replacement.trusts_versions && current.is_some_and(|current| is_unchanged(current, &entry)) {
                continue;
            }
            let (old, new) = self.insert(entry);
            record_change(old, new, changes);
        }
    }

    /// Fills an empty store.
    fn fill(&mut self, objects: Vec<Arc<Entry<K>>>) -> impl Iterator<Item = Arc<Entry<K>>> + use<K> {
        let entries: Vec<_> = objects
            .into_iter()
            .map(|entry| self.add_to_indexes(entry))
            .collect();
        self.objects = Tree::from_sorted(entries.iter().map(|entry| (entry.hash(), Arc::clone(entry))));
        entries.into_iter()
    }

    /// Returns the entries of a scope that are missing in a list. Both are sorted by hash.
    fn missing_in(&self, objects: &[Arc<Entry<K>>], scope: Scope) -> Vec<Arc<Entry<K>>> {
        let namespace = self.scopes.namespace(scope);
        let range = match namespace {
            Some(namespace) => self.seed.namespace(Some(namespace)),
            None => 0..=u64::MAX,
        };
        let mut missing = Vec::new();
        let mut at = 0;
        for entry in self.objects.range(range) {
            // The range may include colliding namespaces.
            if namespace.is_some_and(|namespace| !entry.key().is_in(namespace)) {
                continue;
            }
            while at < objects.len() && objects[at].hash() < entry.hash() {
                at += 1;
            }
            let mut same_hash = objects[at..]
                .iter()
                .take_while(|listed| listed.hash() == entry.hash());
            if !same_hash.any(|listed| listed.key() == entry.key()) {
                missing.push(Arc::clone(entry));
            }
        }
        missing
    }

    fn add_to_indexes(&mut self, entry: Arc<Entry<K>>) -> Arc<Entry<K>> {
        add_to_indexes(entry, &mut self.indexes, &mut self.errors, self.store.resource())
    }

    /// Removes an entry from every index.
    fn remove_from_indexes(&mut self, entry: &Arc<Entry<K>>) {
        let mut rest = entry.postings();
        for index in &mut self.indexes {
            let Some((count, hashes)) = rest.split_first() else {
                return;
            };
            let (hashes, others) = hashes.split_at(*count as usize);
            index.remove(entry, hashes);
            rest = others;
        }
    }
}

/// Adds an entry to every index.
fn add_to_indexes<K: Kind>(
    entry: Arc<Entry<K>>,
    indexes: &mut [Box<dyn WritableIndex<K>>],
    errors: &mut Vec<Error>,
    resource: &WatchedResource,
) -> Arc<Entry<K>> {
    if indexes.is_empty() {
        return entry;
    }
    let object = match entry.value().try_object(entry.key()) {
        Ok(object) => object,
        Err(error) => {
            let what = format!("cannot index {}: {}", entry.key(), ErrorChain(&error));
            errors.push(Error::user_code(what).with_context(Operation::Cache, resource));
            return entry.with_postings(None);
        }
    };
    let mut hashes = Vec::with_capacity(2 * indexes.len());
    for index in &mut *indexes {
        if let Err(error) = index.prepare(entry.key(), &object, &mut hashes) {
            errors.push(error.with_context(Operation::Cache, resource));
        }
    }
    let entry = entry.with_postings(Some(Box::new(hashes)));
    for index in indexes {
        index.insert(&entry);
    }
    entry
}

/// Returns whether both entries are the same state of the same object.
fn is_unchanged<K>(old: &Entry<K>, new: &Entry<K>) -> bool {
    old.version() == new.version() && old.is_same_object(new.uid())
}

/// Records a change. Two consecutive objects with one name are a deletion, which was not observed, and an
/// addition.
fn record_change<K: Kind>(old: Option<Arc<Entry<K>>>, new: Arc<Entry<K>>, changes: &mut Vec<Change<K>>) {
    match old {
        None => changes.push(Change::Added { new }),
        Some(old) if old.is_same_object(new.uid()) => changes.push(Change::Updated { old, new }),
        Some(old) => {
            changes.push(Change::Deleted {
                last: Arc::clone(&old),
                old,
                unknown: true,
            });
            changes.push(Change::Added { new });
        }
    }
}

impl<K> std::fmt::Debug for Writer<K> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Writer")
            .field("scopes", &self.scopes)
            .finish_non_exhaustive()
    }
}
