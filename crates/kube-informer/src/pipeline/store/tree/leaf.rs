//! Leaves: slots, and a copy of their names beside them.
//!
//! A search by name compares with the copy, which lies in one piece: it need not wait for a slot's own memory to learn
//! where the name is. Names stay when a slot is replaced, so the versions of a leaf share the copy until a slot is added
//! or taken out.

use std::sync::Arc;

use super::run::SortedRun;

/// What the tree holds.
pub(crate) trait Slot: Clone {
    /// Whether slots have names to search by.
    const NAMED: bool;

    /// The name. Slots that are put in the place of others have the same.
    fn name(&self) -> &str;

    /// Asks for the memory that a clone needs. See [`touch`].
    fn touch(&self);
}

/// Asks for the memory that a clone needs.
///
/// A reference count is changed one at a time: the processor waits for each before it begins with the next. Plain loads
/// overlap, and to touch what will be needed first turns many waits into one.
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

    /// The copy of the name of the slot at `at`.
    pub(super) fn name(&self, at: usize) -> Option<&[u8]> {
        self.names.get(at)
    }

    pub(super) fn into_slots(self) -> SortedRun<S, W> {
        self.slots
    }

    /// The slot of that hash for which `is` holds, and its place. `is` is given the name as well where there is a copy.
    pub(super) fn find(
        &self,
        hash: u64,
        is: &mut impl FnMut(&S, Option<&[u8]>) -> bool,
    ) -> Option<(usize, &S)> {
        for at in (0..self.slots.up_to(hash)).rev() {
            if self.slots.hashes()[at] != hash {
                break;
            }
            let slot = self.slots.item(at);
            if is(slot, self.name(at)) {
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

    /// Replaces the slot at `at` by one of the same name.
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

    pub(super) fn even_out(&mut self, right: &mut Self) {
        if S::NAMED {
            let mut names = self.all_names();
            names.extend(right.all_names());
            let (here, there) = names.split_at(SortedRun::even(&self.slots, &right.slots));
            (self.names, right.names) = (NameTable::of(here), NameTable::of(there));
        }
        self.slots.even_out(&mut right.slots);
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
    /// Where each of them ends.
    ends: [u16; W],
    /// None if they are too long to be copied, which no server allows, or there are none.
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
