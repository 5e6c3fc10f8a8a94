//! The queue of deltas between the reflector and the controller.
//!
//! Deltas keep the order of the watch, across keys, as in client-go's `RealFIFO`; a whole list is one delta. The
//! reflector waits while the queue is full. The controller never waits for anything but the queue, so the queue is short and does
//! not coalesce: that is done in front of each handler.

#[cfg(test)]
mod tests;

use std::sync::Arc;

use tokio::sync::mpsc;

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

/// Creates a queue. Producers are the reflectors, one for each namespace; the consumer is the controller. The queue is closed
/// when all producers are dropped.
pub(crate) fn channel<K>() -> (DeltaSender<K>, DeltaReceiver<K>) {
    let (sender, receiver) = mpsc::channel(CAPACITY);
    (DeltaSender(sender), DeltaReceiver(receiver))
}

/// The reflector's end of the queue.
#[derive(Debug)]
pub(crate) struct DeltaSender<K>(mpsc::Sender<Delta<K>>);

/// The controller's end of the queue.
#[derive(Debug)]
pub(crate) struct DeltaReceiver<K>(mpsc::Receiver<Delta<K>>);

/// Observes how many deltas wait in a queue.
#[derive(Debug)]
pub(crate) struct QueueDepth<K>(mpsc::WeakSender<Delta<K>>);

impl<K> DeltaSender<K> {
    /// Adds a delta, waiting while the queue is full. If the controller has ended, the delta is dropped.
    ///
    /// # Cancel safety
    /// A cancelled push has added nothing.
    pub(crate) async fn push(&self, delta: Delta<K>) {
        let _ = self.0.send(delta).await;
    }

    pub(crate) fn depth(&self) -> QueueDepth<K> {
        QueueDepth(self.0.downgrade())
    }
}

impl<K> Clone for DeltaSender<K> {
    fn clone(&self) -> Self {
        DeltaSender(self.0.clone())
    }
}

impl<K> DeltaReceiver<K> {
    /// Takes all deltas that wait; none once the queue is closed and empty.
    ///
    /// # Cancel safety
    /// A cancelled pop has taken nothing.
    pub(crate) async fn pop(&mut self) -> Option<Vec<Delta<K>>> {
        let mut deltas = Vec::new();
        let count = self.0.recv_many(&mut deltas, CAPACITY).await;
        (count > 0).then_some(deltas)
    }

    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }
}

impl<K> QueueDepth<K> {
    /// Number of deltas that wait; zero after the queue was closed.
    pub(crate) fn get(&self) -> usize {
        let sender = self.0.upgrade();
        sender.map_or(0, |sender| sender.max_capacity() - sender.capacity())
    }
}
