//! Changes that the reflector sends to the controller.

use std::sync::Arc;

use crate::object::{Entry, ResourceVersion};

/// A change for the store.
#[derive(Debug)]
pub(crate) enum Delta<K> {
    /// An object was added or updated. The store decides which, because a watch may repeat objects of a list.
    Upsert(Arc<Entry<K>>),
    /// An object was deleted: its last state, with the version of the deletion.
    Deleted(Arc<Entry<K>>),
    /// A whole list replaces the objects of its scope.
    Replaced(Replacement<K>),
    /// The watch of a scope has reached this version.
    Bookmark(ResourceVersion, Scope),
    /// The kind is no longer served. Its objects were removed at an unknown version after this one.
    KindRemoved { version: ResourceVersion, scope: Scope },
}

impl<K> Delta<K> {
    /// Creates a list without objects.
    pub(crate) fn empty_list() -> Delta<K> {
        Delta::Replaced(Replacement {
            objects: Vec::new(),
            version: ResourceVersion::from(0),
            scope: Scope::ONLY,
            trusts_versions: true,
        })
    }
}

/// A complete list.
#[derive(Debug)]
pub(crate) struct Replacement<K> {
    /// Sorted by hash, with unique keys.
    pub(crate) objects: Vec<Arc<Entry<K>>>,
    pub(crate) version: ResourceVersion,
    /// The scope to replace. Objects outside of it are kept.
    pub(crate) scope: Scope,
    /// Whether a listed object is equal to the cached one if uid and version are equal.
    pub(crate) trusts_versions: bool,
}

/// The part of a store that one reflector maintains: all namespaces, or one of several.
///
/// The number is the position in the store's list of namespaces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Scope(pub(crate) usize);

impl Scope {
    /// The scope of a store with a single scope.
    pub(crate) const ONLY: Scope = Scope(0);
}
