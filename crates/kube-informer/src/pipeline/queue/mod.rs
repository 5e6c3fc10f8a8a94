//! The queue of deltas between the reflector and the controller.
//!
//! Deltas keep the order of the watch, across keys, as in client-go's `RealFIFO`; a whole list is one delta. The
//! reflector waits while the queue is full. The controller never waits for anything but the queue, so the queue is short and does
//! not coalesce: that is done in front of each handler.

#[cfg(test)]
mod tests;

use tokio::sync::mpsc;

use crate::pipeline::reflector::Delta;

/// Number of deltas in a full queue. A source that always has an event ready runs until then without yielding, so this also
/// bounds how long handlers wait for the first of them.
pub(crate) const CAPACITY: usize = 512;

/// Creates a queue. Producers are the reflectors, one for each namespace; the consumer is the controller. The queue is closed
/// when all producers are dropped.
pub(crate) fn channel<K>() -> (mpsc::Sender<Delta<K>>, DeltaReceiver<K>) {
    let (sender, receiver) = mpsc::channel(CAPACITY);
    (sender, DeltaReceiver(receiver))
}

/// The controller's end of the queue.
#[derive(Debug)]
pub(crate) struct DeltaReceiver<K>(mpsc::Receiver<Delta<K>>);

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

/// Observes how many deltas wait in a queue, without keeping it open.
#[derive(Debug)]
pub(crate) struct QueueDepth<K>(mpsc::WeakSender<Delta<K>>);

impl<K> QueueDepth<K> {
    pub(crate) fn of(sender: &mpsc::Sender<Delta<K>>) -> QueueDepth<K> {
        QueueDepth(sender.downgrade())
    }

    /// Number of deltas that wait; zero after the queue was closed.
    pub(crate) fn get(&self) -> usize {
        let sender = self.0.upgrade();
        sender.map_or(0, |sender| sender.max_capacity() - sender.capacity())
    }
}
