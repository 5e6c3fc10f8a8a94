//! The one who writes: applies deltas to the trees, says what changed, and publishes.

use std::sync::Arc;

use super::Store;
use super::hash::Seed;
use super::index::{IndexFunction, IndexTree, IndexValue, WritableIndex};
use super::scopes::Scopes;
use super::snapshot::Contents;
use super::tree::Tree;
use crate::error::{Chain, Error, Operation, Problem};
use crate::object::{Entry, Kind, Unplaced, WatchedResource};
use crate::pipeline::queue::{Delta, Listed, Replaced, Scope};

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

    /// Applies one delta and notes what changed. Nobody sees it before [`Writer::publish`].
    pub(crate) fn apply(&mut self, delta: Delta<K>, changes: &mut Vec<Change<K>>) {
        match delta {
            Delta::Upsert(item) => {
                self.reached(&item);
                let (old, new) = self.put(item);
                // An event that came twice is told once.
                let is_known =
                    |old: &Arc<Entry<K>>| old.version() == new.version() && old.is_same_object(new.uid());
                if !old.as_ref().is_some_and(is_known) {
                    note(old, new, changes);
                }
            }
            Delta::Deleted(item) => {
                self.reached(&item);
                self.delete(item, changes);
            }
            Delta::Bookmark(version, scope) => self.scopes.reach(scope, version),
            Delta::Replaced(replaced) => self.replace(replaced, changes),
        }
    }

    fn reached(&mut self, item: &Unplaced<K>) {
        self.scopes.reach(self.scopes.of(&item.key), item.version.clone());
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
    pub(crate) fn clear_away(&mut self) {
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
            .map(|entry| place(entry.unplaced(), &mut indexes, &mut errors, resource))
            .collect();
        self.objects = Tree::from_sorted(entries.into_iter().map(|entry| (entry.hash(), entry)));
        self.indexes = indexes;
        self.errors.append(&mut errors);
        Ok(())
    }

    /// Puts an object in place of the one that had its key.
    fn put(&mut self, item: Unplaced<K>) -> (Option<Arc<Entry<K>>>, Arc<Entry<K>>) {
        let new = self.place(item);
        let old = self
            .objects
            .insert(new.hash(), Arc::clone(&new), |entry| entry.key() == new.key());
        if let Some(old) = &old {
            self.displace(old);
        }
        (old, new)
    }

    fn delete(&mut self, item: Unplaced<K>, changes: &mut Vec<Change<K>>) {
        let Some(old) = self.objects.remove(item.hash, |entry| *entry.key() == item.key) else {
            return;
        };
        self.displace(&old);
        let last = item.outside();
        // The deletion of another object of that name says only that this one is gone, too.
        let unknown = !old.is_same_object(last.uid());
        changes.push(Change::Deleted {
            last: if unknown { Arc::clone(&old) } else { last },
            old,
            unknown,
        });
    }

    /// Puts a whole list in place of everything in its scope: first what is gone, then what is new or has changed
    /// (contract 3 and 4).
    fn replace(&mut self, replaced: Replaced<K>, changes: &mut Vec<Change<K>>) {
        let first = !self.is_filled();
        self.scopes.reach(replaced.scope, replaced.version);
        if replaced.kind_removed {
            self.scopes.remove_kind(replaced.scope);
        }
        if self.objects.is_empty() {
            let added = self.fill(replaced.items);
            // Of the first list handlers learn from the snapshot.
            if !first {
                changes.extend(added.map(|new| Change::Added { new }));
            }
            return;
        }
        for old in self.missing_in(&replaced.items, replaced.scope) {
            self.objects.remove(old.hash(), |entry| Arc::ptr_eq(entry, &old));
            self.displace(&old);
            changes.push(Change::Deleted {
                last: Arc::clone(&old),
                old,
                unknown: true,
            });
        }
        for item in replaced.items {
            let current = self.objects.get(item.hash(), |entry| entry.key() == item.key());
            // By version and uid, not by entry: an index that was added in between made new entries for the same objects.
            let is_unchanged = |current: &Arc<Entry<K>>| {
                current.version() == item.version() && current.is_same_object(item.uid())
            };
            if replaced.trusting && current.is_some_and(is_unchanged) {
                continue;
            }
            let (old, new) = self.put(item.unplaced());
            note(old, new, changes);
        }
    }

    /// Fills an empty store in one go.
    fn fill(&mut self, items: Vec<Listed<K>>) -> impl Iterator<Item = Arc<Entry<K>>> + use<K> {
        let entries: Vec<_> = items
            .into_iter()
            .map(|item| self.place(item.unplaced()))
            .collect();
        self.objects = Tree::from_sorted(entries.iter().map(|entry| (entry.hash(), Arc::clone(entry))));
        entries.into_iter()
    }

    /// The entries of a scope that a list does not have any more. Both are in the order of hashes.
    fn missing_in(&self, items: &[Listed<K>], scope: Scope) -> Vec<Arc<Entry<K>>> {
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
            while at < items.len() && items[at].hash() < entry.hash() {
                at += 1;
            }
            let mut same_place = items[at..].iter().take_while(|item| item.hash() == entry.hash());
            if !same_place.any(|item| item.key() == entry.key()) {
                missing.push(Arc::clone(entry));
            }
        }
        missing
    }

    fn place(&mut self, item: Unplaced<K>) -> Arc<Entry<K>> {
        place(item, &mut self.indexes, &mut self.errors, self.store.resource())
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

/// Makes an entry and puts it into every index.
fn place<K: Kind>(
    item: Unplaced<K>,
    indexes: &mut [Box<dyn WritableIndex<K>>],
    errors: &mut Vec<Error>,
    resource: &WatchedResource,
) -> Arc<Entry<K>> {
    if indexes.is_empty() {
        return item.placed(None);
    }
    let object = match item.value.try_object(&item.key) {
        Ok(object) => object,
        Err(error) => {
            let what = format!("no index finds {} now: {}", item.key, Chain(&error));
            errors.push(Error::user_code(what).with_context(Operation::Cache, resource));
            return item.outside();
        }
    };
    let mut hashes = Vec::with_capacity(2 * indexes.len());
    for index in &mut *indexes {
        if let Err(error) = index.prepare(&item.key, &object, &mut hashes) {
            errors.push(error.with_context(Operation::Cache, resource));
        }
    }
    let entry = item.placed(Some(Box::new(hashes)));
    for index in indexes {
        index.insert(&entry);
    }
    entry
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
