//! The rules against a simple model.

use std::collections::{BTreeMap, BTreeSet};

use super::ready::SHARE;
use super::{Added, Core, SlotId};

/// What a queue of few items should be, in the simplest words.
#[derive(Default)]
struct Model {
    /// In line: priority and order of coming.
    line: BTreeMap<u8, (i32, u64)>,
    /// Worked on; the priority with which it was added meanwhile.
    running: BTreeMap<u8, Option<i32>>,
    /// When it is due, order of coming, priority.
    waiting: BTreeMap<u8, (u64, u64, i32)>,
    order: u64,
    turn: u32,
    closed: bool,
}

impl Model {
    fn add(&mut self, item: u8, priority: i32) {
        if self.closed {
            return;
        }
        if let Some(again) = self.running.get_mut(&item) {
            *again = Some(again.map_or(priority, |other| other.max(priority)));
            return;
        }
        let order = self.order;
        match self.line.get_mut(&item) {
            Some((old, _)) if *old >= priority => return,
            Some(place) => *place = (priority, order),
            None => drop(self.line.insert(item, (priority, order))),
        }
        self.order += 1;
    }

    fn add_at(&mut self, item: u8, at: u64, priority: i32, order: u64) {
        if !self.closed {
            self.delay(item, at, priority, order);
        }
    }

    fn delay(&mut self, item: u8, at: u64, priority: i32, order: u64) {
        let place = self.waiting.entry(item).or_insert((at, order, priority));
        place.0 = place.0.min(at);
        place.2 = place.2.max(priority);
    }

    fn come_back(&mut self, item: u8, at: u64, now: u64, priority: i32, order: u64) {
        if at <= now && !self.closed {
            self.add(item, priority);
        } else {
            self.delay(item, at, priority, order);
        }
    }

    fn bring_due(&mut self, now: u64) {
        while !self.closed {
            let due = self.waiting.iter().filter(|(_, place)| place.0 <= now);
            let Some((&item, &(_, _, priority))) = due.min_by_key(|(_, place)| (place.0, place.1)) else {
                return;
            };
            self.waiting.remove(&item);
            self.add(item, priority);
        }
    }

    fn take(&mut self, now: u64) -> Option<u8> {
        self.bring_due(now);
        let levels: BTreeSet<i32> = self.line.values().map(|place| place.0).collect();
        let mut by_age = false;
        if levels.len() > 1 {
            self.turn = (self.turn + 1) % SHARE;
            by_age = self.turn == 0;
        }
        let first = self.line.iter().min_by_key(|(_, (priority, order))| {
            let level = if by_age { 0 } else { -i64::from(*priority) };
            (level, *order)
        });
        let item = *first?.0;
        self.line.remove(&item);
        self.running.insert(item, None);
        Some(item)
    }

    fn finish(&mut self, item: u8) {
        if let Some(Some(priority)) = self.running.remove(&item) {
            self.line.insert(item, (priority, self.order));
            self.order += 1;
        }
    }
}

fn play(seed: u64) {
    let mut random = fastrand::Rng::with_seed(seed);
    let mut core = Core::new(false);
    let mut model = Model::default();
    let mut taken: Vec<(SlotId, u8)> = Vec::new();
    let mut now = 0;
    for step in 0..1_000_u64 {
        let item = random.u8(..12);
        let priority = random.i32(-1..=2);
        match random.u8(..22) {
            0..=6 => {
                let known = model.line.contains_key(&item) || model.running.contains_key(&item);
                let added = core.add(item, now, priority);
                let expected = match (model.closed, known) {
                    (true, _) => Added::Refused,
                    (false, true) => Added::Known,
                    (false, false) => Added::InLine,
                };
                assert_eq!(added, expected, "seed {seed}, step {step}");
                model.add(item, priority);
            }
            7..=9 => {
                let at = now + random.u64(..50);
                core.add_at(item, at, priority);
                model.add_at(item, at, priority, step);
            }
            10..=13 => {
                let got = core.take(now).map(|turn| (turn.slot, core.item(turn.slot)));
                assert_eq!(
                    got.map(|(_, item)| item),
                    model.take(now),
                    "seed {seed}, step {step}"
                );
                taken.extend(got);
            }
            14..=17 if !taken.is_empty() => {
                let (slot, item) = taken.swap_remove(random.usize(..taken.len()));
                let again = model.running[&item].is_some();
                assert_eq!(core.finish(slot).in_line_again, again);
                model.finish(item);
            }
            18..=19 if !taken.is_empty() => {
                let (slot, item) = taken[random.usize(..taken.len())];
                let at = now + random.u64(..50).saturating_sub(25);
                core.come_back(slot, at, now, priority);
                model.come_back(item, at, now, priority, step);
            }
            20 if step > 900 => {
                core.close();
                model.closed = true;
            }
            _ => now += random.u64(..20),
        }
        model.bring_due(now);
        assert_eq!(core.len(now).0, model.line.len());
        assert_eq!(
            (core.running(), core.delayed()),
            (model.running.len(), model.waiting.len())
        );
        let again = model.running.values().filter(|again| again.is_some());
        assert_eq!(core.again(), again.count());
        let due = model
            .waiting
            .values()
            .map(|place| place.0)
            .min()
            .filter(|_| !model.closed);
        assert_eq!(core.next_due(), due);
        assert_eq!(core.is_idle(), model.line.is_empty() && model.running.is_empty());
        let [queued, running, delayed] = core
            .left()
            .map(|items| items.into_iter().collect::<BTreeSet<u8>>());
        assert!(queued.iter().eq(model.line.keys()) && running.iter().eq(model.running.keys()));
        let only_waiting = model
            .waiting
            .keys()
            .filter(|item| !queued.contains(item) && !running.contains(item));
        assert!(delayed.iter().eq(only_waiting), "seed {seed}, step {step}");
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

#[test]
fn an_empty_queue_is_small_again() {
    let mut core = Core::new(false);
    for item in 0..100_000_u32 {
        core.add(item, 0, 0);
        core.add_at(item, 1, 0);
    }
    let mut taken = 0;
    while let Some(item) = core.take(1) {
        core.finish(item.slot);
        taken += 1;
    }
    assert_eq!((taken, core.delayed()), (100_000, 0));
    assert_eq!(core.slots.capacity(), 0);
}
