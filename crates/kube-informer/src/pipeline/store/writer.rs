//! The one who writes: applies deltas to the trees, says what changed, and publishes.

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

/// A change of the store, as handlers are told of it.
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
        /// What the store held.
        old: Arc<Entry<K>>,
        /// The object's last state, as far as it is known.
        last: Arc<Entry<K>>,
        /// Nobody saw the object go: it was missing in a list.
        unknown: bool,
    },
}

impl<K> Change<K> {
    /// The key's hash and the entry that has the key.
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

/// The writer's side of the cache. There is one.
pub(crate) struct Writer<K> {
    store: Arc<Store<K>>,
    objects: Tree<Arc<Entry<K>>>,
    indexes: Vec<Box<dyn WritableIndex<K>>>,
    scopes: Scopes,
    seed: Seed,
    /// Contents that a reader still held when they were replaced. The writer lets go of them last, so that no reader has
    /// to free a whole cache.
    retired: Vec<Arc<Contents<K>>>,
    /// What index functions got wrong since the last publication.
    errors: Vec<Error>,
    /// Nothing will be written any more.
    closed: bool,
}

/// The functions of a closed writer, to be dropped without a lock.
pub(crate) struct IndexFunctions<K>(
    #[expect(dead_code, reason = "they are there to be dropped")] Vec<Box<dyn WritableIndex<K>>>,
);

impl<K> Writer<K> {
    /// Ends writing, and returns the user's index functions. What was published stays readable.
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

    /// Applies one delta and records what changed. Readers see it after [`Writer::publish`].
    pub(crate) fn apply(&mut self, delta: Delta<K>, changes: &mut Vec<Change<K>>) {
        match delta {
            Delta::Upsert(entry) => {
                self.reached(&entry);
                let (old, new) = self.put(entry);
                // A repeated event is no change.
                let is_repeated = old.as_ref().is_some_and(|old| is_unchanged(old, &new));
                if !is_repeated {
                    note(old, new, changes);
                }
            }
            Delta::Deleted(last) => {
                self.reached(&last);
                self.delete(last, changes);
            }
            Delta::Bookmark(version, scope) => self.scopes.reach(scope, version),
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

    fn reached(&mut self, entry: &Entry<K>) {
        self.scopes
            .reach(self.scopes.of(entry.key()), entry.version().clone());
    }

    /// Whether every scope has been listed. Before that, nobody is to see anything: part of a cache is no cache.
    pub(crate) fn is_filled(&self) -> bool {
        self.scopes.are_listed()
    }

    /// How many objects there are.
    pub(crate) fn len(&self) -> usize {
        self.objects.len()
    }

    /// Lets readers see what was applied. What index functions got wrong meanwhile is given back.
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

    /// Frees what was replaced and is no longer read. It may be as much as a whole cache, so it comes when nobody waits.
    pub(crate) fn free_retired(&mut self) {
        self.retired.retain(|contents| Arc::strong_count(contents) > 1);
    }

    /// Adds an index and fills it with what is there.
    ///
    /// Every entry notes its place in every index, so all of them are made anew; the objects stay where they are.
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
        // Beside what is there, which stays as it is should a type of the user's panic here.
        let mut indexes: Vec<_> = self.indexes.iter().map(|index| index.emptied()).collect();
        indexes.push(Box::new(IndexTree::new(name, function, self.seed)));
        let (mut errors, resource) = (Vec::new(), self.store.resource());
        let entries: Vec<_> = self
            .objects
            .iter()
            .map(|entry| place(Arc::clone(entry), &mut indexes, &mut errors, resource))
            .collect();
        self.objects = Tree::from_sorted(entries.into_iter().map(|entry| (entry.hash(), entry)));
        self.indexes = indexes;
        self.errors.append(&mut errors);
        Ok(())
    }

    /// Puts an object in place of the one with its key.
    fn put(&mut self, entry: Arc<Entry<K>>) -> (Option<Arc<Entry<K>>>, Arc<Entry<K>>) {
        let new = self.place(entry);
        let old = self
            .objects
            .insert(new.hash(), Arc::clone(&new), |entry| entry.key() == new.key());
        if let Some(old) = &old {
            self.displace(old);
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
        self.displace(&old);
        // The deletion of another object with this name implies only that this one was deleted, too.
        let unknown = !old.is_same_object(last.uid());
        changes.push(Change::Deleted {
            last: if unknown { Arc::clone(&old) } else { last },
            old,
            unknown,
        });
    }

    /// Replaces the objects of a scope by a whole list: first removes what is missing, then adds what is new or has changed
    /// (contract 3 and 4).
    fn replace(&mut self, replacement: Replacement<K>, changes: &mut Vec<Change<K>>) {
        let first = !self.is_filled();
        self.scopes.reach(replacement.scope, replacement.version);
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
            self.displace(&old);
            changes.push(Change::Deleted {
                last: Arc::clone(&old),
                old,
                unknown: true,
            });
        }
        for entry in replacement.objects {
            let current = self.objects.get(entry.hash(), |other| other.key() == entry.key());
            // Not by pointer: an index that was added in between made new entries for the same objects.
            if replacement.trusts_versions && current.is_some_and(|current| is_unchanged(current, &entry)) {
                continue;
            }
            let (old, new) = self.put(entry);
            note(old, new, changes);
        }
    }

    /// Fills an empty store.
    fn fill(&mut self, objects: Vec<Arc<Entry<K>>>) -> impl Iterator<Item = Arc<Entry<K>>> + use<K> {
        let entries: Vec<_> = objects.into_iter().map(|entry| self.place(entry)).collect();
        self.objects = Tree::from_sorted(entries.iter().map(|entry| (entry.hash(), Arc::clone(entry))));
        entries.into_iter()
    }

    /// The entries of a scope that a list does not contain. Both are sorted by hash.
    fn missing_in(&self, objects: &[Arc<Entry<K>>], scope: Scope) -> Vec<Arc<Entry<K>>> {
        let namespace = self.scopes.namespace(scope);
        let range = match namespace {
            Some(namespace) => self.seed.namespace(Some(namespace)),
            None => 0..=u64::MAX,
        };
        let mut missing = Vec::new();
        let mut at = 0;
        for entry in self.objects.range(range) {
            // Another namespace may lie in the same range.
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

    fn place(&mut self, entry: Arc<Entry<K>>) -> Arc<Entry<K>> {
        place(entry, &mut self.indexes, &mut self.errors, self.store.resource())
    }

    /// Takes an entry out of every index.
    fn displace(&mut self, entry: &Arc<Entry<K>>) {
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

/// Puts an entry into every index.
fn place<K: Kind>(
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
            let what = format!("no index contains {} now: {}", entry.key(), ErrorChain(&error));
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

/// Whether both are the same state of the same object.
fn is_unchanged<K>(old: &Entry<K>, new: &Entry<K>) -> bool {
    old.version() == new.version() && old.is_same_object(new.uid())
}

/// Two objects that had one name one after the other are told apart: the first is gone, and nobody saw it go.
fn note<K: Kind>(old: Option<Arc<Entry<K>>>, new: Arc<Entry<K>>, changes: &mut Vec<Change<K>>) {
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
