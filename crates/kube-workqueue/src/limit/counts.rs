//! Number of failures of each item.

use std::fmt;
use std::hash::{BuildHasher, Hash};

use foldhash::fast::RandomState;
use hashbrown::HashTable;

use crate::hash::{half, spread};

/// Failures by item. Half of each hash is stored, so a growing table does not hash its items again.
#[derive(Clone)]
pub(super) struct FailureCounts<T> {
    by_item: HashTable<Count<T>>,
    hasher: RandomState,
}

#[derive(Clone)]
struct Count<T> {
    item: T,
    hash: u32,
    failures: u32,
}

impl<T: Clone + Eq + Hash> FailureCounts<T> {
    /// Counts a failure, and returns the number of failures.
    pub(super) fn add(&mut self, item: &T) -> u32 {
        let hash = self.hash(item);
        if let Some(count) = self
            .by_item
            .find_mut(spread(hash), |count| count.is_of(item, hash))
        {
            count.failures = count.failures.saturating_add(1);
            return count.failures;
        }
        let count = Count {
            item: item.clone(),
            hash,
            failures: 1,
        };
        self.by_item
            .insert_unique(spread(hash), count, |count| spread(count.hash));
        1
    }

    pub(super) fn get(&self, item: &T) -> u32 {
        let hash = self.hash(item);
        let count = self.by_item.find(spread(hash), |count| count.is_of(item, hash));
        count.map_or(0, |count| count.failures)
    }

    pub(super) fn forget(&mut self, item: &T) {
        if self.by_item.is_empty() {
            return;
        }
        let hash = self.hash(item);
        if let Ok(found) = self
            .by_item
            .find_entry(spread(hash), |count| count.is_of(item, hash))
        {
            found.remove();
        }
    }

    fn hash(&self, item: &T) -> u32 {
        half(self.hasher.hash_one(item))
    }
}

impl<T: Eq> Count<T> {
    fn is_of(&self, item: &T, hash: u32) -> bool {
        self.hash == hash && self.item == *item
    }
}

impl<T> Default for FailureCounts<T> {
    fn default() -> Self {
        FailureCounts {
            by_item: HashTable::new(),
            hasher: RandomState::default(),
        }
    }
}

impl<T: fmt::Debug> fmt::Debug for FailureCounts<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counts = self.by_item.iter().map(|count| (&count.item, count.failures));
        f.debug_map().entries(counts).finish()
    }
}
