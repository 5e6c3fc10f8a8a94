//! One object as the cache holds it.

use std::fmt;
use std::sync::Arc;

use kube_wire::selector::Selector;

use super::format::Value;
use super::{Key, ResourceVersion, Uid};

/// One object in the cache, with all that is known of it without looking into it.
///
/// Whoever needs a `K` asks [`Entry::object`]; nothing else in the pipeline assumes that a decoded object is what is
/// kept here.
pub(crate) struct Entry<K> {
    key: Key,
    hash: u64,
    version: ResourceVersion,
    uid: Option<Uid>,
    value: Value<K>,
    /// Under which hashes the indexes hold this entry; see [`crate::pipeline::store`].
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

    pub(crate) fn version(&self) -> &ResourceVersion {
        &self.version
    }

    /// The server's `metadata.uid`, whatever a transform made of it.
    pub(crate) fn uid(&self) -> Option<Uid> {
        self.uid
    }

    /// Whether both are states of one object, not of two that had the same name one after the other. An object without a uid
    /// is taken for any of its name.
    pub(crate) fn is_same_object(&self, uid: Option<Uid>) -> bool {
        match (self.uid, uid) {
            (Some(this), Some(other)) => this == other,
            _ => true,
        }
    }

    pub(crate) fn object(&self) -> Arc<K> {
        self.value.object(&self.key)
    }

    pub(crate) fn value(&self) -> &Value<K> {
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
            uid: self.uid,
            value: self.value.clone(),
        }
    }
}

impl<K: kube::Resource> Entry<K> {
    /// Whether the labels match.
    pub(crate) fn matches(&self, selector: &Selector) -> bool {
        selector.is_everything()
            || match &self.value {
                Value::Packed(packed) if !packed.transformed().labels => packed.matches(selector),
                value => selector.matches(&value.object(&self.key).meta().labels),
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
    pub(crate) version: ResourceVersion,
    pub(crate) uid: Option<Uid>,
    pub(crate) value: Value<K>,
}

impl<K> Unplaced<K> {
    pub(crate) fn placed(self, postings: Postings) -> Arc<Entry<K>> {
        Arc::new(Entry {
            key: self.key,
            hash: self.hash,
            version: self.version,
            uid: self.uid,
            value: self.value,
            postings,
        })
    }

    /// An entry that is in no index: the last state of an object that is gone, or one that cannot be decoded again.
    pub(crate) fn outside(self) -> Arc<Entry<K>> {
        self.placed(None)
    }
}
