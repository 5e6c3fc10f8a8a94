//! The cache: objects, indexes and version as one immutable snapshot behind an atomic pointer.
//!
//! Readers load the pointer and read immutable trees. They take no lock, never wait for the writer and never
//! delay it. Each read is consistent. The controller is the only writer: it changes its own copy of the
//! trees, which copies the path to each changed slot, and publishes it.
//!
//! Objects are stored in one tree, ordered by a hash of namespace and name, so a namespace is a range and
//! needs no index. Each index is a separate tree, ordered by a hash of value and key.

mod hash;
mod index;
mod scopes;
mod snapshot;
mod tree;
mod writer;

#[cfg(test)]
pub(crate) mod tests;

use std::sync::Arc;

use arc_swap::ArcSwap;
use tokio::sync::watch;

use crate::object::{Entry, Key, ResourceVersion, Uid, WatchedResource};

pub(crate) use self::hash::Seed;
pub(crate) use self::index::is_in_index_function;
pub use self::index::{Index, IndexValue};
pub(crate) use self::scopes::{ScopeVersions, Scopes};
pub use self::snapshot::{Objects, Snapshot};
use self::tree::{Slot, touch};
pub(crate) use self::writer::{Change, Writer};

/// An owned iterator over all entries of a snapshot.
pub(crate) type EntryWalk<K> = tree::Walk<Arc<Entry<K>>>;

pub(crate) use self::snapshot::Contents;

/// The readers' side of the cache.
#[derive(Debug)]
pub(crate) struct Store<K> {
    current: ArcSwap<Contents<K>>,
    /// Notified of every new version.
    versions: watch::Sender<ScopeVersions>,
    resource: WatchedResource,
}

impl<K> Store<K> {
    pub(crate) fn new(resource: WatchedResource, seed: Seed) -> Store<K> {
        Store {
            current: ArcSwap::from_pointee(Contents::empty(resource.clone(), seed)),
            versions: watch::Sender::new(ScopeVersions::none()),
            resource,
        }
    }

    pub(crate) fn resource(&self) -> &WatchedResource {
        &self.resource
    }

    /// Returns a snapshot of the current contents.
    pub(crate) fn snapshot(&self) -> Snapshot<K> {
        Snapshot::new(self.current.load_full())
    }

    /// Reads the current contents.
    pub(crate) fn read<R>(&self, read: impl FnOnce(&Contents<K>) -> R) -> R {
        read(&self.current.load())
    }

    /// Returns whether the snapshot is still current.
    pub(crate) fn is_current(&self, snapshot: &Snapshot<K>) -> bool {
        snapshot.has_contents(&self.current.load())
    }

    /// Returns the entry of an object with this version and uid, even if it is still hidden from readers.
    pub(crate) fn get_at_version(
        &self,
        key: &Key,
        version: &ResourceVersion,
        uid: Option<Uid>,
    ) -> Option<Arc<Entry<K>>> {
        let (namespace, name) = key.parts();
        self.read(|contents| {
            contents
                .get(namespace, name)
                .or_else(|| contents.get_hidden(namespace, name))
                .filter(|entry| entry.version() == version && entry.is_same_object(uid))
                .cloned()
        })
    }

    /// Returns the version of the contents, or `None` before the first list.
    pub(crate) fn version(&self) -> Option<ResourceVersion> {
        self.read(|contents| contents.version.clone())
    }

    /// Returns a receiver of the published versions.
    pub(crate) fn versions(&self) -> watch::Receiver<ScopeVersions> {
        self.versions.subscribe()
    }

    /// Replaces the current contents and returns the old ones.
    fn publish(&self, contents: Arc<Contents<K>>, versions: ScopeVersions) -> Arc<Contents<K>> {
        let old = self.current.swap(contents);
        self.versions.send_if_modified(|published| {
            let changed = *published != versions;
            *published = versions;
            changed
        });
        old
    }
}

impl<K> Slot for Arc<Entry<K>> {
    const NAMED: bool = true;

    fn name(&self) -> &str {
        self.key().as_str()
    }

    fn touch(&self) {
        touch(self);
    }
}
