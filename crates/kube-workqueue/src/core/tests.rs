//! Compares the state machine with a simple model.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{Hash, Hasher};

use super::ready::OLDEST_EVERY;
use super::{AddResult, Core, SlotId, make_room};

/// The expected behaviour, written as simply as possible, for few items.
#[derive(Default)]
struct Model {
    queued: BTreeMap<u8, Entry>,
    running: BTreeMap<u8, Running>,
    /// Due time, order of arrival, priority.
    delayed: BTreeMap<u8, (u64, u64, i32)>,
    order: u64,
    pops: u32,
    adds: u64,
    closed: bool,
}

#[derive(Clone, Copy)]
struct Entry {
    priority: i32,
    order: u64,
    since: u64,
}

#[derive(Clone, Copy)]
struct Running {
    priority: i32,
    since: u64,
    /// The item was added while it was running.
    dirty: bool,
}

impl Model {
    fn add(&mut self, item: u8, since: u64, priority: i32) -> AddResult {
        if self.closed {
            return AddResult::ShutDown;
        }
        if let Some(running) = self.running.get_mut(&item) {
            if !running.dirty {
                self.adds += 1;
                *running = Running {
                    priority,
                    since,
                    dirty: true,
                };
            }
            running.priority = running.priority.max(priority);
            return AddResult::Duplicate;
        }
        let order = self.order;
        if let Some(place) = self.queued.get_mut(&item) {
            if priority > place.priority {
                (place.priority, place.order) = (priority, order);
                self.order += 1;
            }
            return AddResult::Duplicate;
        }
        self.queued.insert(
            item,
            Entry {
                priority,
                order,
                since,
            },
        );
        self.order += 1;
        self.adds += 1;
        AddResult::Queued
    }

    fn add_at(&mut self, item: u8, at: u64, priority: i32, order: u64) -> AddResult {
        if self.closed {
            return AddResult::ShutDown;
        }
        self.delay(item, at, priority, order)
    }

    fn delay(&mut self, item: u8, at: u64, priority: i32, order: u64) -> AddResult {
        let earliest = self.delayed.values().all(|place| at < place.0);
        let place = self.delayed.entry(item).or_insert((at, order, priority));
        place.0 = place.0.min(at);
        place.2 = place.2.max(priority);
        AddResult::Delayed { earliest }
    }

    fn requeue_at(&mut self, item: u8, at: u64, now: u64, priority: i32, order: u64) -> AddResult {
        if at <= now && !self.closed {
            self.add(item, now, priority)
        } else {
            self.delay(item, at, priority, order)
        }
    }

    /// Queues the delayed items that are due. Returns how many are queued by this.
    fn enqueue_due(&mut self, now: u64) -> usize {
        let mut queued = 0;
        while !self.closed {
            let due = self.delayed.iter().filter(|(_, place)| place.0 <= now);
            let Some((&item, &(at, _, priority))) = due.min_by_key(|(_, place)| (place.0, place.1)) else {
                break;
            };
            self.delayed.remove(&item);
            queued += usize::from(self.add(item, at, priority) == AddResult::Queued);
        }
        queued
    }

    /// Returns the next item, and how many others became due.
    fn pop(&mut self, now: u64) -> Option<(u8, usize)> {
        let due = self.enqueue_due(now);
        let levels: BTreeSet<i32> = self.queued.values().map(|place| place.priority).collect();
        let mut by_age = false;
        if levels.len() > 1 {
            self.pops = (self.pops + 1) % OLDEST_EVERY;
            by_age = self.pops == 0;
        }
        let first = self.queued.iter().min_by_key(|(_, place)| {
            let level = if by_age { 0 } else { -i64::from(place.priority) };
            (level, place.order)
        });
        let item = *first?.0;
        let Entry { priority, since, .. } = self.queued.remove(&item)?;
        self.running.insert(
            item,
            Running {
                priority,
                since,
                dirty: false,
            },
        );
        Some((item, due.min(self.queued.len())))
    }

    fn finish(&mut self, item: u8) {
        if let Some(Running {
            priority,
            since,
            dirty: true,
        }) = self.running.remove(&item)
        {
            let order = self.order;
            self.queued.insert(
                item,
                Entry {
                    priority,
                    order,
                    since,
                },
            );
            self.order += 1;
        }
    }

    /// Returns the earliest time at which the first item of any priority was queued.
    fn oldest(&self) -> Option<u64> {
        let mut heads: BTreeMap<i32, Entry> = BTreeMap::new();
        for place in self.queued.values() {
            let head = heads.entry(place.priority).or_insert(*place);
            if place.order < head.order {
                *head = *place;
            }
        }
        heads.values().map(|head| head.since).min()
    }
}

/// Performs random operations on the queue and the model.
struct Comparison {
    core: Core<u8>,
    model: Model,
    taken: Vec<(SlotId, u8)>,
    now: u64,
    random: fastrand::Rng,
    tracks_times: bool,
}

impl Comparison {
    fn new(seed: u64) -> Comparison {
        let tracks_times = seed.is_multiple_of(2);
        Comparison {
            core: Core::new(tracks_times),
            model: Model::default(),
            taken: Vec::new(),
            now: 0,
            random: fastrand::Rng::with_seed(seed),
            tracks_times,
        }
    }

    fn play(&mut self, step: u64) {
        let item = self.random.u8(..12);
        let priority = self.random.i32(-1..=2);
        match self.random.u8(..22) {
            0..=6 => {
                let added = self.core.add(item, self.now, priority);
                assert_eq!(added, self.model.add(item, self.now, priority));
            }
            7..=9 => {
                let at = self.now + self.random.u64(..50);
                let added = self.core.add_at(item, at, priority);
                assert_eq!(added, self.model.add_at(item, at, priority, step));
            }
            10..=13 => {
                // Lets some delayed items become due.
                self.now += self.random.u64(..5);
                let turn = self.core.pop(self.now);
                let got = turn.map(|turn| (self.core.item(turn.slot), turn.also_due as usize));
                assert_eq!(got, self.model.pop(self.now));
                self.taken
                    .extend(turn.map(|turn| (turn.slot, self.core.item(turn.slot))));
            }
            14..=17 if !self.taken.is_empty() => self.finish(),
            18..=19 if !self.taken.is_empty() => {
                let (slot, item) = self.taken[self.random.usize(..self.taken.len())];
                let at = self.now + self.random.u64(..50).saturating_sub(25);
                let added = self.core.requeue_at(slot, at, self.now, priority);
                assert_eq!(added, self.model.requeue_at(item, at, self.now, priority, step));
            }
            20 if step > 900 => {
                self.core.close();
                self.model.closed = true;
            }
            21 => assert_eq!(self.core.take_adds(), std::mem::take(&mut self.model.adds)),
            _ => self.now += self.random.u64(..20),
        }
    }

    fn finish(&mut self) {
        let (slot, item) = self.taken.swap_remove(self.random.usize(..self.taken.len()));
        let dirty = self.model.running[&item].dirty;
        let removed = !dirty && !self.model.delayed.contains_key(&item);
        let finished = self.core.finish(slot);
        self.model.finish(item);
        assert_eq!(finished.requeued, dirty);
        assert_eq!(finished.removed, removed.then_some(item));
        assert_eq!(finished.idle, self.model.closed && self.core.is_idle());
    }

    fn compare(&mut self) {
        let (core, model) = (&mut self.core, &mut self.model);
        assert_eq!(core.queued(), model.queued.len());
        let due = model.enqueue_due(self.now);
        assert_eq!(core.queued_at(self.now), (model.queued.len(), due));
        assert_eq!(
            (core.running(), core.delayed(), core.is_closed()),
            (model.running.len(), model.delayed.len(), model.closed)
        );
        assert_eq!(
            core.dirty(),
            model.running.values().filter(|running| running.dirty).count()
        );
        let due = model.delayed.values().map(|place| place.0).min();
        assert_eq!(core.next_due(), due.filter(|_| !model.closed));
        assert_eq!(
            core.is_idle(),
            model.queued.is_empty() && model.running.is_empty()
        );
        let measured = |since: u64| if self.tracks_times { since } else { 0 };
        assert_eq!(core.oldest(), model.oldest().map(measured));
        for (slot, item) in &self.taken {
            let running = model.running[item];
            assert_eq!(core.priority(*slot), running.priority);
            assert_eq!(core.queued_since(*slot), measured(running.since));
        }
        let [queued, running, delayed] = core
            .remaining()
            .map(|items| items.into_iter().collect::<BTreeSet<u8>>());
        assert!(queued.iter().eq(model.queued.keys()) && running.iter().eq(model.running.keys()));
        let only_delayed = model
            .delayed
            .keys()
            .filter(|item| !queued.contains(item) && !running.contains(item));
        assert!(delayed.iter().eq(only_delayed));
    }
}

fn play(seed: u64) {
    let mut game = Comparison::new(seed);
    let mut adds = 0;
    for step in 0..1_000 {
        let before = game.model.adds;
        game.play(step);
        game.compare();
        adds += game.model.adds.saturating_sub(before);
        assert_eq!(game.core.total_adds(), adds, "seed {seed}, step {step}");
    }
}

#[test]
fn behaves_like_the_model() {
    for seed in 0..300 {
        play(seed);
    }
}

#[test]
fn low_priority_does_not_starve() {
    let mut core = Core::new(false);
    for item in 0..100_u32 {
        core.add(item, 0, -100);
    }
    let mut low = 0;
    for urgent in 1_000..1_000 + 100 * OLDEST_EVERY {
        core.add(urgent, 0, 0);
        let taken = core.pop(0).expect("an item");
        low += u32::from(core.item(taken.slot) < 100);
        core.finish(taken.slot);
    }
    assert_eq!(
        low, 100,
        "all items with low priority, while others are added all the time"
    );
}

/// Adds items, each queued and delayed, and processes all of them.
fn filled_and_emptied(items: u32) -> Core<u32> {
    let mut core = Core::new(false);
    for item in 0..items {
        core.add(item, 0, 0);
        core.add_at(item, 1, 0);
    }
    let mut taken = 0;
    while let Some(item) = core.pop(1) {
        core.finish(item.slot);
        taken += 1;
    }
    assert_eq!((taken, core.delayed()), (items, 0));
    core
}

#[test]
fn an_empty_queue_releases_memory() {
    for items in [1_025, 100_000] {
        let core = filled_and_emptied(items);
        assert_eq!((core.slots.capacity(), core.delays.capacity()), (0, 0));
    }
}

#[test]
fn an_empty_queue_keeps_memory_for_a_thousand_items() {
    let core = filled_and_emptied(1_024);
    assert_eq!((core.slots.capacity(), core.delays.capacity()), (1_024, 1_024));
}

#[test]
fn due_items_are_ordered_by_time_and_then_by_arrival() {
    for seed in 0..20 {
        let mut random = fastrand::Rng::with_seed(seed);
        let mut core = Core::new(false);
        let mut times = Vec::new();
        for item in 0..300_usize {
            times.push(random.u64(50..100));
            core.add_at(item, times[item], 0);
        }
        for _ in 0..100 {
            let (item, at) = (random.usize(..300), random.u64(..100));
            times[item] = times[item].min(at);
            core.add_at(item, at, 0);
        }
        let mut expected: Vec<usize> = (0..300).collect();
        expected.sort_by_key(|item| times[*item]);
        let mut taken = Vec::new();
        for now in 0..=100 {
            while let Some(turn) = core.pop(now) {
                taken.push(core.item(turn.slot));
                core.finish(turn.slot);
            }
        }
        assert_eq!(taken, expected, "seed {seed}");
    }
}

#[test]
fn items_with_equal_hashes_are_distinct() {
    #[derive(Debug, Clone, PartialEq, Eq)]
    struct Colliding(u8);
    impl Hash for Colliding {
        fn hash<H: Hasher>(&self, _: &mut H) {}
    }
    let mut core = Core::new(false);
    for item in [1, 2, 1, 3] {
        core.add(Colliding(item), 0, 0);
    }
    let taken = std::iter::from_fn(|| core.pop(0).map(|turn| core.item(turn.slot)));
    assert_eq!(taken.collect::<Vec<_>>(), [1, 2, 3].map(Colliding));
}

#[test]
fn a_long_list_grows_by_a_quarter() {
    let mut list: Vec<u32> = Vec::with_capacity(1_024);
    list.resize(1_023, 0);
    make_room(&mut list);
    assert_eq!(list.capacity(), 1_024, "there is room");
    list.push(0);
    make_room(&mut list);
    assert_eq!(list.capacity(), 1_280);
    let mut short = vec![0_u32; 16];
    make_room(&mut short);
    assert_eq!(short.capacity(), 16, "a short list grows as usual");
}

/// Each operation on a queue with many priorities costs about as much as with few. If it visited every priority, this would
/// take minutes: 600,000 operations on 100,000 priorities.
#[test]
fn the_cost_of_an_operation_does_not_grow_with_the_number_of_priorities() {
    const PRIORITIES: i32 = 100_000;
    let began = tokio::time::Instant::now();
    let mut core = Core::new(true);
    for priority in 0..PRIORITIES {
        core.add(priority, 0, priority);
    }
    for round in 0..PRIORITIES {
        // An item of a new priority, an item that moves to another priority, and one that is requeued.
        core.add(PRIORITIES + round, 0, -round);
        core.add(round, 0, PRIORITIES + round);
        let next = core.pop(0).expect("an item");
        core.requeue_at(next.slot, 0, 0, -round);
        core.finish(next.slot);
    }
    assert_eq!(core.queued(), 200_000);
    assert!(
        began.elapsed() < std::time::Duration::from_secs(30),
        "{:?}",
        began.elapsed()
    );
}
