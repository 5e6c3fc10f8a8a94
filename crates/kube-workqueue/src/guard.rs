//! The guard of an item that is being processed.

use std::fmt;
use std::ops::Deref;

use crate::core::SlotId;
use crate::queue::{QueueItem, WorkQueue};

/// An item that is being processed. Dropping the guard marks the item as done.
///
/// Dereferences to the item. The queue does not return the same item again before this guard is dropped.
///
/// Returned by [`WorkQueue::get`] and [`WorkQueue::try_get`].
#[must_use = "the item counts as done when the guard is dropped"]
pub struct ItemGuard<T: QueueItem> {
    pub(crate) queue: WorkQueue<T>,
    pub(crate) slot: SlotId,
    pub(crate) item: T,
    pub(crate) priority: i32,
}

impl<T: QueueItem> ItemGuard<T> {
    /// Returns the priority that the item had in the queue.
    #[must_use]
    pub fn priority(&self) -> i32 {
        self.priority
    }

    /// Marks the item as done, like dropping the guard.
    #[doc(alias = "Done")]
    pub fn done(self) {}
}

impl<T: QueueItem> Deref for ItemGuard<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.item
    }
}

impl<T: QueueItem> Drop for ItemGuard<T> {
    fn drop(&mut self) {
        self.queue.shared.finish(self.slot);
    }
}

impl<T: QueueItem + fmt::Debug> fmt::Debug for ItemGuard<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ItemGuard").field(&self.item).finish()
    }
}
