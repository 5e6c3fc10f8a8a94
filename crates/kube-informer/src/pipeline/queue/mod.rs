//! The queue of deltas between the reflector and the controller.
//!
//! Deltas keep the order of the watch across keys, as in client-go's `RealFIFO`; a whole list is one delta.
//! The reflector waits while the queue is full. The controller never waits for
//! handlers, so the queue is short and does not coalesce; the queues of handlers do.

#[cfg(test)]
mod tests;

use tokio::sync::mpsc;

use crate::pipeline::reflector::Delta;

/// Maximum number of deltas in the queue.
///
/// A source that always has an event ready runs until the queue is full without yielding, so this also bounds
/// the delay of the first event for handlers.
pub(crate) const CAPACITY: usize = 512;

/// Creates a queue for one controller and one or more reflectors.
///
/// The queue is closed when all senders are dropped.
pub(crate) fn channel<K>() -> (mpsc::Sender<Delta<K>>, DeltaReceiver<K>) {
    let (sender, receiver) = mpsc::channel(CAPACITY);
    (sender, DeltaReceiver(receiver))
}

/// The controller's end of the queue.
#[derive(Debug)]
pub(crate) struct DeltaReceiver<K>(mpsc::Receiver<Delta<K>>);

impl<K> DeltaReceiver<K> {
    /// Takes all pending deltas. Returns `None` when the queue is closed and empty.
    ///
    /// # Cancel safety
    /// Cancel safe: a cancelled call takes nothing.
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

/// Observes the number of deltas in a queue without keeping it open.
#[derive(Debug)]
pub(crate) struct QueueDepth<K>(mpsc::WeakSender<Delta<K>>);

impl<K> QueueDepth<K> {
    pub(crate) fn of(sender: &mpsc::Sender<Delta<K>>) -> QueueDepth<K> {
        QueueDepth(sender.downgrade())
    }

    /// Returns the number of pending deltas; zero after the queue was closed.
    pub(crate) fn get(&self) -> usize {
        let sender = self.0.upgrade();
        sender.map_or(0, |sender| sender.max_capacity() - sender.capacity())
    }
}
