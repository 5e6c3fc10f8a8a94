//! The objects of a list while it is read.

use std::sync::Arc;

use super::machine::{Contradiction, Trust};
use crate::error::Error;
use crate::object::{Entry, Key};
use crate::pipeline::wire::list_exceeded;

/// Minimum size that is counted for an object, because small objects take memory, too.
const MIN_OBJECT: u64 = 64;

/// The objects of a list while its pages or initial events are read.
pub(super) struct ListBuffer<K> {
    /// In the order of arrival.
    objects: Vec<ListedObject<K>>,
    trust: Trust,
    bytes: u64,
    max_bytes: u64,
}

struct ListedObject<K> {
    /// The hash of the entry, kept here for sorting.
    hash: u64,
    entry: Arc<Entry<K>>,
    is_deleted: bool,
    /// Whether the cache should contain the object, but does not.
    contradicts: bool,
}

impl<K> ListBuffer<K> {
    pub(super) fn new(max_bytes: u64) -> ListBuffer<K> {
        ListBuffer {
            objects: Vec::new(),
            trust: Trust::Versions,
            bytes: 0,
            max_bytes,
        }
    }

    /// Starts a new list with this trust in versions. The buffer is empty.
    pub(super) fn begin(&mut self, trust: Trust) {
        self.trust = trust;
    }

    /// Drops all objects.
    pub(super) fn clear(&mut self) {
        self.bytes = 0;
        self.objects = Vec::new();
    }

    /// Returns whether a listed object is equal to the cached one if uid and version are equal.
    pub(super) fn trusts_versions(&self) -> bool {
        self.trust != Trust::Nothing
    }

    /// Counts bytes before they are stored.
    ///
    /// # Errors
    /// If the list exceeds its maximum size; a server could send objects without end.
    pub(super) fn reserve(&mut self, bytes: usize) -> Result<(), Error> {
        self.bytes += (bytes as u64).max(MIN_OBJECT);
        if self.bytes > self.max_bytes {
            return Err(list_exceeded(self.max_bytes));
        }
        Ok(())
    }

    /// Adds a listed object that is not cached.
    pub(super) fn add(&mut self, entry: Arc<Entry<K>>) {
        let contradicts = self.trust.is_contradicted_by(entry.version());
        self.push(entry, false, contradicts);
    }

    /// Adds the cached entry of a listed object.
    pub(super) fn add_cached(&mut self, entry: Arc<Entry<K>>) {
        self.push(entry, false, false);
    }

    /// Removes an object that was deleted while the list is read.
    pub(super) fn remove(&mut self, entry: Arc<Entry<K>>) {
        self.push(entry, true, false);
    }

    fn push(&mut self, entry: Arc<Entry<K>>, is_deleted: bool, contradicts: bool) {
        self.objects.push(ListedObject {
            hash: entry.hash(),
            entry,
            is_deleted,
            contradicts,
        });
    }

    /// Keeps the last state of each object, without deleted ones, sorted by hash. Returns the lowest version of
    /// an object that contradicts the cache.
    ///
    /// Earlier states prove nothing: some servers start a streaming list with objects of an old cache, and
    /// correct them before its end.
    pub(super) fn finish(&mut self) -> Contradiction {
        let objects = &mut self.objects;
        objects.reverse();
        objects.sort_by(|a, b| a.place().cmp(&b.place()));
        objects.dedup_by(|earlier, kept| earlier.place() == kept.place());
        objects.retain(|listed| !listed.is_deleted);
        let contradicting = objects.iter().filter(|listed| listed.contradicts);
        let versions = contradicting.map(|listed| listed.entry.version());
        versions
            .reduce(|lowest, other| if other.is_before(lowest) { other } else { lowest })
            .cloned()
    }

    /// Takes the objects of a finished list.
    pub(super) fn take(&mut self) -> Vec<Arc<Entry<K>>> {
        self.bytes = 0;
        let objects = std::mem::take(&mut self.objects);
        objects.into_iter().map(|listed| listed.entry).collect()
    }
}

impl<K> ListedObject<K> {
    fn place(&self) -> (u64, &Key) {
        (self.hash, self.entry.key())
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::ConfigMap;

    use super::{ListBuffer, MIN_OBJECT};

    #[test]
    fn a_list_may_have_its_maximum_size_but_not_more() {
        let mut list = ListBuffer::<ConfigMap>::new(2 * MIN_OBJECT);
        assert!(list.reserve(0).is_ok());
        assert!(list.reserve(64).is_ok());
        assert!(list.reserve(0).is_err());
    }
}
