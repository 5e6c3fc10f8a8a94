//! The last changes of an informer.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::SystemTime;

use parking_lot::Mutex;

use crate::handler::{Event, EventHandler};
use crate::object::Object;

/// The last changes, never more than so many. They hold the cache's own objects, so that a change costs two counters; what
/// is different is worked out when someone asks.
pub(super) struct History<K> {
    changes: Mutex<VecDeque<Change<K>>>,
    most: usize,
}

/// One change.
pub(super) struct Change<K> {
    pub(super) at: SystemTime,
    pub(super) old: Option<Object<K>>,
    pub(super) new: Option<Object<K>>,
}

/// Writes down what happens.
pub(super) struct Scribe<K>(pub(super) Arc<History<K>>);

impl<K> History<K> {
    pub(super) fn new(most: usize) -> History<K> {
        History {
            changes: Mutex::default(),
            most,
        }
    }

    fn add(&self, change: Change<K>) {
        let forgotten = {
            let mut changes = self.changes.lock();
            changes.push_back(change);
            (changes.len() > self.most).then(|| changes.pop_front())
        };
        drop(forgotten);
    }

    /// The newest that fit, the newest first.
    pub(super) fn newest(&self, limit: usize, fits: impl Fn(&Change<K>) -> bool) -> Vec<Change<K>> {
        let changes = self.changes.lock();
        let newest = changes.iter().rev().filter(|change| fits(change));
        newest.take(limit).cloned().collect()
    }
}

impl<K> Change<K> {
    /// What there is of the object: how it is now, or how it was.
    pub(super) fn object(&self) -> Option<&Object<K>> {
        self.new.as_ref().or(self.old.as_ref())
    }
}

impl<K> Clone for Change<K> {
    fn clone(&self) -> Self {
        Change {
            at: self.at,
            old: self.old.clone(),
            new: self.new.clone(),
        }
    }
}

impl<K: Send + Sync + 'static> EventHandler<K> for Scribe<K> {
    fn handle(&mut self, event: Event<K>) {
        let at = SystemTime::now();
        let is_news = !event.is_resync();
        let (old, new) = match event {
            Event::Added {
                is_in_initial_list: true,
                ..
            } => return,
            Event::Added { object, .. } => (None, Some(object)),
            Event::Updated { old, new } => (Some(old), Some(new)),
            Event::Deleted(deleted) => (Some(deleted.last_state().clone()), None),
        };
        if is_news {
            self.0.add(Change { at, old, new });
        }
    }

    fn never_blocks(&self) -> bool {
        true
    }
}
