//! Leaves, which contain slots and a copy of their names.
//!
//! A search by name reads the contiguous copy instead of the memory of each slot. Replacing a slot keeps its
//! name, so versions of a leaf share the copy until a slot is added or removed.

use std::sync::Arc;

use super::run::SortedRun;

/// An item of the tree.
pub(crate) trait Slot: Clone {
    /// Whether slots have names to search by.
    const NAMED: bool;

    /// Returns the name. A replacement of a slot has the same name.
    fn name(&self) -> &str;

    /// Prefetches the memory that a clone needs. See [`touch`].
    fn touch(&self);
}

/// Prefetches the memory that a clone needs.
///
/// The CPU waits for each change of a reference count before it starts the next one, but plain loads
/// overlap. Loading first turns many waits into one.
pub(crate) fn touch<T>(shared: &Arc<T>) {
    std::hint::black_box(Arc::strong_count(shared));
}

#[derive(Clone)]
pub(super) struct Leaf<S, const W: usize> {
    slots: SortedRun<S, W>,
    names: NameTable<W>,
}

impl<S, const W: usize> Leaf<S, W> {
    pub(super) fn new() -> Self {
        Self {
            slots: SortedRun::new(),
            names: NameTable::none(),
        }
    }

    pub(super) fn slots(&self) -> &SortedRun<S, W> {
        &self.slots
    }

    /// Returns the copy of the name of the slot at `at`.
    pub(super) fn name(&self, at: usize) -> Option<&[u8]> {
        self.names.get(at)
    }

    pub(super) fn into_slots(self) -> SortedRun<S, W> {
        self.slots
    }

    /// Returns the slot with that hash that matches, and its position. The predicate gets the name, too, if
    /// there is a copy.
    pub(super) fn find(
        &self,
        hash: u64,
        matches: &mut impl FnMut(&S, Option<&[u8]>) -> bool,
    ) -> Option<(usize, &S)> {
        for at in (0..self.slots.up_to(hash)).rev() {
            if self.slots.hashes()[at] != hash {
                break;
            }
            let slot = self.slots.item(at);
            if matches(slot, self.name(at)) {
                return Some((at, slot));
            }
        }
        None
    }
}

impl<S: Slot, const W: usize> Leaf<S, W> {
    pub(super) fn of(slots: SortedRun<S, W>) -> Self {
        let mut leaf = Self {
            slots,
            names: NameTable::none(),
        };
        if S::NAMED {
            leaf.names = NameTable::of(&leaf.all_names());
        }
        leaf
    }

    /// Returns the slot at `at`, to be replaced by one with the same name.
    pub(super) fn slot_mut(&mut self, at: usize) -> &mut S {
        self.slots.item_mut(at)
    }

    pub(super) fn insert(&mut self, at: usize, hash: u64, slot: S) {
        if S::NAMED {
            let mut names = self.all_names();
            names.insert(at, slot.name().as_bytes());
            self.names = NameTable::of(&names);
        }
        self.slots.insert(at, hash, slot);
    }

    pub(super) fn remove(&mut self, at: usize) -> S {
        if S::NAMED {
            let mut names = self.all_names();
            names.remove(at);
            self.names = NameTable::of(&names);
        }
        self.slots.remove(at)
    }

    pub(super) fn rebalance(&mut self, right: &mut Self) {
        if S::NAMED {
            let mut names = self.all_names();
            names.extend(right.all_names());
            let (left_names, right_names) = names.split_at(SortedRun::even(&self.slots, &right.slots));
            (self.names, right.names) = (NameTable::of(left_names), NameTable::of(right_names));
        }
        self.slots.rebalance(&mut right.slots);
    }

    pub(super) fn append(&mut self, right: Self) {
        if S::NAMED {
            let mut names = self.all_names();
            names.extend(right.all_names());
            self.names = NameTable::of(&names);
        }
        self.slots.append(right.slots);
    }

    fn all_names(&self) -> Vec<&[u8]> {
        let slots = self.slots.items().iter().flatten();
        match &self.names.text {
            Some(_) => (0..self.slots.len()).filter_map(|at| self.name(at)).collect(),
            None => slots.map(|slot| slot.name().as_bytes()).collect(),
        }
    }
}

/// Concatenated names.
#[derive(Clone)]
struct NameTable<const W: usize> {
    /// The end of each name.
    ends: [u16; W],
    /// `None` if there are no names, or if they are too long to copy, which no server allows.
    text: Option<Arc<[u8]>>,
}

impl<const W: usize> NameTable<W> {
    fn none() -> Self {
        NameTable {
            ends: [0; W],
            text: None,
        }
    }

    fn of(names: &[&[u8]]) -> Self {
        let mut all = NameTable::none();
        let mut end = 0_u16;
        for (at, name) in names.iter().enumerate() {
            let Some(next) = u16::try_from(name.len())
                .ok()
                .and_then(|len| end.checked_add(len))
            else {
                return NameTable::none();
            };
            end = next;
            all.ends[at] = end;
        }
        if end > 0 {
            all.text = Some(names.concat().into());
        }
        all
    }

    fn get(&self, at: usize) -> Option<&[u8]> {
        let text = self.text.as_ref()?;
        let start = at.checked_sub(1).map_or(0, |before| self.ends[before]);
        text.get(usize::from(start)..usize::from(self.ends[at]))
    }
}
