//! Which packed objects are decoded at the moment.

use std::collections::VecDeque;
use std::sync::{Arc, Weak};

use foldhash::fast::FixedState;
use hashbrown::HashMap;

/// How many of the objects that were decoded last are held, until nothing has happened for a while. Several handlers that
/// see the same changes, and a reconcile function that reads the same object several times, decode it once.
const RECENT: usize = 128;

/// Dead entries that do not matter yet.
const SWEEP_FROM: usize = 64;

/// The objects that someone holds, and those that were decoded last.
pub(super) struct Decoded<K> {
    /// By the address of the packed form, which takes its entry away when it goes.
    held: HashMap<usize, Weak<K>, FixedState>,
    recent: VecDeque<Arc<K>>,
    /// A weak pointer keeps the memory of the object itself, so there must not be many dead ones.
    sweep_at: usize,
}

impl<K> Decoded<K> {
    pub(super) fn new() -> Decoded<K> {
        Decoded {
            held: HashMap::default(),
            recent: VecDeque::new(),
            sweep_at: SWEEP_FROM,
        }
    }

    pub(super) fn find(&self, address: usize) -> Option<Arc<K>> {
        self.held.get(&address).and_then(Weak::upgrade)
    }

    /// Notes a decoded object, and gives back what is not held any more: to be dropped where nobody waits.
    pub(super) fn add(&mut self, address: usize, object: &Arc<K>) -> Option<Arc<K>> {
        self.held.insert(address, Arc::downgrade(object));
        if self.held.len() >= self.sweep_at {
            self.held.retain(|_, object| object.strong_count() > 0);
            self.sweep_at = (2 * self.held.len()).max(SWEEP_FROM);
        }
        self.recent.push_back(Arc::clone(object));
        if self.recent.len() > RECENT {
            self.recent.pop_front()
        } else {
            None
        }
    }

    /// Lets go of the objects that were decoded last. They are given back to be dropped where nobody waits.
    pub(super) fn forget_recent(&mut self) -> VecDeque<Arc<K>> {
        std::mem::take(&mut self.recent)
    }

    pub(super) fn remove(&mut self, address: usize) {
        self.held.remove(&address);
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.held.len()
    }
}
