//! Contract 3: a handler receives a valid history for any changes and at any speed.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use fastrand::Rng;
use k8s_openapi::api::core::v1::ConfigMap;

use crate::handler::Event;
use crate::object::Key;
use crate::pipeline::processor::mailbox::Backlog;
use crate::pipeline::processor::queue::Queue;
use crate::pipeline::store::tests::{TestStore, key, tagged, tags_of};
use crate::pipeline::store::{Change, Seed};

const KEYS: usize = 10;

/// A handler that checks each event against the previous ones.
#[derive(Default)]
struct HistoryChecker {
    /// Initial objects that were not delivered yet.
    initial: BTreeSet<Key>,
    known: BTreeMap<Key, Arc<ConfigMap>>,
    resynced: BTreeSet<Key>,
}

impl HistoryChecker {
    fn check(&mut self, event: &Event<ConfigMap>) {
        let key = event.key().clone();
        match event {
            Event::Added {
                object,
                is_in_initial_list,
            } => {
                assert_eq!(
                    self.initial.remove(&key),
                    *is_in_initial_list,
                    "{key}: initial objects are delivered once, and first"
                );
                if !is_in_initial_list {
                    assert!(
                        self.initial.is_empty(),
                        "{key} was delivered before the initial objects"
                    );
                }
                let before = self.known.insert(key, object.to_arc());
                assert!(before.is_none(), "{event:?} twice");
            }
            Event::Updated { old, new } => {
                assert!(self.initial.is_empty());
                let before = self
                    .known
                    .insert(key.clone(), new.to_arc())
                    .expect("it was added");
                assert!(
                    Arc::ptr_eq(&before, &old.to_arc()),
                    "{event:?} does not have the previously delivered state"
                );
                assert_eq!(
                    before.metadata.uid, new.metadata.uid,
                    "an update mixes two objects"
                );
                if event.is_resync() {
                    assert!(self.resynced.insert(key), "{event:?} twice in one resync");
                } else {
                    assert!(!Arc::ptr_eq(&before, &new.to_arc()), "{event:?} changes nothing");
                }
            }
            Event::Deleted(deleted) => {
                assert!(self.initial.is_empty());
                let before = self.known.remove(&key).expect("it was added");
                assert!(Arc::ptr_eq(&before, &deleted.last_seen().to_arc()));
                assert_eq!(before.metadata.uid, deleted.last_state().metadata.uid);
            }
        }
    }
}

struct HistoryTest {
    random: Rng,
    cache: TestStore<ConfigMap>,
    queue: Queue<ConfigMap>,
    checker: HistoryChecker,
    every_event: bool,
    /// Changes to deliver, in order, if the handler gets every event.
    expected: VecDeque<Change<ConfigMap>>,
    version: u64,
    indexes: u32,
}

impl HistoryTest {
    fn new(seed: u64, hashes: Seed, every_event: bool) -> HistoryTest {
        let mut run = HistoryTest {
            random: Rng::with_seed(seed),
            cache: TestStore::new(hashes),
            queue: Queue::new(every_event),
            checker: HistoryChecker::default(),
            every_event,
            expected: VecDeque::new(),
            version: 1,
            indexes: 0,
        };
        run.cache.replace(Vec::new(), run.version);
        run.cache.publish();
        for _ in 0..run.random.usize(..KEYS) {
            run.change();
        }
        run.expected.clear();
        run
    }

    fn any_object(&mut self) -> ConfigMap {
        self.version += 1;
        let key = key(&format!("a/n{}", self.random.usize(..KEYS)));
        // Two in ten are a new object with the same name.
        let uid = match self.cache.store.snapshot().get(&key) {
            Some(object) if self.random.u32(..10) > 1 => {
                object.metadata.uid.as_ref().unwrap().parse().unwrap()
            }
            _ => self.version,
        };
        tagged(&key, self.version, uid, &["t"])
    }

    /// Applies and publishes a batch of changes without adding them to the queue.
    fn changes(&mut self) -> Vec<Change<ConfigMap>> {
        let mut changes = Vec::new();
        for _ in 0..self.random.u32(1..4) {
            let object = self.any_object();
            changes.extend(match self.random.u32(..20) {
                0 => {
                    let kept = self.cache.store.snapshot();
                    let kept = kept.iter().filter(|_| self.random.bool());
                    let mut listed: Vec<ConfigMap> = kept.map(|object| (*object).clone()).collect();
                    listed.retain(|other| other.metadata.name != object.metadata.name);
                    listed.push(object);
                    self.cache.replace(listed, self.version)
                }
                1..9 => self.cache.delete(object),
                _ => self.cache.upsert(object),
            });
            self.cache.publish();
        }
        changes
    }

    fn change(&mut self) {
        let changes = self.changes();
        for change in changes {
            self.queue.push(&change);
            self.expected.push_back(change);
        }
    }

    fn begin(&mut self) {
        self.queue = Queue::new(self.every_event);
        assert!(self.queue.pop().is_none(), "nothing before the first list");
        assert!(!self.queue.is_past_initial());
        let snapshot = self.cache.store.snapshot();
        self.checker.initial = snapshot.iter().map(|object| object.key().clone()).collect();
        self.queue.begin(&snapshot);
        assert_eq!(self.queue.len(), snapshot.len());
    }

    fn pop(&mut self) -> bool {
        let Some(event) = self.queue.pop() else {
            assert!(self.checker.initial.is_empty());
            assert!(self.queue.is_past_initial());
            return false;
        };
        if self.every_event && !event.is_resync() && !is_initial(&event) {
            let change = self.expected.pop_front().expect("more events than changes");
            assert!(is_event_of(&change, &event), "{event:?} for {change:?}");
        }
        self.checker.check(&event);
        true
    }

    fn step(&mut self) {
        match self.random.u32(..100) {
            0..45 => self.change(),
            45..95 => {
                for _ in 0..self.random.u32(..6) {
                    self.pop();
                }
            }
            95..98 => self.resync(),
            _ => {
                let name = format!("index{}", self.indexes);
                self.indexes += 1;
                self.cache.index(&name, tags_of).unwrap();
                self.cache.publish();
            }
        }
        let bound = self.checker.initial.len() + KEYS + 1;
        assert!(
            self.every_event || self.queue.len() <= bound,
            "{} wait",
            self.queue.len()
        );
    }

    fn resync(&mut self) {
        if !self.queue.is_resyncing() {
            self.checker.resynced.clear();
        }
        self.queue.resync(&self.cache.store.snapshot());
    }

    /// The last event of every object equals the store (contract 5).
    fn drain(&mut self) {
        while self.pop() {}
        assert_eq!(self.queue.len(), 0);
        let store = self.cache.store.snapshot();
        assert_eq!(self.checker.known.len(), store.len());
        for object in &store {
            assert!(Arc::ptr_eq(&self.checker.known[object.key()], &object.to_arc()));
        }
        assert!(!self.every_event || self.expected.is_empty(), "an event was lost");
    }

    fn drain_and_resync(&mut self) {
        self.drain();
        self.resync();
        self.drain();
        let all: BTreeSet<Key> = self.checker.known.keys().cloned().collect();
        assert_eq!(self.checker.resynced, all, "a resync repeats everything");
    }
}

fn is_initial(event: &Event<ConfigMap>) -> bool {
    matches!(
        event,
        Event::Added {
            is_in_initial_list: true,
            ..
        }
    )
}

fn is_event_of(change: &Change<ConfigMap>, event: &Event<ConfigMap>) -> bool {
    match (change, event) {
        (Change::Added { new }, Event::Added { object, .. }) => Arc::ptr_eq(new, object.entry()),
        (Change::Updated { new, .. }, Event::Updated { new: delivered, .. }) => {
            Arc::ptr_eq(new, delivered.entry())
        }
        (Change::Deleted { last, .. }, Event::Deleted(deleted)) => Arc::ptr_eq(last, deleted.entry()),
        _ => false,
    }
}

fn run(seed: u64, hashes: Seed, every_event: bool) {
    let mut run = HistoryTest::new(seed, hashes, every_event);
    run.begin();
    for _ in 0..300 {
        run.step();
        if run.random.u32(..60) == 0 {
            run.drain_and_resync();
        }
    }
    run.drain_and_resync();
}

#[test]
fn contract_3_coalesced_changes_are_a_valid_history() {
    for seed in 0..60 {
        run(seed, Seed::new(seed), false);
    }
}

#[test]
fn contract_3_every_event_is_delivered_in_order() {
    for seed in 0..60 {
        run(seed, Seed::new(seed), true);
    }
}

#[test]
fn objects_with_colliding_hashes_are_distinguished() {
    for seed in 0..40 {
        for bits in [0, 1] {
            run(seed, Seed::colliding(seed, bits), seed % 2 == 0);
        }
    }
}

/// Two hundred objects share four hashes. A resync skips an object only because of its own change.
#[test]
fn a_resync_skips_changed_objects_but_not_colliding_ones() {
    for every_event in [false, true] {
        let mut cache = TestStore::new(Seed::colliding(1, 3));
        let names: Vec<Key> = (0..200).map(|n| key(&format!("a/n{n}"))).collect();
        for name in &names {
            cache.upsert(tagged(name, 1, 1, &[]));
        }
        cache.publish();
        let mut queue = Queue::new(every_event);
        queue.begin(&cache.store.snapshot());
        while queue.pop().is_some() {}
        let change =
            |cache: &mut TestStore<ConfigMap>, queue: &mut Queue<ConfigMap>, names: &[Key], version| {
                for change in names
                    .iter()
                    .flat_map(|name| cache.upsert(tagged(name, version, 1, &[])))
                {
                    queue.push(&change);
                }
                cache.publish();
            };
        // Some changes are pending when the resync begins, and some are added during it, the first ones
        // twice.
        change(&mut cache, &mut queue, &names[..20], 2);
        queue.resync(&cache.store.snapshot());
        change(&mut cache, &mut queue, &names[10..30], 3);
        assert_eq!(queue.skipped(), 30);

        let events: Vec<_> = std::iter::from_fn(|| queue.pop()).collect();
        let resynced = events.iter().filter(|event| event.is_resync());
        let resynced: BTreeSet<_> = resynced.map(|event| event.key().clone()).collect();
        let unchanged: BTreeSet<_> = names[30..].iter().cloned().collect();
        assert_eq!(resynced, unchanged);
    }
}

/// The backlog of a blocked handler does not grow with objects of ever new names, even during a resync.
#[test]
fn contract_6_churn_beside_a_stuck_handler_uses_no_memory() {
    let mut cache = TestStore::new(Seed::new(1));
    for n in 0..5 {
        cache.upsert(tagged(&key(&format!("stays{n}")), 1, 1, &[]));
    }
    cache.publish();
    let mut queue = Queue::new(false);
    queue.begin(&cache.store.snapshot());
    while queue.pop().is_some() {}
    queue.resync(&cache.store.snapshot());
    assert!(matches!(queue.pop(), Some(event) if event.is_resync()));

    for n in 0..1_000 {
        let name = key(&format!("n{n}"));
        for change in cache.upsert(tagged(&name, 2, 1, &[])) {
            queue.push(&change);
        }
        for change in cache.delete(tagged(&name, 3, 1, &[])) {
            queue.push(&change);
        }
    }
    assert_eq!(queue.len(), 0);
    assert_eq!(queue.skipped(), 0, "later objects are not part of the resync");
    let mut resynced = 1;
    while let Some(event) = queue.pop() {
        assert!(event.is_resync());
        resynced += 1;
    }
    assert_eq!(resynced, 5);
}

/// A removal does not sync a handler, and a late resync adds nothing to a removed queue.
#[test]
fn a_cleared_queue_equals_a_new_queue() {
    let mut cache = TestStore::new(Seed::new(1));
    cache.upsert(tagged(&key("a"), 1, 1, &[]));
    cache.publish();
    let mut queue = Queue::new(false);
    queue.begin(&cache.store.snapshot());
    queue.clear();
    queue.resync(&cache.store.snapshot());
    assert!(queue.pop().is_none());
    assert!(!queue.is_past_initial());
    assert!(!queue.is_resyncing());
}

/// A handler is past the initial events only when it returns from the last one.
#[test]
fn contract_8_the_last_initial_event_must_be_handled_too() {
    let mut cache = TestStore::new(Seed::new(1));
    for n in 0..3 {
        cache.upsert(tagged(&key(&format!("n{n}")), 1, 1, &[]));
    }
    cache.publish();
    let mut queue = Queue::new(false);
    queue.begin(&cache.store.snapshot());
    for left in (0..3).rev() {
        assert!(queue.pop().is_some());
        assert!(!queue.is_past_initial());
        assert_eq!(queue.len(), left);
    }
    assert!(queue.pop().is_none());
    assert!(queue.is_past_initial());
}

/// Neither a long resync nor a long run of changes starves the other.
#[test]
fn resyncs_and_changes_take_turns() {
    let mut cache = TestStore::new(Seed::new(1));
    for n in 0..20 {
        cache.upsert(tagged(&key(&format!("old{n}")), 1, 1, &[]));
    }
    cache.publish();
    let mut queue = Queue::new(false);
    queue.begin(&cache.store.snapshot());
    while queue.pop().is_some() {}
    queue.resync(&cache.store.snapshot());
    for n in 0..20 {
        for change in cache.upsert(tagged(&key(&format!("new{n}")), 2, 1, &[])) {
            queue.push(&change);
        }
    }
    let mut resyncs = Vec::new();
    while let Some(event) = queue.pop() {
        resyncs.push(event.is_resync());
    }
    assert_eq!(resyncs.len(), 40);
    assert!(resyncs.chunks(2).all(|pair| pair[0] != pair[1]), "{resyncs:?}");
}

/// The waiting time of one change at a time is measured, and ends with the event of its object.
#[tokio::test(start_paused = true)]
async fn the_waiting_time_of_a_sampled_change_is_measured() {
    let mut cache = TestStore::new(Seed::new(1));
    let mut queue = Queue::new(false);
    queue.begin(&cache.store.snapshot());
    let mut push = |queue: &mut Queue<ConfigMap>, name: &str, version| {
        for change in cache.upsert(tagged(&key(name), version, 1, &[])) {
            queue.push(&change);
            queue.sample(&change);
        }
    };
    let waited = |queue: &mut Queue<ConfigMap>| {
        let (_, waiting_since) = Backlog::pop(queue).expect("a change is pending");
        waiting_since.map(|since| since.elapsed().as_secs())
    };
    push(&mut queue, "a", 1);
    tokio::time::advance(Duration::from_secs(3)).await;
    // The sample is that of `a`, which has waited longer.
    push(&mut queue, "b", 2);
    tokio::time::advance(Duration::from_secs(4)).await;
    assert_eq!(waited(&mut queue), Some(7));
    assert_eq!(waited(&mut queue), None);

    push(&mut queue, "c", 3);
    push(&mut queue, "d", 4);
    for change in cache.delete(tagged(&key("c"), 5, 1, &[])) {
        queue.push(&change);
    }
    assert_eq!(waited(&mut queue), None, "the sampled change was cancelled");
}
