//! Random histories with several waiters, compared with a simple model. A waiter is polled only after a
//! wake-up, as by an executor, so a lost wake-up is a wait without end.

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use futures::future::BoxFuture;
use kube_workqueue::{AddOptions, ItemGuard, Remaining, WorkQueue};

use crate::TIMEOUT;

const ITEMS: u8 = 8;

type BoxedWait<T> = PolledFuture<BoxFuture<'static, T>>;

/// A future and whether it was woken.
pub(crate) struct PolledFuture<F> {
    future: Pin<Box<F>>,
    woken: Arc<Woken>,
}

struct Woken(AtomicBool);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::SeqCst);
    }
}

impl<F: Future> PolledFuture<F> {
    pub(crate) fn new(future: F) -> PolledFuture<F> {
        PolledFuture {
            future: Box::pin(future),
            woken: Arc::new(Woken(AtomicBool::new(true))),
        }
    }

    /// None if it was not woken.
    pub(crate) fn poll_if_woken(&mut self) -> Option<Poll<F::Output>> {
        if !self.woken.0.swap(false, Ordering::SeqCst) {
            return None;
        }
        let waker = Waker::from(Arc::clone(&self.woken));
        Some(self.future.as_mut().poll(&mut Context::from_waker(&waker)))
    }
}

/// The expected content of the queue.
#[derive(Default)]
struct Model {
    /// Priority and order of arrival.
    queued: BTreeMap<u8, (i32, u64)>,
    /// The priority with which it was added while running.
    running: BTreeMap<u8, Option<i32>>,
    /// Due time, order of arrival, priority.
    delayed: BTreeMap<u8, (u64, u64, i32)>,
    order: u64,
    now: u64,
    closed: bool,
}

impl Model {
    fn add(&mut self, item: u8, priority: i32) {
        if self.closed {
            return;
        }
        self.order += 1;
        if let Some(again) = self.running.get_mut(&item) {
            *again = (*again).max(Some(priority));
        } else if self.queued.get(&item).is_none_or(|(old, _)| *old < priority) {
            self.queued.insert(item, (priority, self.order));
        }
    }

    fn add_after(&mut self, item: u8, delay: u64, priority: i32) {
        if self.closed {
            return;
        }
        self.order += 1;
        let at = self.now + delay;
        let place = self.delayed.entry(item).or_insert((at, self.order, priority));
        *place = (place.0.min(at), place.1, place.2.max(priority));
    }

    fn is_due(&self) -> bool {
        !self.closed && self.delayed.values().any(|(at, ..)| *at <= self.now)
    }

    /// Queues the due items, as every read of the queue does.
    fn queue_due_items(&mut self) {
        while self.is_due() {
            let first = self
                .delayed
                .iter()
                .min_by_key(|(_, (at, order, _))| (*at, *order));
            let (&item, &(_, _, priority)) = first.expect("one is due");
            self.delayed.remove(&item);
            self.add(item, priority);
        }
    }

    /// Checks that an item can be next: the first of the highest priority, or the oldest of all.
    fn taken(&mut self, item: u8) {
        let &(priority, order) = self.queued.get(&item).expect("the item was queued");
        let mut queued = self.queued.values();
        assert!(
            queued.all(|other| other.0 != priority || other.1 >= order),
            "{item} was taken before an older one"
        );
        let is_highest = self.queued.values().all(|other| other.0 <= priority);
        let is_oldest = self.queued.values().all(|other| other.1 >= order);
        assert!(is_highest || is_oldest, "{item} was not next");
        self.queued.remove(&item);
        self.running.insert(item, None);
    }

    fn done(&mut self, item: u8) {
        let again = self.running.remove(&item).expect("the item was running");
        if let Some(priority) = again {
            self.order += 1;
            self.queued.insert(item, (priority, self.order));
        }
    }

    fn is_idle(&self) -> bool {
        self.queued.is_empty() && self.running.is_empty()
    }
}

struct History {
    random: fastrand::Rng,
    queue: WorkQueue<u8>,
    model: Model,
    waits: Vec<BoxedWait<Option<ItemGuard<u8>>>>,
    drains: Vec<BoxedWait<Remaining<u8>>>,
    items: Vec<ItemGuard<u8>>,
}

impl History {
    fn new(seed: u64) -> History {
        History {
            random: fastrand::Rng::with_seed(seed),
            queue: WorkQueue::new("q"),
            model: Model::default(),
            waits: Vec::new(),
            drains: Vec::new(),
            items: Vec::new(),
        }
    }

    fn wait(&mut self) {
        let queue = self.queue.clone();
        self.waits
            .push(PolledFuture::new(Box::pin(async move { queue.get().await })));
    }

    fn done(&mut self) {
        let item = self.items.swap_remove(self.random.usize(..self.items.len()));
        self.model.done(*item);
        item.done();
    }

    async fn pass(&mut self, millis: u64) {
        self.model.now += millis;
        tokio::time::advance(Duration::from_millis(millis)).await;
        tokio::task::yield_now().await;
    }

    async fn step(&mut self, ends: bool) {
        let item = self.random.u8(..ITEMS);
        let priority = self.random.i32(-1..=1);
        match self.random.u8(..40) {
            0..=8 => {
                self.queue.add_with(item, AddOptions::new().priority(priority));
                self.model.add(item, priority);
            }
            9..=14 => {
                let delay = self.random.u64(1..30);
                let options = AddOptions::new().priority(priority);
                self.queue
                    .add_with(item, options.after(Duration::from_millis(delay)));
                self.model.add_after(item, delay, priority);
            }
            15..=20 if self.waits.len() < 4 => self.wait(),
            21..=23 if !self.waits.is_empty() => {
                drop(self.waits.swap_remove(self.random.usize(..self.waits.len())));
            }
            24..=25 => {
                self.model.queue_due_items();
                if let Some(item) = self.queue.try_get() {
                    self.model.taken(*item);
                    self.items.push(item);
                } else {
                    assert!(self.model.queued.is_empty(), "an item was queued");
                }
            }
            26..=32 if !self.items.is_empty() => self.done(),
            33 => {
                self.model.queue_due_items();
                assert_eq!(self.queue.len(), self.model.queued.len());
            }
            34 if ends => {
                self.queue.shut_down();
                self.model.closed = true;
                for mut drain in self.drains.drain(..) {
                    let drained = drain.poll_if_woken().expect("a shutdown wakes the drain");
                    assert!(drained.is_ready(), "a shutdown ends the drain");
                }
            }
            35 if ends => {
                let queue = self.queue.clone();
                let drain = async move { queue.drain(TIMEOUT).await };
                self.drains.push(PolledFuture::new(Box::pin(drain)));
                // Its first poll shuts the queue down.
                self.settle_drains();
                self.model.closed = true;
            }
            36 if !self.drains.is_empty() => drop(self.drains.pop()),
            _ => {
                let millis = self.random.u64(1..15);
                self.pass(millis).await;
            }
        }
    }

    /// Polls woken waiters in random order until none remains, or stops early, so that other operations can
    /// happen in between.
    fn settle(&mut self) {
        loop {
            self.random.shuffle(&mut self.waits);
            let mut waits = self.waits.iter_mut().enumerate();
            let polled = waits.find_map(|(at, wait)| Some((at, wait.poll_if_woken()?)));
            let Some((at, polled)) = polled else { break };
            self.model.queue_due_items();
            let Poll::Ready(got) = polled else { continue };
            drop(self.waits.remove(at));
            match got {
                Some(item) => {
                    self.model.taken(*item);
                    self.items.push(item);
                }
                None => assert!(self.model.closed && self.model.queued.is_empty()),
            }
        }
        self.settle_drains();
    }

    fn settle_drains(&mut self) {
        for at in (0..self.drains.len()).rev() {
            if let Some(Poll::Ready(left)) = self.drains[at].poll_if_woken() {
                assert!(left.is_drained() && self.model.is_idle());
                drop(self.drains.swap_remove(at));
            }
        }
    }

    fn check(&self) {
        let model = &self.model;
        assert_eq!(self.queue.running(), model.running.len());
        assert_eq!(self.queue.delayed(), model.delayed.len());
        assert_eq!(self.queue.is_shut_down(), model.closed);
        assert!(
            self.drains.is_empty() || !model.is_idle(),
            "the drain should have ended"
        );
        if !self.waits.is_empty() && !self.waits.iter().any(|wait| wait.woken.0.load(Ordering::SeqCst)) {
            assert!(model.queued.is_empty(), "a waiter waits while an item is queued");
            assert!(!model.is_due(), "a waiter waits while an item is due");
            assert!(!model.closed, "a waiter waits after the shutdown");
        }
    }

    async fn play(mut self) {
        for step in 0..400 {
            self.step(step > 300).await;
            if self.random.u8(..4) > 0 {
                self.settle();
                self.check();
            }
        }
        self.finish().await;
    }

    /// Takes all remaining items, except those that a shutdown left delayed.
    async fn finish(mut self) {
        for _ in 0..ITEMS * 4 {
            while !self.items.is_empty() {
                self.done();
            }
            if self.waits.is_empty() {
                self.wait();
            }
            self.settle();
            self.pass(10).await;
            self.settle();
            self.check();
        }
        self.waits.clear();
        while !self.items.is_empty() {
            self.done();
        }
        assert!(self.model.is_idle(), "an item was never taken");
        assert!(self.model.closed || self.model.delayed.is_empty());
        self.drains.clear();
        let left = self.queue.drain(Duration::ZERO).await;
        assert!(left.is_drained());
        assert!(left.delayed.len() == self.model.delayed.len());
    }
}

#[tokio::test(start_paused = true)]
async fn random_histories_lose_no_item_and_keep_the_order() {
    for seed in 0..1_000 {
        let played = tokio::spawn(History::new(seed).play()).await;
        assert!(played.is_ok(), "seed {seed}: {played:?}");
    }
}
