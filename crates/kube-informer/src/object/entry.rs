//! An object in the cache.

use std::fmt;
use std::sync::Arc;

use kube_wire::selector::Selector;

use super::format::Value;
use super::{Key, ResourceVersion, Uid};

/// An object in the cache, with the data that the pipeline needs without decoding it.
///
/// [`Entry::object`] returns the object. No other code in the pipeline depends on how it is stored.
pub(crate) struct Entry<K> {
    key: Key,
    hash: u64,
    version: ResourceVersion,
    uid: Option<Uid>,
    value: Value<K>,
    /// The hashes under which indexes contain this entry; see [`crate::pipeline::store`]. None outside of a store.
    postings: Postings,
}

/// The hashes of an entry's index values, index by index: a count, then that many hashes.
pub(crate) type Postings = Option<Box<Vec<u32>>>;

impl<K> Entry<K> {
    /// Creates an entry that is in no index.
    pub(crate) fn new(
        key: Key,
        hash: u64,
        version: ResourceVersion,
        uid: Option<Uid>,
        value: Value<K>,
    ) -> Arc<Entry<K>> {
        Arc::new(Entry {
            key,
            hash,
            version,
            uid,
            value,
            postings: None,
        })
    }

    pub(crate) fn key(&self) -> &Key {
        &self.key
    }

    pub(crate) fn hash(&self) -> u64 {
        self.hash
    }

    pub(crate) fn version(&self) -> &ResourceVersion {
        &self.version
    }

    /// Returns the server's `metadata.uid`, even if a transform changed it.
    pub(crate) fn uid(&self) -> Option<Uid> {
        self.uid
    }

    /// Returns whether both are states of one object, and not of two successive objects with the same name. An object
    /// without a uid matches any object with its name.
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

    /// Returns this entry with other postings. Copies it if it is shared.
    pub(crate) fn with_postings(mut self: Arc<Self>, postings: Postings) -> Arc<Entry<K>> {
        if let Some(unique) = Arc::get_mut(&mut self) {
            unique.postings = postings;
            return self;
        }
        Arc::new(Entry {
            key: self.key.clone(),
            hash: self.hash,
            version: self.version.clone(),
            uid: self.uid,
            value: self.value.clone(),
            postings,
        })
    }
}

impl<K: kube::Resource> Entry<K> {
    /// Returns whether the labels match.
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
