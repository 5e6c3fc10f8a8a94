//! Changes on their way from the reflector to the store.

use std::sync::Arc;

use crate::object::{Entry, ResourceVersion};

/// A change on its way to the store.
#[derive(Debug)]
pub(crate) enum Delta<K> {
    /// An object was added or updated. The store decides which: a watch may repeat what a list has returned before.
    Upsert(Arc<Entry<K>>),
    /// An object was deleted; its last state, with the version of the deletion.
    Deleted(Arc<Entry<K>>),
    /// A whole list replaces the objects of its scope.
    Replaced(Replacement<K>),
    /// The watch of a scope has reached this version.
    Bookmark(ResourceVersion, Scope),
    /// The kind is no longer served. Its objects were removed at an unknown version after this one.
    KindRemoved { version: ResourceVersion, scope: Scope },
}

impl<K> Delta<K> {
    /// A list without objects.
    pub(crate) fn empty_list() -> Delta<K> {
        Delta::Replaced(Replacement {
            objects: Vec::new(),
            version: ResourceVersion::from(0),
            scope: Scope::ONLY,
            trusts_versions: true,
        })
    }
}

/// A whole list.
#[derive(Debug)]
pub(crate) struct Replacement<K> {
    /// By hash; keys are unique.
    pub(crate) objects: Vec<Arc<Entry<K>>>,
    pub(crate) version: ResourceVersion,
    /// Objects outside of this scope stay.
    pub(crate) scope: Scope,
    /// Whether a listed object is the cached one if uid and version are equal.
    pub(crate) trusts_versions: bool,
}

/// The part of a store that one reflector maintains: everything, or one of several namespaces. A number in the order
/// in which the store lists its namespaces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Scope(pub(crate) usize);

impl Scope {
    /// The scope of a store that has no other.
    pub(crate) const ONLY: Scope = Scope(0);
}
