//! The queue of deltas between the reflector and the controller.
//!
//! Deltas stay in the order of the watch, across keys, as in client-go's `RealFIFO`; a whole list is one delta. The
//! reflector waits when the queue is full, and the controller, which waits for nobody, empties it: so the queue is
//! short, and needs no folding of its own. Folding happens where someone may be slow: in front of each handler.

mod bounded;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use self::bounded::BoundedQueue;
use crate::object::{Entry, Key, ResourceVersion, Uid, Unplaced};

/// How many deltas may wait before the reflector has to. A source that always has something ready keeps its thread until
/// then, so this is also how long handlers may have to wait for the first of them.
pub(crate) const FULL: usize = 512;

/// A change on its way to the store.
#[derive(Debug)]
pub(crate) enum Delta<K> {
    /// The watch said that an object is new or has changed. Which of the two it is, the store knows better: events may
    /// repeat what a list has told before.
    Upsert(Unplaced<K>),
    /// The watch said that an object is gone; its last state and the version of its deletion.
    Deleted(Unplaced<K>),
    /// A whole list: everything that is there in a scope, and nothing else is.
    Replaced(Replaced<K>),
    /// The watch of a scope has come this far.
    Bookmark(ResourceVersion, Scope),
}

/// A whole list.
#[derive(Debug)]
pub(crate) struct Replaced<K> {
    /// By hash; keys are unique.
    pub(crate) items: Vec<Listed<K>>,
    pub(crate) version: ResourceVersion,
    /// Nothing outside of it is replaced.
    pub(crate) scope: Scope,
    /// Whether an object of the same version is the same object.
    pub(crate) trusting: bool,
    /// The kind is not served any more, so there are no items. They were removed at an unknown version after `version`.
    pub(crate) kind_removed: bool,
}

/// The part of a store that one reflector looks after: everything, or one of several namespaces. A number in the order
/// in which the store knows them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Scope(pub(crate) usize);

impl Scope {
    /// The scope of a store that has no other.
    pub(crate) const ONLY: Scope = Scope(0);
}

/// An object of a list.
#[derive(Debug)]
pub(crate) enum Listed<K> {
    /// The store had it in this very version when it came, and its entry goes on being used (contract 10).
    Known(Arc<Entry<K>>),
    /// It is new or has changed.
    New(Unplaced<K>),
}

impl<K> Listed<K> {
    pub(crate) fn key(&self) -> &Key {
        match self {
            Listed::Known(known) => known.key(),
            Listed::New(new) => &new.key,
        }
    }

    pub(crate) fn hash(&self) -> u64 {
        match self {
            Listed::Known(known) => known.hash(),
            Listed::New(new) => new.hash,
        }
    }

    pub(crate) fn version(&self) -> &ResourceVersion {
        match self {
            Listed::Known(known) => known.version(),
            Listed::New(new) => &new.version,
        }
    }

    pub(crate) fn uid(&self) -> Option<Uid> {
        match self {
            Listed::Known(known) => known.uid(),
            Listed::New(new) => new.uid,
        }
    }

    /// The object, to be put into a store.
    pub(crate) fn unplaced(self) -> Unplaced<K> {
        match self {
            Listed::Known(known) => known.unplaced(),
            Listed::New(new) => new,
        }
    }
}

/// The queue. Producers are the reflectors, one for each namespace; the consumer is the controller.
pub(crate) type DeltaFifo<K> = BoundedQueue<Delta<K>, FULL>;
