//! Caches decoded forms of packed objects.

use std::collections::VecDeque;
use std::num::NonZeroU32;
use std::sync::{Arc, Weak};

use foldhash::fast::FixedState;
use hashbrown::HashMap;

/// Minimum number of recently decoded objects to keep: a reconcile function that reads the same objects several times
/// decodes them once. It is small, so that the next object is decoded into memory that is still in the processor's
/// cache.
pub(super) const MIN_RECENT: u32 = 2;

/// Maximum number of recently decoded objects to keep. If several handlers process the same changes at different
/// speeds, this lets them decode each object once.
pub(super) const MAX_RECENT: u32 = 128;

/// The number of kept objects is reduced to the minimum after this many decoded objects without a late access.
const MIN_RECENT_AFTER: u32 = 8 * MAX_RECENT;

/// Minimum number of entries before dead ones are removed.
const MIN_SWEPT: usize = 64;

/// Decoded objects that are in use, and those decoded most recently.
pub(super) struct DecodeCache<K> {
    /// By the address of the packed object, which removes its entry when it is dropped.
    held: HashMap<usize, Weak<K>, FixedState>,
    /// A weak reference keeps the object's memory allocated, so dead entries are removed at this length.
    sweep_at: usize,
    recent: VecDeque<(usize, Arc<K>)>,
    /// Maximum length of `recent`.
    capacity: u32,
    /// The number of the next decoded object.
    next: NonZeroU32,
    /// The value of `next` at the last access that needed more than the minimum.
    last_late_access: NonZeroU32,
}

/// The sequence number of a decoded object. It wraps around.
pub(super) type DecodeNumber = NonZeroU32;

/// Objects that are no longer kept. The caller drops them without a lock. Adding one object releases at most two.
pub(super) type ReleasedObjects<K> = [Option<Arc<K>>; 2];

impl<K> DecodeCache<K> {
    pub(super) fn new() -> DecodeCache<K> {
        DecodeCache {
            held: HashMap::default(),
            sweep_at: MIN_SWEPT,
            recent: VecDeque::new(),
            capacity: MIN_RECENT,
            next: NonZeroU32::MIN,
            last_late_access: NonZeroU32::MIN,
        }
    }

    /// Returns the decoded form of a packed object, if it is in use. `number` is its number from [`DecodeCache::add`].
    pub(super) fn find(&mut self, address: usize, number: DecodeNumber) -> Option<Arc<K>> {
        let age = self.age(number);
        if (MIN_RECENT + 1..=MAX_RECENT).contains(&age) {
            self.capacity = self.capacity.max(age);
            self.last_late_access = self.next;
        }
        self.held.get(&address).and_then(Weak::upgrade)
    }

    /// Adds a decoded object.
    pub(super) fn add(&mut self, address: usize, object: &Arc<K>) -> (DecodeNumber, ReleasedObjects<K>) {
        let number = self.next;
        self.next = number.checked_add(1).unwrap_or(NonZeroU32::MIN);
        if self.age(self.last_late_access) > MIN_RECENT_AFTER {
            self.capacity = MIN_RECENT;
        }
        self.held.insert(address, Arc::downgrade(object));
        if self.held.len() >= self.sweep_at {
            self.held.retain(|_, object| object.strong_count() > 0);
            self.sweep_at = (2 * self.held.len()).max(MIN_SWEPT);
        }
        self.recent.push_back((address, Arc::clone(object)));
        (number, [self.evict(), self.evict()])
    }

    /// Removes the recently decoded objects. The caller drops them without a lock.
    pub(super) fn clear_recent(&mut self) -> VecDeque<(usize, Arc<K>)> {
        self.capacity = MIN_RECENT;
        std::mem::take(&mut self.recent)
    }

    pub(super) fn remove(&mut self, address: usize) {
        self.held.remove(&address);
    }

    /// Returns how many objects ago this number was added; 1 for the last one.
    fn age(&self, number: DecodeNumber) -> u32 {
        self.next.get().wrapping_sub(number.get())
    }

    /// Removes the oldest of the recently decoded objects, if there are too many.
    fn evict(&mut self) -> Option<Arc<K>> {
        if self.recent.len() <= self.capacity as usize {
            return None;
        }
        let (address, object) = self.recent.pop_front()?;
        let is_this_object = |entry: &Weak<K>| std::ptr::eq(entry.as_ptr(), Arc::as_ptr(&object));
        // The weak reference is the only way to get another reference.
        if Arc::strong_count(&object) == 1 && self.held.get(&address).is_some_and(is_this_object) {
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
    fn add(
        decoded: &mut DecodeCache<usize>,
        value: usize,
    ) -> (Arc<usize>, DecodeNumber, ReleasedObjects<usize>) {
        let object = Arc::new(value);
        let (number, evicted) = decoded.add(value, &object);
        (object, number, evicted)
    }

    #[test]
    fn few_objects_are_kept_and_the_oldest_is_evicted_first() {
        let mut decoded = DecodeCache::new();
        for value in 0..10 {
            let (_, _, evicted) = add(&mut decoded, value);
            let expected = value.checked_sub(MIN_RECENT as usize);
            assert_eq!(
                evicted.map(|object| object.map(|object| *object)),
                [expected, None]
            );
        }
        assert_eq!((decoded.recent(), decoded.len()), (2, 2));
    }

    #[test]
    fn an_object_is_found_while_it_is_held() {
        let mut decoded = DecodeCache::new();
        let (held, first, _) = add(&mut decoded, 100);
        for value in 0..5 {
            add(&mut decoded, value);
        }
        assert!(Arc::ptr_eq(&decoded.find(100, first).unwrap(), &held));
        decoded.remove(100);
        assert_eq!(decoded.find(100, first), None);
        assert_eq!(decoded.find(0, first), None, "it was evicted");
    }

    #[test]
    fn letting_go_keeps_the_note_of_another_object_with_the_same_address() {
        let mut decoded = DecodeCache::new();
        decoded.add(7, &Arc::new(1));
        let (number, _) = decoded.add(7, &Arc::new(2));
        decoded.add(8, &Arc::new(3));
        assert_eq!(decoded.find(7, number).as_deref(), Some(&2));
    }

    #[test]
    fn an_object_that_is_wanted_late_makes_room_for_a_while() {
        let mut decoded = DecodeCache::new();
        let (_, first, _) = add(&mut decoded, 0);
        add(&mut decoded, 1);
        decoded.find(0, first);
        add(&mut decoded, 2);
        assert_eq!(decoded.recent(), 2, "an access after two objects is not late");
        decoded.find(0, first);
        for value in 3..=1_026 {
            let (_, number, _) = add(&mut decoded, value);
            // Neither access is late, so the larger capacity is not extended.
            decoded.find(value, number);
            decoded.find(value - 1, NonZeroU32::new(number.get() - 1).unwrap());
            assert_eq!(decoded.recent(), 3, "{value}");
        }
        add(&mut decoded, 1_027);
        assert_eq!(decoded.recent(), 2, "1,024 objects later");
    }

    #[test]
    fn an_object_that_is_wanted_too_late_makes_no_room() {
        for (ago, room) in [(MAX_RECENT, MAX_RECENT), (MAX_RECENT + 1, MIN_RECENT)] {
            let mut decoded = DecodeCache::new();
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
        let mut decoded = DecodeCache::new();
        let (_, first, _) = add(&mut decoded, 0);
        for value in 1..10 {
            add(&mut decoded, value);
        }
        decoded.find(0, first);
        for value in 10..20 {
            add(&mut decoded, value);
        }
        let forgotten: Vec<usize> = decoded.clear_recent().into_iter().map(|(at, _)| at).collect();
        assert_eq!(forgotten, (10..20).collect::<Vec<_>>());
        for value in 20..30 {
            add(&mut decoded, value);
        }
        assert_eq!(decoded.recent(), 2);
    }

    #[test]
    fn dead_notes_are_swept_when_they_are_as_many_as_the_living() {
        let mut decoded = DecodeCache::new();
        let mut held: Vec<_> = (0..64).map(|value| add(&mut decoded, value).0).collect();
        // Drop all but the two that are kept anyway.
        held.drain(..62);
        held.extend((64..127).map(|value| add(&mut decoded, value).0));
        assert_eq!(decoded.len(), 127);
        held.push(add(&mut decoded, 127).0);
        assert_eq!(decoded.len(), held.len());
    }
}
