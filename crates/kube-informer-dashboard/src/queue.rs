//! A work queue without the type of its items.

use kube_workqueue::{QueueItem, QueueStats, WorkQueue};

pub(crate) trait QueueView: Send + Sync {
    fn name(&self) -> &str;
    fn stats(&self) -> QueueStats;
}

impl<T: QueueItem> QueueView for WorkQueue<T> {
    fn name(&self) -> &str {
        WorkQueue::name(self)
    }

    fn stats(&self) -> QueueStats {
        WorkQueue::stats(self)
    }
}
