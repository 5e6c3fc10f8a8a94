//! The pending events of one handler.
//!
//! Initial objects are delivered first, then changes in the order in which their objects first changed.
//! Pending changes of one object are merged (contract 3), so the backlog cannot exceed the number of objects
//! (contract 6). A resync repeats the objects without pending changes.

use std::collections::VecDeque;
use std::sync::Arc;

use hashbrown::hash_table::{self, HashTable};
use tokio::time::Instant;

use super::mailbox::Backlog;
use super::pending::PendingChanges;
use crate::handler::{DeletedObject, Event};
use crate::object::{Entry, Key, Kind, Object};
use crate::pipeline::store::{Change, EntryWalk, Snapshot};

/// The queue of one handler.
#[derive(Debug)]
pub(super) struct Queue<K> {
    initial: InitialEvents<K>,
    changes: WaitingChanges<K>,
    resync: Option<Resync<K>>,
    /// The second event of a change that is delivered as two events.
    second_event: Option<Event<K>>,
    /// Whether a resync is next when both resync and changes are pending.
    resync_next: bool,
    /// A pending change whose waiting time is measured.
    sample: Option<LatencySample>,
}

/// A change whose waiting time is measured. Measuring each change would cost memory per change.
#[derive(Debug)]
struct LatencySample {
    hash: u64,
    since: Instant,
}

#[derive(Debug)]
enum InitialEvents<K> {
    /// The informer has not listed yet.
    Expected,
    Walking {
        walk: Box<EntryWalk<K>>,
        left: usize,
    },
    Done,
}

#[derive(Debug)]
enum WaitingChanges<K> {
    Coalesced(PendingChanges<K>),
    Every(VecDeque<Change<K>>),
}

#[derive(Debug)]
struct Resync<K> {
    walk: Box<EntryWalk<K>>,
    /// The objects to repeat.
    snapshot: Snapshot<K>,
    /// Objects that have or had a pending change, and so are not repeated.
    changed: KeySet,
}

/// A set of keys. Hashes alone are ambiguous: within a namespace they have 32 bits.
#[derive(Debug, Default)]
struct KeySet(HashTable<(u64, Key)>);

impl<K> Queue<K> {
    pub(super) fn new(every_event: bool) -> Queue<K> {
        Queue {
            initial: InitialEvents::Expected,
            changes: if every_event {
                WaitingChanges::Every(VecDeque::new())
            } else {
                WaitingChanges::Coalesced(PendingChanges::new())
            },
            resync: None,
            second_event: None,
            resync_next: false,
            sample: None,
        }
    }

    /// Adds the initial objects of the handler.
    pub(super) fn begin(&mut self, snapshot: &Snapshot<K>) {
        self.initial = if snapshot.is_empty() {
            InitialEvents::Done
        } else {
            InitialEvents::Walking {
                walk: Box::new(snapshot.walk()),
                left: snapshot.len(),
            }
        };
    }

    /// Returns whether the initial events are not known, because the informer has not listed yet.
    pub(super) fn expects_list(&self) -> bool {
        matches!(self.initial, InitialEvents::Expected)
    }

    /// Adds a change.
    pub(super) fn push(&mut self, change: &Change<K>) {
        if let Some(resync) = &mut self.resync {
            resync.skip(change.entry());
        }
        match &mut self.changes {
            WaitingChanges::Coalesced(pending_changes) => pending_changes.add(change),
            WaitingChanges::Every(changes) => changes.push_back(change.clone()),
        }
    }

    /// Measures the waiting time of a change, unless another one is being measured.
    pub(super) fn sample(&mut self, change: &Change<K>) {
        if self.sample.is_none() {
            self.sample = Some(LatencySample {
                hash: change.entry().hash(),
                since: Instant::now(),
            });
        }
    }

    /// Returns when the measured change was added, if it is the popped one.
    fn sampled(&mut self, popped: Option<&Event<K>>) -> Option<Instant> {
        let sample = self.sample.as_ref()?;
        match popped {
            Some(event) if event.hash() == sample.hash => self.sample.take().map(|sample| sample.since),
            Some(_) => None,
            // The change was cancelled out, for example by a deletion.
            None => {
                self.sample = None;
                None
            }
        }
    }

    /// Repeats all objects, unless a resync is in progress.
    pub(super) fn resync(&mut self, snapshot: &Snapshot<K>) {
        if self.resync.is_some() || !matches!(self.initial, InitialEvents::Done) {
            return;
        }
        let mut changed = KeySet::default();
        match &self.changes {
            WaitingChanges::Coalesced(pending_changes) => {
                changed.reserve(pending_changes.len());
                for entry in pending_changes.entries() {
                    changed.insert(entry);
                }
            }
            WaitingChanges::Every(changes) => {
                for change in changes {
                    changed.insert(change.entry());
                }
            }
        }
        self.resync = Some(Resync {
            walk: Box::new(snapshot.walk()),
            snapshot: snapshot.clone(),
            changed,
        });
    }

    /// Returns the next event. The caller has handled the previous one.
    pub(super) fn pop(&mut self) -> Option<Event<K>> {
        if let Some(event) = self.second_event.take() {
            return Some(event);
        }
        match &mut self.initial {
            InitialEvents::Expected => return None,
            InitialEvents::Walking { walk, left } => {
                if let Some(entry) = walk.next() {
                    *left = left.saturating_sub(1);
                    return Some(Event::Added {
                        object: Object::new(entry),
                        is_in_initial_list: true,
                    });
                }
                self.initial = InitialEvents::Done;
            }
            InitialEvents::Done => {}
        }
        // Alternates, so that neither starves the other.
        self.resync_next = !self.resync_next;
        let first = if self.resync_next {
            self.pop_resync()
        } else {
            self.pop_change()
        };
        first.or_else(|| {
            if self.resync_next {
                self.pop_change()
            } else {
                self.pop_resync()
            }
        })
    }

    fn pop_resync(&mut self) -> Option<Event<K>> {
        let resync = self.resync.as_mut()?;
        loop {
            let Some(entry) = resync.walk.next() else {
                self.resync = None;
                return None;
            };
            if !resync.changed.contains(&entry) {
                let object = Object::new(entry);
                return Some(Event::Updated {
                    old: object.clone(),
                    new: object,
                });
            }
        }
    }

    fn pop_change(&mut self) -> Option<Event<K>> {
        match &mut self.changes {
            WaitingChanges::Every(changes) => {
                let change = changes.pop_front();
                if changes.is_empty() {
                    changes.shrink_to(1_024);
                }
                change.map(event)
            }
            WaitingChanges::Coalesced(pending_changes) => {
                let pending = pending_changes.take()?;
                let (first, second) = pending.events();
                self.second_event = second;
                first
            }
        }
    }

    /// Returns the number of pending events, without resyncs.
    pub(super) fn len(&self) -> usize {
        let initial = match &self.initial {
            InitialEvents::Walking { left, .. } => *left,
            InitialEvents::Expected | InitialEvents::Done => 0,
        };
        let changes = match &self.changes {
            WaitingChanges::Coalesced(pending_changes) => pending_changes.len(),
            WaitingChanges::Every(changes) => changes.len(),
        };
        initial + changes + usize::from(self.second_event.is_some())
    }

    #[cfg(test)]
    pub(super) fn is_resyncing(&self) -> bool {
        self.resync.is_some()
    }

    /// Returns the number of objects that the current resync skips.
    #[cfg(test)]
    pub(super) fn skipped(&self) -> usize {
        self.resync.as_ref().map_or(0, |resync| resync.changed.0.len())
    }
}

impl<K: Kind> Backlog for Queue<K> {
    /// An event, and the time when its change was added, if that is measured.
    type Event = (Event<K>, Option<Instant>);

    fn pop(&mut self) -> Option<Self::Event> {
        let event = Queue::pop(self);
        let waiting_since = self.sampled(event.as_ref());
        event.map(|event| (event, waiting_since))
    }

    fn is_waiting(&self) -> bool {
        match self.initial {
            InitialEvents::Expected => false,
            InitialEvents::Walking { .. } => true,
            InitialEvents::Done => self.len() > 0 || self.resync.is_some(),
        }
    }

    fn is_past_initial(&self) -> bool {
        matches!(self.initial, InitialEvents::Done)
    }

    fn clear(&mut self) -> Queue<K> {
        std::mem::replace(self, Queue::new(false))
    }
}

impl KeySet {
    fn reserve(&mut self, more: usize) {
        self.0.reserve(more, |(hash, _)| *hash);
    }

    fn insert<K>(&mut self, entry: &Entry<K>) {
        let slot = self.0.entry(entry.hash(), has_key_of(entry), |(hash, _)| *hash);
        if let hash_table::Entry::Vacant(slot) = slot {
            slot.insert((entry.hash(), entry.key().clone()));
        }
    }

    fn contains<K>(&self, entry: &Entry<K>) -> bool {
        self.0.find(entry.hash(), has_key_of(entry)).is_some()
    }
}

fn has_key_of<K>(entry: &Entry<K>) -> impl Fn(&(u64, Key)) -> bool {
    |(hash, key)| *hash == entry.hash() && key == entry.key()
}

impl<K> Resync<K> {
    /// Skips an object. Objects added after the snapshot are ignored, because recording them would have no
    /// bound.
    fn skip(&mut self, entry: &Entry<K>) {
        if self.snapshot.get_entry(entry.key()).is_some() {
            self.changed.insert(entry);
        }
    }
}

/// Converts a change that was not coalesced.
fn event<K>(change: Change<K>) -> Event<K> {
    match change {
        Change::Added { new } => added(new),
        Change::Updated { old, new } => Event::Updated {
            old: Object::new(old),
            new: Object::new(new),
        },
        Change::Deleted { old, last, unknown } => Event::Deleted(DeletedObject::new(old, last, unknown)),
    }
}

pub(super) fn added<K>(new: Arc<Entry<K>>) -> Event<K> {
    Event::Added {
        object: Object::new(new),
        is_in_initial_list: false,
    }
}
