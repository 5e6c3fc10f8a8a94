//! The core against a simple model.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{Hash, Hasher};

use super::ready::SHARE;
use super::{Added, Core, SlotId, make_room};

/// The expected behaviour of a queue with few items, written as simply as possible.
#[derive(Default)]
struct Model {
    line: BTreeMap<u8, Place>,
    running: BTreeMap<u8, Running>,
    /// Due time, order of arrival, priority.
    waiting: BTreeMap<u8, (u64, u64, i32)>,
    order: u64,
    turn: u32,
    adds: u64,
    closed: bool,
}

#[derive(Clone, Copy)]
struct Place {
    priority: i32,
    order: u64,
    since: u64,
}

#[derive(Clone, Copy)]
struct Running {
    priority: i32,
    since: u64,
    /// It was added while it was running.
    again: bool,
}

impl Model {
    fn add(&mut self, item: u8, since: u64, priority: i32) -> Added {
        if self.closed {
            return Added::Refused;
        }
        if let Some(running) = self.running.get_mut(&item) {
            if !running.again {
                self.adds += 1;
                *running = Running {
                    priority,
                    since,
                    again: true,
                };
            }
            running.priority = running.priority.max(priority);
            return Added::Known;
        }
        let order = self.order;
        if let Some(place) = self.line.get_mut(&item) {
            if priority > place.priority {
                (place.priority, place.order) = (priority, order);
                self.order += 1;
            }
            return Added::Known;
        }
        self.line.insert(
            item,
            Place {
                priority,
                order,
                since,
            },
        );
        self.order += 1;
        self.adds += 1;
        Added::InLine
    }

    fn add_at(&mut self, item: u8, at: u64, priority: i32, order: u64) -> Added {
        if self.closed {
            return Added::Refused;
        }
        self.delay(item, at, priority, order)
    }

    fn delay(&mut self, item: u8, at: u64, priority: i32, order: u64) -> Added {
        let earliest = self.waiting.values().all(|place| at < place.0);
        let place = self.waiting.entry(item).or_insert((at, order, priority));
        place.0 = place.0.min(at);
        place.2 = place.2.max(priority);
        Added::Waits { earliest }
    }

    fn come_back(&mut self, item: u8, at: u64, now: u64, priority: i32, order: u64) -> Added {
        if at <= now && !self.closed {
            self.add(item, now, priority)
        } else {
            self.delay(item, at, priority, order)
        }
    }

    /// Moves due items into the line and returns how many are new there.
    fn bring_due(&mut self, now: u64) -> usize {
        let mut came = 0;
        while !self.closed {
            let due = self.waiting.iter().filter(|(_, place)| place.0 <= now);
            let Some((&item, &(at, _, priority))) = due.min_by_key(|(_, place)| (place.0, place.1)) else {
                break;
            };
            self.waiting.remove(&item);
            came += usize::from(self.add(item, at, priority) == Added::InLine);
        }
        came
    }

    /// The next item, and how many others became due at the same time.
    fn take(&mut self, now: u64) -> Option<(u8, usize)> {
        let came = self.bring_due(now);
        let levels: BTreeSet<i32> = self.line.values().map(|place| place.priority).collect();
        let mut by_age = false;
        if levels.len() > 1 {
            self.turn = (self.turn + 1) % SHARE;
            by_age = self.turn == 0;
        }
        let first = self.line.iter().min_by_key(|(_, place)| {
            let level = if by_age { 0 } else { -i64::from(place.priority) };
            (level, place.order)
        });
        let item = *first?.0;
        let Place { priority, since, .. } = self.line.remove(&item)?;
        self.running.insert(
            item,
            Running {
                priority,
                since,
                again: false,
            },
        );
        Some((item, came.min(self.line.len())))
    }

    fn finish(&mut self, item: u8) {
        if let Some(Running {
            priority,
            since,
            again: true,
        }) = self.running.remove(&item)
        {
            let order = self.order;
            self.line.insert(
                item,
                Place {
                    priority,
                    order,
                    since,
                },
            );
            self.order += 1;
        }
    }

    /// Since when the first item of each priority is in line; the longest of these.
    fn oldest(&self) -> Option<u64> {
        let mut heads: BTreeMap<i32, Place> = BTreeMap::new();
        for place in self.line.values() {
            let head = heads.entry(place.priority).or_insert(*place);
            if place.order < head.order {
                *head = *place;
            }
        }
        heads.values().map(|head| head.since).min()
    }
}

struct Game {
    core: Core<u8>,
    model: Model,
    taken: Vec<(SlotId, u8)>,
    now: u64,
    random: fastrand::Rng,
    is_measured: bool,
}

impl Game {
    fn new(seed: u64) -> Game {
        let is_measured = seed.is_multiple_of(2);
        Game {
            core: Core::new(is_measured),
            model: Model::default(),
            taken: Vec::new(),
            now: 0,
            random: fastrand::Rng::with_seed(seed),
            is_measured,
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
                // Some become due only now.
                self.now += self.random.u64(..5);
                let turn = self.core.take(self.now);
                let got = turn.map(|turn| (self.core.item(turn.slot), turn.others as usize));
                assert_eq!(got, self.model.take(self.now));
                self.taken
                    .extend(turn.map(|turn| (turn.slot, self.core.item(turn.slot))));
            }
            14..=17 if !self.taken.is_empty() => self.finish(),
            18..=19 if !self.taken.is_empty() => {
                let (slot, item) = self.taken[self.random.usize(..self.taken.len())];
                let at = self.now + self.random.u64(..50).saturating_sub(25);
                let added = self.core.come_back(slot, at, self.now, priority);
                assert_eq!(added, self.model.come_back(item, at, self.now, priority, step));
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
        let again = self.model.running[&item].again;
        let forgotten = !again && !self.model.waiting.contains_key(&item);
        let finished = self.core.finish(slot);
        self.model.finish(item);
        assert_eq!(finished.in_line_again, again);
        assert_eq!(finished.forgotten, forgotten.then_some(item));
        assert_eq!(finished.idle, self.model.closed && self.core.is_idle());
    }

    fn compare(&mut self) {
        let (core, model) = (&mut self.core, &mut self.model);
        assert_eq!(core.in_line(), model.line.len());
        let came = model.bring_due(self.now);
        assert_eq!(core.len(self.now), (model.line.len(), came));
        assert_eq!(
            (core.running(), core.delayed(), core.is_closed()),
            (model.running.len(), model.waiting.len(), model.closed)
        );
        assert_eq!(
            core.again(),
            model.running.values().filter(|running| running.again).count()
        );
        let due = model.waiting.values().map(|place| place.0).min();
        assert_eq!(core.next_due(), due.filter(|_| !model.closed));
        assert_eq!(core.is_idle(), model.line.is_empty() && model.running.is_empty());
        let measured = |since: u64| if self.is_measured { since } else { 0 };
        assert_eq!(core.oldest(), model.oldest().map(measured));
        for (slot, item) in &self.taken {
            let running = model.running[item];
            assert_eq!(core.priority(*slot), running.priority);
            assert_eq!(core.since(*slot), measured(running.since));
        }
        let [queued, running, delayed] = core
            .left()
            .map(|items| items.into_iter().collect::<BTreeSet<u8>>());
        assert!(queued.iter().eq(model.line.keys()) && running.iter().eq(model.running.keys()));
        let only_waiting = model
            .waiting
            .keys()
            .filter(|item| !queued.contains(item) && !running.contains(item));
        assert!(delayed.iter().eq(only_waiting));
    }
}

fn play(seed: u64) {
    let mut game = Game::new(seed);
    let mut adds = 0;
    for step in 0..1_000 {
        let before = game.model.adds;
        game.play(step);
        game.compare();
        adds += game.model.adds.saturating_sub(before);
        assert_eq!(game.core.all_adds(), adds, "seed {seed}, step {step}");
    }
}

#[test]
fn does_what_the_model_does() {
    for seed in 0..300 {
        play(seed);
    }
}

#[test]
fn low_priority_is_late_but_its_turn_comes() {
    let mut core = Core::new(false);
    for item in 0..100_u32 {
        core.add(item, 0, -100);
    }
    let mut low = 0;
    for urgent in 1_000..1_000 + 100 * SHARE {
        core.add(urgent, 0, 0);
        let taken = core.take(0).expect("an item");
        low += u32::from(core.item(taken.slot) < 100);
        core.finish(taken.slot);
    }
    assert_eq!(
        low, 100,
        "all of the first list, in its order, while others never ceased to come"
    );
}

/// Adds so many items, in line and delayed, and works on all of them.
fn filled_and_emptied(items: u32) -> Core<u32> {
    let mut core = Core::new(false);
    for item in 0..items {
        core.add(item, 0, 0);
        core.add_at(item, 1, 0);
    }
    let mut taken = 0;
    while let Some(item) = core.take(1) {
        core.finish(item.slot);
        taken += 1;
    }
    assert_eq!((taken, core.delayed()), (items, 0));
    core
}

#[test]
fn an_empty_queue_is_small_again() {
    for items in [1_025, 100_000] {
        let core = filled_and_emptied(items);
        assert_eq!((core.slots.capacity(), core.waiting.capacity()), (0, 0));
    }
}

#[test]
fn an_empty_queue_keeps_memory_for_a_thousand_items() {
    let core = filled_and_emptied(1_024);
    assert_eq!((core.slots.capacity(), core.waiting.capacity()), (1_024, 1_024));
}

#[test]
fn delayed_items_come_in_line_by_time_and_then_by_arrival() {
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
            while let Some(turn) = core.take(now) {
                taken.push(core.item(turn.slot));
                core.finish(turn.slot);
            }
        }
        assert_eq!(taken, expected, "seed {seed}");
    }
}

#[test]
fn items_whose_hashes_collide_are_told_apart() {
    #[derive(Debug, Clone, PartialEq, Eq)]
    struct Colliding(u8);
    impl Hash for Colliding {
        fn hash<H: Hasher>(&self, _: &mut H) {}
    }
    let mut core = Core::new(false);
    for item in [1, 2, 1, 3] {
        core.add(Colliding(item), 0, 0);
    }
    let taken = std::iter::from_fn(|| core.take(0).map(|turn| core.item(turn.slot)));
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
