//! Which packed objects are decoded at the moment.

use std::collections::VecDeque;
use std::num::NonZeroU32;
use std::sync::{Arc, Weak};

use foldhash::fast::FixedState;
use hashbrown::HashMap;

/// How many of the objects that were decoded last are held at least, until nothing has happened for a while: a reconcile
/// function that reads the same objects several times decodes them once. They are few, so that the next object is made in
/// memory that is still in the processor's cache.
pub(super) const MIN_HELD: u32 = 2;

/// How many are held at most, as long as that is of use: several handlers that hear the same changes one after the other
/// decode an object once.
pub(super) const MAX_HELD: u32 = 128;

/// After so many decoded objects none of which was asked for late, few are held again.
const MIN_HELD_AFTER: u32 = 8 * MAX_HELD;

/// Dead entries that do not matter yet.
const MIN_SWEPT: usize = 64;

/// The objects that someone holds, and those that were decoded last.
pub(super) struct Decoded<K> {
    /// By the address of the packed form, which takes its entry away when it goes.
    held: HashMap<usize, Weak<K>, FixedState>,
    /// A weak pointer keeps the memory of the object itself, so there must not be many dead ones.
    sweep_at: usize,
    recent: VecDeque<(usize, Arc<K>)>,
    /// How many of these there may be.
    room: u32,
    /// The number of the next object to be decoded.
    next: NonZeroU32,
    /// What that was when more than few were of use.
    late: NonZeroU32,
}

/// Which of all objects that were decoded one was: the first, the second. It begins again after all numbers are used.
pub(super) type DecodeNumber = NonZeroU32;

/// Objects that are not held any more, to be dropped where nobody waits. They are two at most for each that comes.
pub(super) type ReleasedObjects<K> = [Option<Arc<K>>; 2];

impl<K> Decoded<K> {
    pub(super) fn new() -> Decoded<K> {
        Decoded {
            held: HashMap::default(),
            sweep_at: MIN_SWEPT,
            recent: VecDeque::new(),
            room: MIN_HELD,
            next: NonZeroU32::MIN,
            late: NonZeroU32::MIN,
        }
    }

    /// The object of a packed form, if anyone holds it. The number is what it got when it was decoded.
    pub(super) fn find(&mut self, address: usize, number: DecodeNumber) -> Option<Arc<K>> {
        let ago = self.ago(number);
        if (MIN_HELD + 1..=MAX_HELD).contains(&ago) {
            self.room = self.room.max(ago);
            self.late = self.next;
        }
        self.held.get(&address).and_then(Weak::upgrade)
    }

    /// Notes a decoded object.
    pub(super) fn add(&mut self, address: usize, object: &Arc<K>) -> (DecodeNumber, ReleasedObjects<K>) {
        let number = self.next;
        self.next = number.checked_add(1).unwrap_or(NonZeroU32::MIN);
        if self.ago(self.late) > MIN_HELD_AFTER {
            self.room = MIN_HELD;
        }
        self.held.insert(address, Arc::downgrade(object));
        if self.held.len() >= self.sweep_at {
            self.held.retain(|_, object| object.strong_count() > 0);
            self.sweep_at = (2 * self.held.len()).max(MIN_SWEPT);
        }
        self.recent.push_back((address, Arc::clone(object)));
        (number, [self.let_go(), self.let_go()])
    }

    /// Lets go of the objects that were decoded last. They are given back to be dropped where nobody waits.
    pub(super) fn forget_recent(&mut self) -> VecDeque<(usize, Arc<K>)> {
        self.room = MIN_HELD;
        std::mem::take(&mut self.recent)
    }

    pub(super) fn remove(&mut self, address: usize) {
        self.held.remove(&address);
    }

    /// How many objects ago it was, where the one that was decoded last is one ago.
    fn ago(&self, number: DecodeNumber) -> u32 {
        self.next.get().wrapping_sub(number.get())
    }

    /// The oldest of those that were decoded last, if there are too many.
    fn let_go(&mut self) -> Option<Arc<K>> {
        if self.recent.len() <= self.room as usize {
            return None;
        }
        let (address, object) = self.recent.pop_front()?;
        let is_its = |note: &Weak<K>| std::ptr::eq(note.as_ptr(), Arc::as_ptr(&object));
        // Nobody can get hold of it but through the note.
        if Arc::strong_count(&object) == 1 && self.held.get(&address).is_some_and(is_its) {
            self.held.remove(&address);
        }
        Some(object)
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.held.len()
    }

    #[cfg(test)]
    pub(super) fn recent(&self) -> usize {
        self.recent.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Adds an object whose address is its value.
    fn add(decoded: &mut Decoded<usize>, value: usize) -> (Arc<usize>, DecodeNumber, ReleasedObjects<usize>) {
        let object = Arc::new(value);
        let (number, let_go) = decoded.add(value, &object);
        (object, number, let_go)
    }

    #[test]
    fn few_objects_are_kept_and_the_oldest_is_let_go_first() {
        let mut decoded = Decoded::new();
        for value in 0..10 {
            let (_, _, let_go) = add(&mut decoded, value);
            let expected = value.checked_sub(MIN_HELD as usize);
            assert_eq!(
                let_go.map(|object| object.map(|object| *object)),
                [expected, None]
            );
        }
        assert_eq!((decoded.recent(), decoded.len()), (2, 2));
    }

    #[test]
    fn an_object_is_found_while_it_is_held() {
        let mut decoded = Decoded::new();
        let (held, first, _) = add(&mut decoded, 100);
        for value in 0..5 {
            add(&mut decoded, value);
        }
        assert!(Arc::ptr_eq(&decoded.find(100, first).unwrap(), &held));
        decoded.remove(100);
        assert_eq!(decoded.find(100, first), None);
        assert_eq!(decoded.find(0, first), None, "it was let go");
    }

    #[test]
    fn letting_go_keeps_the_note_of_another_object_with_the_same_address() {
        let mut decoded = Decoded::new();
        decoded.add(7, &Arc::new(1));
        let (number, _) = decoded.add(7, &Arc::new(2));
        decoded.add(8, &Arc::new(3));
        assert_eq!(decoded.find(7, number).as_deref(), Some(&2));
    }

    #[test]
    fn an_object_that_is_wanted_late_makes_room_for_a_while() {
        let mut decoded = Decoded::new();
        let (_, first, _) = add(&mut decoded, 0);
        add(&mut decoded, 1);
        decoded.find(0, first);
        add(&mut decoded, 2);
        assert_eq!(decoded.recent(), 2, "two objects ago is not late");
        decoded.find(0, first);
        for value in 3..=1_026 {
            let (_, number, _) = add(&mut decoded, value);
            // Neither of these is late, so they do not make the while longer.
            decoded.find(value, number);
            decoded.find(value - 1, NonZeroU32::new(number.get() - 1).unwrap());
            assert_eq!(decoded.recent(), 3, "{value}");
        }
        add(&mut decoded, 1_027);
        assert_eq!(decoded.recent(), 2, "1,024 objects later");
    }

    #[test]
    fn an_object_that_is_wanted_too_late_makes_no_room() {
        for (ago, room) in [(MAX_HELD, MAX_HELD), (MAX_HELD + 1, MIN_HELD)] {
            let mut decoded = Decoded::new();
            let (_, first, _) = add(&mut decoded, 0);
            for value in 1..ago {
                add(&mut decoded, value as usize);
            }
            decoded.find(0, first);
            for value in 1_000..1_200 {
                add(&mut decoded, value);
            }
            assert_eq!(decoded.recent(), room as usize, "{ago} objects ago");
        }
    }

    #[test]
    fn recent_objects_are_forgotten_with_the_room_they_had() {
        let mut decoded = Decoded::new();
        let (_, first, _) = add(&mut decoded, 0);
        for value in 1..10 {
            add(&mut decoded, value);
        }
        decoded.find(0, first);
        for value in 10..20 {
            add(&mut decoded, value);
        }
        let forgotten: Vec<usize> = decoded.forget_recent().into_iter().map(|(at, _)| at).collect();
        assert_eq!(forgotten, (10..20).collect::<Vec<_>>());
        for value in 20..30 {
            add(&mut decoded, value);
        }
        assert_eq!(decoded.recent(), 2);
    }

    #[test]
    fn dead_notes_are_swept_when_they_are_as_many_as_the_living() {
        let mut decoded = Decoded::new();
        let mut held: Vec<_> = (0..64).map(|value| add(&mut decoded, value).0).collect();
        // All but the two that are recent anyway.
        held.drain(..62);
        held.extend((64..127).map(|value| add(&mut decoded, value).0));
        assert_eq!(decoded.len(), 127);
        held.push(add(&mut decoded, 127).0);
        assert_eq!(decoded.len(), held.len());
    }
}
