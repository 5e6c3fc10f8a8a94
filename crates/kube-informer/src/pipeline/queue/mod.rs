//! The queue of deltas between the reflector and the controller.
//!
//! Deltas keep the order of the watch, across keys, as in client-go's `RealFIFO`; a whole list is one delta. The
//! reflector waits while the queue is full. The controller never waits for anything but the queue, so the queue is short and does
//! not coalesce: that is done in front of each handler.

mod bounded;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use self::bounded::BoundedQueue;
use crate::object::{Entry, ResourceVersion};

/// Number of deltas in a full queue. A source that always has an event ready runs until then without yielding, so this also
/// bounds how long handlers wait for the first of them.
pub(crate) const CAPACITY: usize = 512;

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

/// The queue. Producers are the reflectors, one for each namespace; the consumer is the controller.
pub(crate) type DeltaFifo<K> = BoundedQueue<Delta<K>, CAPACITY>;
