//! Objects as the cache holds them.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use crate::key::Key;
use crate::kind::Kind;
use crate::store::Slot;
use crate::version::Version;

/// An object of the cache: what handlers and streams, listers and indexes give.
///
/// It dereferences to `K`, so fields and methods of the kind are at hand, and nothing can be changed: the object is
/// shared with the cache and with every other reader. It knows its key and its version. Cloning costs a counter. Take
/// [`Object::arc`] where a plain `Arc<K>` is wanted.
///
/// ```compile_fail
/// # use kube_informer::Object;
/// # use k8s_openapi::api::core::v1::Pod;
/// fn handler(pod: &mut Object<Pod>) {
///     pod.metadata.name = None; // an object of the cache cannot be changed
/// }
/// ```
pub struct Object<K> {
    entry: Arc<Entry<K>>,
}

impl<K> Object<K> {
    pub(crate) fn new(entry: Arc<Entry<K>>) -> Object<K> {
        Object { entry }
    }

    pub(crate) fn entry(&self) -> &Arc<Entry<K>> {
        &self.entry
    }

    /// Namespace and name.
    #[must_use]
    pub fn key(&self) -> &Key {
        &self.entry.key
    }

    /// The resource version of this state of the object.
    #[must_use]
    pub fn version(&self) -> &Version {
        &self.entry.version
    }

    /// The object itself, to keep.
    #[must_use]
    pub fn arc(&self) -> Arc<K> {
        self.entry.object()
    }

    /// Whether both are one object in memory, as after a list that brought nothing new.
    #[must_use]
    pub fn ptr_eq(this: &Object<K>, other: &Object<K>) -> bool {
        Arc::ptr_eq(&this.entry.value, &other.entry.value)
    }
}

impl<K> Clone for Object<K> {
    fn clone(&self) -> Self {
        Object::new(Arc::clone(&self.entry))
    }
}

impl<K> Deref for Object<K> {
    type Target = K;

    fn deref(&self) -> &K {
        &self.entry.value
    }
}

impl<K> AsRef<K> for Object<K> {
    fn as_ref(&self) -> &K {
        self
    }
}

impl<K> From<Object<K>> for Arc<K> {
    fn from(object: Object<K>) -> Arc<K> {
        object.arc()
    }
}

impl<K: PartialEq> PartialEq for Object<K> {
    fn eq(&self, other: &Object<K>) -> bool {
        Object::ptr_eq(self, other) || **self == **other
    }
}

impl<K> fmt::Debug for Object<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Object({} at {})", self.entry.key, self.entry.version)
    }
}

/// One object in the cache, with all that is known of it without looking into it.
///
/// Whoever needs a `K` asks [`Entry::object`]; nothing else in the pipeline assumes that a decoded object is what is
/// kept here.
pub(crate) struct Entry<K> {
    key: Key,
    hash: u64,
    version: Version,
    value: Arc<K>,
    /// Under which hashes the indexes hold this entry; see [`crate::store`].
    postings: Postings,
}

/// The hashes of an entry's index values, index by index: a count, then that many hashes.
pub(crate) type Postings = Option<Box<Vec<u32>>>;

impl<K> Entry<K> {
    pub(crate) fn key(&self) -> &Key {
        &self.key
    }

    pub(crate) fn hash(&self) -> u64 {
        self.hash
    }

    pub(crate) fn version(&self) -> &Version {
        &self.version
    }

    pub(crate) fn object(&self) -> Arc<K> {
        Arc::clone(&self.value)
    }

    pub(crate) fn value(&self) -> &Arc<K> {
        &self.value
    }

    pub(crate) fn postings(&self) -> &[u32] {
        self.postings.as_ref().map_or(&[], |hashes| hashes)
    }

    /// The entry without its place in the indexes, to be put into a store.
    pub(crate) fn unplaced(&self) -> Unplaced<K> {
        Unplaced {
            key: self.key.clone(),
            hash: self.hash,
            version: self.version.clone(),
            value: Arc::clone(&self.value),
        }
    }
}

impl<K> Slot for Arc<Entry<K>> {
    const NAMED: bool = true;

    fn name(&self) -> &str {
        self.key.as_str()
    }
}

/// Asks for the memory that a clone of an entry needs.
///
/// A reference count is changed one at a time: the processor waits for each before it begins with the next. Plain loads
/// overlap, and to touch what will be needed first turns many waits into one.
pub(crate) fn touch<K>(entry: &Arc<Entry<K>>) {
    std::hint::black_box(Arc::strong_count(entry));
}

impl<K: Kind> Entry<K> {
    /// Whether both are states of one object, not of two that had the same name one after the other.
    pub(crate) fn is_same_object(&self, other: &Entry<K>) -> bool {
        match (&self.value.meta().uid, &other.value.meta().uid) {
            (Some(a), Some(b)) => a == b,
            _ => true,
        }
    }
}

impl<K> fmt::Debug for Entry<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{}", self.key, self.version)
    }
}

/// An object that is not in the cache yet.
#[derive(Debug)]
pub(crate) struct Unplaced<K> {
    pub(crate) key: Key,
    pub(crate) hash: u64,
    pub(crate) version: Version,
    pub(crate) value: Arc<K>,
}

impl<K> Unplaced<K> {
    pub(crate) fn placed(self, postings: Postings) -> Arc<Entry<K>> {
        Arc::new(Entry {
            key: self.key,
            hash: self.hash,
            version: self.version,
            value: self.value,
            postings,
        })
    }

    /// An entry that is in no index: the last state of an object that is gone.
    pub(crate) fn outside(self) -> Arc<Entry<K>> {
        self.placed(None)
    }
}
