//! The cache: objects, indexes and version as one immutable snapshot behind an atomic pointer.
//!
//! Readers load the pointer and walk immutable trees: they take no lock, never wait for the writer, and never make it
//! wait; what one read sees is of one moment. The controller is the only writer. It edits its own copy of the trees,
//! which costs the path to each changed place, and publishes it.
//!
//! Objects lie in one tree by a hash of namespace and name, so a namespace is a range of it and needs no index. Each
//! index is a tree of its own by a hash of the value and the key.

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
pub(crate) use self::index::is_asked;
pub use self::index::{Index, IndexValue};
pub(crate) use self::scopes::{ScopeVersions, Scopes};
pub use self::snapshot::{Objects, Snapshot};
use self::tree::{Slot, touch};
pub(crate) use self::writer::{Change, Writer};

/// A way through all entries of a snapshot, at any pace.
pub(crate) type Walk<K> = tree::Walk<Arc<Entry<K>>>;

pub(crate) use self::snapshot::Contents;

/// The readers' side of the cache.
#[derive(Debug)]
pub(crate) struct Store<K> {
    current: ArcSwap<Contents<K>>,
    /// Moved whenever a version is reached, for those who wait for one.
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

    /// Everything as it is now.
    pub(crate) fn snapshot(&self) -> Snapshot<K> {
        Snapshot::new(self.current.load_full())
    }

    /// One look at the current contents.
    pub(crate) fn read<R>(&self, look: impl FnOnce(&Contents<K>) -> R) -> R {
        look(&self.current.load())
    }

    /// Whether nothing was published since this snapshot was taken.
    pub(crate) fn is_current(&self, snapshot: &Snapshot<K>) -> bool {
        snapshot.is_of(&self.current.load())
    }

    /// The entry of an object, if the store has it with just this version and uid, also if readers do not see it yet.
    pub(crate) fn known(
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

    /// The version of the contents; none before the first list.
    pub(crate) fn version(&self) -> Option<ResourceVersion> {
        self.read(|contents| contents.version.clone())
    }

    /// The versions as they are published.
    pub(crate) fn versions(&self) -> watch::Receiver<ScopeVersions> {
        self.versions.subscribe()
    }

    /// Puts new contents in place of the current ones, which are given back.
    fn publish(&self, contents: Arc<Contents<K>>, versions: ScopeVersions) -> Arc<Contents<K>> {
        let old = self.current.swap(contents);
        self.versions.send_if_modified(|published| {
            let moved = *published != versions;
            *published = versions;
            moved
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
