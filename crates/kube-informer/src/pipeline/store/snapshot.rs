//! Snapshots of the cache.

use std::borrow::Borrow;
use std::fmt;
use std::hash::Hash;
use std::sync::Arc;

use kube_wire::selector::Selector;

use super::hash::Seed;
use super::index::{AnyIndex, Index, IndexValue};
use super::scopes::ScopeVersions;
use super::tree::{self, Tree, touch};
use crate::error::{Error, Operation, Problem};
use crate::object::format::{PackedObjects, Value};
use crate::object::{Entry, Key, Kind, Object, ResourceVersion, WatchedResource};

/// The contents of an informer's cache at one moment: objects, indexes and version.
///
/// Taking a snapshot is cheap for any number of objects. A snapshot never changes. While it is held, objects
/// that have changed since then are kept in both states.
///
/// ```no_run
/// # use k8s_openapi::api::core::v1::Pod;
/// # fn example(pods: kube_informer::SharedInformer<Pod>) {
/// let snapshot = pods.snapshot();
/// println!("{} pods at {:?}", snapshot.len(), snapshot.version());
/// let unscheduled = snapshot.iter().filter(|pod| pod.spec.as_ref().is_some_and(|spec| spec.node_name.is_none()));
/// println!("{} of them have no node", unscheduled.count());
/// # }
/// ```
#[doc(alias("cache.Store", "ThreadSafeStore", "threadSafeMap"))]
pub struct Snapshot<K> {
    contents: Arc<Contents<K>>,
}

/// The contents of a snapshot.
pub(crate) struct Contents<K> {
    pub(super) objects: Tree<Arc<Entry<K>>>,
    /// Objects that are hidden from readers until every namespace was listed.
    pub(super) hidden: Tree<Arc<Entry<K>>>,
    pub(super) indexes: Vec<Arc<dyn AnyIndex<K>>>,
    pub(super) version: Option<ResourceVersion>,
    /// The version of each scope.
    pub(super) versions: ScopeVersions,
    pub(super) seed: Seed,
    pub(super) resource: WatchedResource,
}

impl<K> Contents<K> {
    pub(super) fn empty(resource: WatchedResource, seed: Seed) -> Contents<K> {
        Contents {
            objects: Tree::new(),
            hidden: Tree::new(),
            indexes: Vec::new(),
            version: None,
            versions: ScopeVersions::none(),
            seed,
            resource,
        }
    }

    pub(crate) fn get(&self, namespace: Option<&str>, name: &str) -> Option<&Arc<Entry<K>>> {
        self.find(&self.objects, namespace, name)
    }

    /// Returns an object that may be hidden from readers.
    pub(super) fn get_hidden(&self, namespace: Option<&str>, name: &str) -> Option<&Arc<Entry<K>>> {
        self.find(&self.hidden, namespace, name)
    }

    fn find<'a>(
        &self,
        objects: &'a Tree<Arc<Entry<K>>>,
        namespace: Option<&str>,
        name: &str,
    ) -> Option<&'a Arc<Entry<K>>> {
        let hash = self.seed.object(namespace, name);
        objects.find(hash, |entry, text| match text {
            // Prefetches the entry while the name is compared.
            Some(text) => {
                touch(entry);
                Key::is_text_of(text, namespace, name)
            }
            None => entry.key().is(namespace, name),
        })
    }

    pub(crate) fn len(&self) -> usize {
        self.objects.len()
    }

    pub(super) fn index(&self, name: &str) -> Option<&Arc<dyn AnyIndex<K>>> {
        self.indexes.iter().find(|index| &**index.name() == name)
    }
}

impl<K> Snapshot<K> {
    pub(super) fn new(contents: Arc<Contents<K>>) -> Snapshot<K> {
        Snapshot { contents }
    }

    pub(super) fn has_contents(&self, current: &Arc<Contents<K>>) -> bool {
        Arc::ptr_eq(&self.contents, current)
    }

    pub(crate) fn get_entry(&self, key: &Key) -> Option<&Arc<Entry<K>>> {
        let (namespace, name) = key.parts();
        self.contents.get(namespace, name)
    }

    /// Returns an owned iterator over all entries.
    pub(crate) fn walk(&self) -> tree::Walk<Arc<Entry<K>>> {
        self.contents.objects.walk()
    }

    /// Returns the number of objects, and an iterator over the packed ones.
    pub(crate) fn packed_objects(&self) -> (usize, PackedObjects<K>)
    where
        K: 'static,
    {
        let packed = self.walk().filter_map(|entry| match entry.value() {
            Value::Packed(packed) => Some(Arc::clone(packed)),
            Value::Decoded(_) => None,
        });
        (self.len(), Box::new(packed))
    }

    /// Returns the resource version of the snapshot, or `None` before the first list.
    ///
    /// If the kind is no longer served, the snapshot is empty, and this is the last version before its
    /// removal.
    #[must_use]
    pub fn version(&self) -> Option<&ResourceVersion> {
        self.contents.version.as_ref()
    }

    /// Returns the version of a namespace. Each namespace that is watched separately has its own version.
    pub(crate) fn version_in(&self, namespace: Option<&str>) -> Option<ResourceVersion> {
        self.contents.versions.in_namespace(namespace)
    }

    /// Returns whether the kind was removed, so that its objects vanished at an unknown version after
    /// [`Snapshot::version_in`].
    pub(crate) fn is_kind_removed_in(&self, namespace: Option<&str>) -> bool {
        self.contents.versions.is_kind_removed_in(namespace)
    }

    /// Returns the number of objects.
    #[must_use]
    pub fn len(&self) -> usize {
        self.contents.objects.len()
    }

    /// Returns whether the snapshot is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns an object by its key.
    #[must_use]
    pub fn get(&self, key: &Key) -> Option<Object<K>> {
        self.get_entry(key).cloned().map(Object::new)
    }

    /// Returns an iterator over all objects, in unspecified order; see [`Snapshot::sorted`].
    #[must_use]
    pub fn iter(&self) -> Objects<'_, K> {
        Objects::all(&self.contents)
    }

    /// Returns all objects, sorted by key.
    #[doc(alias = "ListKeys")]
    pub fn sorted(&self) -> Vec<Object<K>> {
        let mut objects: Vec<_> = self.iter().collect();
        objects.sort_unstable_by(|a, b| a.key().cmp(b.key()));
        objects
    }

    /// Returns an iterator over the objects of a namespace.
    #[must_use]
    pub fn namespace<'a>(&'a self, namespace: &'a str) -> Objects<'a, K> {
        Objects::namespace(&self.contents, namespace)
    }

    /// Returns the objects with an index value. Empty if the index was added after this snapshot.
    pub fn by<V, Q>(&self, index: &Index<K, V>, value: &Q) -> Vec<Object<K>>
    where
        K: 'static,
        V: IndexValue + Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        index.find_in(&self.contents, value)
    }

    /// Returns the objects with an index value, by the name of the index and the printed value.
    ///
    /// # Errors
    /// If the index does not exist.
    pub fn by_name(&self, index: &str, value: &str) -> Result<Vec<Object<K>>, Error> {
        Ok(self.index(index)?.find_text(value))
    }

    /// Returns the keys of the objects with an index value, sorted.
    ///
    /// # Errors
    /// If the index does not exist.
    pub fn keys_by_name(&self, index: &str, value: &str) -> Result<Vec<Key>, Error> {
        let mut keys = self.index(index)?.find_keys(value);
        keys.sort();
        Ok(keys)
    }

    /// Returns the values of an index, printed and sorted.
    ///
    /// # Errors
    /// If the index does not exist.
    pub fn index_values(&self, index: &str) -> Result<Vec<String>, Error> {
        let mut values = self.index(index)?.texts();
        values.sort();
        values.dedup();
        Ok(values)
    }

    /// Returns the names of all indexes.
    pub fn index_names(&self) -> impl Iterator<Item = &str> {
        self.contents.indexes.iter().map(|index| &**index.name())
    }

    fn index(&self, name: &str) -> Result<&Arc<dyn AnyIndex<K>>, Error> {
        self.contents.index(name).ok_or_else(|| {
            Error::new(Problem::UnknownIndex(name.to_owned()))
                .with_context(Operation::Cache, &self.contents.resource)
        })
    }
}

impl<K: Kind> Snapshot<K> {
    /// Returns an iterator over the objects whose labels match.
    pub fn select<'a>(&'a self, selector: &'a Selector) -> impl Iterator<Item = Object<K>> + 'a {
        self.iter().filter(|object| object.matches(selector))
    }
}

impl<K> Clone for Snapshot<K> {
    fn clone(&self) -> Self {
        Snapshot::new(Arc::clone(&self.contents))
    }
}

impl<'a, K> IntoIterator for &'a Snapshot<K> {
    type Item = Object<K>;
    type IntoIter = Objects<'a, K>;

    fn into_iter(self) -> Objects<'a, K> {
        self.iter()
    }
}

impl<K> fmt::Debug for Snapshot<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&*self.contents, f)
    }
}

impl<K> fmt::Debug for Contents<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Snapshot")
            .field("resource", &self.resource)
            .field("objects", &self.objects.len())
            .field("version", &self.version)
            .finish_non_exhaustive()
    }
}

/// An iterator over objects of a snapshot, created by [`Snapshot::iter`] and [`Snapshot::namespace`].
pub struct Objects<'a, K> {
    entries: tree::Range<'a, Arc<Entry<K>>>,
    namespace: Option<&'a str>,
}

impl<'a, K> Objects<'a, K> {
    pub(crate) fn all(contents: &'a Contents<K>) -> Objects<'a, K> {
        Objects {
            entries: contents.objects.range(0..=u64::MAX),
            namespace: None,
        }
    }

    pub(crate) fn namespace(contents: &'a Contents<K>, namespace: &'a str) -> Objects<'a, K> {
        // As in Kubernetes, the empty namespace means all namespaces.
        if namespace.is_empty() {
            return Objects::all(contents);
        }
        Objects {
            entries: contents.objects.range(contents.seed.namespace(Some(namespace))),
            namespace: Some(namespace),
        }
    }

    /// Collects the objects that match a predicate.
    pub(crate) fn collect_matching(mut self, matches: impl Fn(&Entry<K>) -> bool) -> Vec<Object<K>> {
        let mut objects = Vec::new();
        while let Some(slots) = self.entries.next_leaf() {
            slots.clone().for_each(|(entry, _)| touch(entry));
            let in_range = slots.filter(|(entry, name)| match (self.namespace, name) {
                (Some(namespace), Some(name)) => Key::is_text_in(name, namespace),
                _ => in_namespace(entry, self.namespace),
            });
            let matching = in_range.filter(|(entry, _)| matches(entry));
            objects.extend(matching.map(|(entry, _)| Object::new(Arc::clone(entry))));
        }
        objects
    }
}

/// The range of a namespace may include colliding namespaces.
fn in_namespace<K>(entry: &Entry<K>, namespace: Option<&str>) -> bool {
    namespace.is_none_or(|namespace| entry.key().is_in(namespace))
}

impl<K> Iterator for Objects<'_, K> {
    type Item = Object<K>;

    fn next(&mut self) -> Option<Object<K>> {
        loop {
            let entry = self.entries.next()?;
            if in_namespace(entry, self.namespace) {
                return Some(Object::new(Arc::clone(entry)));
            }
        }
    }
}

impl<K> fmt::Debug for Objects<'_, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Objects")
            .field("namespace", &self.namespace)
            .finish_non_exhaustive()
    }
}
