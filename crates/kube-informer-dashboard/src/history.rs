//! The last changes of an informer.

use std::collections::VecDeque;
use std::time::SystemTime;

use kube_informer::erased::{AnyEvent, AnyObject};
use parking_lot::Mutex;

/// The last changes, up to a maximum number.
///
/// Changes hold references to the cache's objects, so recording one is cheap. Differences are computed on request.
pub(crate) struct History {
    changes: Mutex<VecDeque<Change>>,
    capacity: usize,
}

/// A change of an object.
#[derive(Clone)]
pub(crate) struct Change {
    pub(crate) at: SystemTime,
    pub(crate) old: Option<AnyObject>,
    pub(crate) new: Option<AnyObject>,
}

impl History {
    pub(crate) fn new(capacity: usize) -> History {
        History {
            changes: Mutex::default(),
            capacity,
        }
    }

    /// Records an event, unless nothing changed: the initial list and resyncs are left out.
    pub(crate) fn record(&self, event: AnyEvent) {
        if event.is_resync() {
            return;
        }
        let (old, new) = match event {
            AnyEvent::Added {
                is_in_initial_list: true,
                ..
            } => return,
            AnyEvent::Added { object, .. } => (None, Some(object)),
            AnyEvent::Updated { old, new } => (Some(old), Some(new)),
            AnyEvent::Deleted { last_state } => (Some(last_state), None),
        };
        self.add(Change {
            at: SystemTime::now(),
            old,
            new,
        });
    }

    fn add(&self, change: Change) {
        let evicted = {
            let mut changes = self.changes.lock();
            changes.push_back(change);
            (changes.len() > self.capacity).then(|| changes.pop_front())
        };
        // Objects are dropped outside of the lock.
        drop(evicted);
    }

    /// Returns the newest matching changes, newest first.
    pub(crate) fn newest(&self, limit: usize, matches: impl Fn(&Change) -> bool) -> Vec<Change> {
        let changes = self.changes.lock();
        let newest = changes.iter().rev().filter(|change| matches(change));
        newest.take(limit).cloned().collect()
    }
}

impl Change {
    /// Returns the newest known state of the object.
    pub(crate) fn object(&self) -> Option<&AnyObject> {
        self.new.as_ref().or(self.old.as_ref())
    }
}
