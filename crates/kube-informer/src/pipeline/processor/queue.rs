//! What one handler has still to be told.
//!
//! First everything that was there when it joined, then the changes since, in the order in which objects first changed.
//! Changes of one object that wait together become one (contract 3), so no more can wait than there are objects
//! (contract 6). A resync repeats what the handler knows, and leaves out what waits for it anyway.

use std::collections::VecDeque;
use std::sync::Arc;

use hashbrown::hash_table::{self, HashTable};
use tokio::time::Instant;

use super::mailbox::Backlog;
use super::pending::PendingChanges;
use crate::handler::{DeletedObject, Event};
use crate::object::{Entry, Key, Kind, Object};
use crate::pipeline::store::{Change, Snapshot, Walk};

/// The queue of one handler.
#[derive(Debug)]
pub(super) struct Queue<K> {
    initial: InitialEvents<K>,
    changes: WaitingChanges<K>,
    resync: Option<Resync<K>>,
    /// The second half of something that is told in two events.
    carried: Option<Event<K>>,
    /// Whether a resync is next when both it and changes wait.
    resync_next: bool,
    /// One of the changes that wait.
    sample: Option<LatencySample>,
}

/// A change that is looked after, to see how long changes wait. To note that of each would cost memory for each.
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
        walk: Box<Walk<K>>,
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
    walk: Box<Walk<K>>,
    /// What is repeated.
    snapshot: Snapshot<K>,
    /// Which of it has changed since, or waited to be told of already: its own changes say it.
    changed: KeySet,
}

/// A set of keys with their hashes. Hashes alone would take one object for another: within a namespace they are of 32 bits.
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
            carried: None,
            resync_next: false,
            sample: None,
        }
    }

    /// Everything that is there at the handler's place in the stream.
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

    /// A change after that.
    pub(super) fn push(&mut self, change: &Change<K>) {
        if let Some(resync) = &mut self.resync {
            resync.leave_out(change.entry());
        }
        match &mut self.changes {
            WaitingChanges::Coalesced(pending_changes) => pending_changes.add(change),
            WaitingChanges::Every(changes) => changes.push_back(change.clone()),
        }
    }

    /// Looks after a change, unless there is another already.
    pub(super) fn sample(&mut self, change: &Change<K>) {
        if self.sample.is_none() {
            self.sample = Some(LatencySample {
                hash: change.entry().hash(),
                since: Instant::now(),
            });
        }
    }

    /// Since when the change has waited that is looked after, if it is the one that was popped.
    fn sampled(&mut self, popped: Option<&Event<K>>) -> Option<Instant> {
        let sample = self.sample.as_ref()?;
        match popped {
            Some(event) if event.hash() == sample.hash => self.sample.take().map(|sample| sample.since),
            Some(_) => None,
            // It came to nothing, as that of an object that came and went.
            None => {
                self.sample = None;
                None
            }
        }
    }

    /// Repeats everything. A resync that is still going on is as good as a new one.
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

    /// The next event, if there is one. Whoever asks has finished with the one before.
    pub(super) fn pop(&mut self) -> Option<Event<K>> {
        if let Some(event) = self.carried.take() {
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
        // Neither keeps the other waiting for long.
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
                self.carried = second;
                first
            }
        }
    }

    /// How many objects wait to be told of, resyncs not counted.
    pub(super) fn len(&self) -> usize {
        let initial = match &self.initial {
            InitialEvents::Walking { left, .. } => *left,
            InitialEvents::Expected | InitialEvents::Done => 0,
        };
        let changes = match &self.changes {
            WaitingChanges::Coalesced(pending_changes) => pending_changes.len(),
            WaitingChanges::Every(changes) => changes.len(),
        };
        initial + changes + usize::from(self.carried.is_some())
    }

    #[cfg(test)]
    pub(super) fn is_resyncing(&self) -> bool {
        self.resync.is_some()
    }

    /// How many objects the resync that is going on leaves out.
    #[cfg(test)]
    pub(super) fn left_out(&self) -> usize {
        self.resync.as_ref().map_or(0, |resync| resync.changed.0.len())
    }
}

impl<K: Kind> Backlog for Queue<K> {
    /// An event, and since when its change has waited, if that is measured for this change.
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
        let place = self.0.entry(entry.hash(), is_of(entry), |(hash, _)| *hash);
        if let hash_table::Entry::Vacant(place) = place {
            place.insert((entry.hash(), entry.key().clone()));
        }
    }

    fn contains<K>(&self, entry: &Entry<K>) -> bool {
        self.0.find(entry.hash(), is_of(entry)).is_some()
    }
}

fn is_of<K>(entry: &Entry<K>) -> impl Fn(&(u64, Key)) -> bool {
    |(hash, key)| *hash == entry.hash() && key == entry.key()
}

impl<K> Resync<K> {
    /// Objects that came later are not in the snapshot, and noting them would have no bound.
    fn leave_out(&mut self, entry: &Entry<K>) {
        if self.snapshot.get_entry(entry.key()).is_some() {
            self.changed.insert(entry);
        }
    }
}

/// A change that was not folded, as an event.
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
