//! An item that is worked on.

use std::fmt;
use std::ops::Deref;

use crate::core::SlotId;
use crate::queue::{Work, WorkQueue};

/// An item that is worked on. Dropping it says that the work is done: there is nothing to forget.
///
/// It dereferences to the item. Nobody else gets the same item before this is dropped.
///
/// See [`WorkQueue::get`].
#[must_use = "the work counts as done when this is dropped"]
pub struct Item<T: Work> {
    pub(crate) queue: WorkQueue<T>,
    pub(crate) slot: SlotId,
    pub(crate) value: T,
    pub(crate) priority: i32,
}

impl<T: Work> Item<T> {
    /// The priority it had in line.
    #[must_use]
    pub fn priority(&self) -> i32 {
        self.priority
    }

    /// The work is done.
    pub fn done(self) {}
}

impl<T: Work> Deref for Item<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T: Work> Drop for Item<T> {
    fn drop(&mut self) {
        self.queue.shared.finish(self.slot);
    }
}

impl<T: Work + fmt::Debug> fmt::Debug for Item<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Item").field(&self.value).finish()
    }
}
