//! The queue that programs hold: the rules behind a lock, with a clock and with those who wait.

use std::fmt;
use std::future::poll_fn;
use std::hash::Hash;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Poll, Waker};
use std::time::Duration;

use crate::builder::QueueBuilder;
use crate::core::{Added, Core, Nanos, SlotId, Turn};
use crate::item::Item;
use crate::limit::RateLimiter;
use crate::metrics::Meter;
use crate::stats::Tally;
use crate::sync::{Instant, Mutex, Notify, sleep_until, timeout};
use crate::wait::{Looked, Wait};
use crate::waiters::Waiters;

/// What can be an item: anything that can be compared, hashed and cloned, as a `String` or a key. Items are cloned for
/// those who work on them, so they should be cheap to clone.
///
/// There is nothing to implement: every type that fits has it.
pub trait Work: Clone + Eq + Hash + Send + Sync + 'static {}

impl<T: Clone + Eq + Hash + Send + Sync + 'static> Work for T {}

/// A queue of items to work on: each at most once in line, and never worked on twice at a time.
///
/// An item that is added while it is in line is not added again. One that is added while it is worked on comes in line
/// when the work is done. Items can be delayed, held back after failures, and preferred by priority.
///
/// It is shared: clones are one queue. It stands for client-go's `workqueue.TypedRateLimitingInterface`, and for
/// controller-runtime's priority queue.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// use kube_workqueue::WorkQueue;
///
/// let queue = WorkQueue::new("names");
/// queue.add("a");
/// queue.add("a");
/// assert_eq!(queue.len(), 1);
///
/// let item = queue.get().await.expect("the queue is open");
/// assert_eq!(*item, "a");
/// queue.add("a"); // it changed while it is worked on
/// assert_eq!(queue.len(), 0);
/// drop(item); // done
/// assert_eq!(queue.len(), 1);
/// # }
/// ```
#[doc(alias(
    "TypedRateLimitingInterface",
    "TypedDelayingInterface",
    "TypedInterface",
    "RateLimitingInterface",
    "NewTypedRateLimitingQueue",
    "priorityqueue",
))]
pub struct WorkQueue<T> {
    pub(crate) shared: Arc<Shared<T>>,
}

pub(crate) struct Shared<T> {
    name: String,
    pub(crate) state: Mutex<State<T>>,
    limiter: Mutex<Box<dyn RateLimiter<T>>>,
    /// None if nobody wants to know.
    pub(crate) meter: Option<Meter>,
    /// Whether it is kept in mind since when items are in line.
    pub(crate) is_timed: bool,
    pub(crate) tally: Tally,
    /// Told when nothing is left to work on, or a drain is to end.
    idle: Notify,
    pub(crate) began: Instant,
}

pub(crate) struct State<T> {
    pub(crate) core: Core<T>,
    /// One is called for each item that comes in line, and when someone has to look after the next that is due.
    pub(crate) waiters: Waiters,
    /// When the one who looks after delayed items will wake up.
    pub(crate) watched: Option<Nanos>,
    /// How often it was shut down: a drain that began before is not waited for any more.
    shutdowns: u64,
}

/// How an item is added: at once and with priority 0, unless it says otherwise.
///
/// ```
/// use kube_workqueue::{AddOptions, WorkQueue};
/// use std::time::Duration;
///
/// let queue = WorkQueue::new("websites");
/// queue.add_with("shop/cart", AddOptions::new().priority(10));
/// queue.add_with("shop/search", AddOptions::new().after(Duration::from_secs(60)));
/// assert_eq!((queue.len(), queue.delayed()), (1, 1));
/// ```
#[doc(alias = "AddOpts")]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[must_use = "options do nothing until an item is added with them"]
pub struct AddOptions {
    priority: i32,
    after: Option<Duration>,
    rate_limited: bool,
}

impl AddOptions {
    /// At once, with priority 0.
    pub fn new() -> AddOptions {
        AddOptions::default()
    }

    /// Before items of lower priority. An item that is in line with a lower one is raised.
    pub fn priority(mut self, priority: i32) -> AddOptions {
        self.priority = priority;
        self
    }

    /// Not before so much time has passed. Of several times the earliest counts.
    pub fn after(mut self, delay: Duration) -> AddOptions {
        self.after = Some(delay);
        self
    }

    /// Not before the rate limiter allows it, which counts this as a failure of the item.
    pub fn rate_limited(mut self) -> AddOptions {
        self.rate_limited = true;
        self
    }
}

/// What was not worked on, or not to its end, when a queue came to its end. No item is in two of them.
///
/// What [`WorkQueue::drain`] and [`Workers::run`](crate::Workers::run) give.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remaining<T> {
    /// In line.
    pub queued: Vec<T>,
    /// Worked on, and not done in time.
    pub running: Vec<T>,
    /// Their time had not come: they were added with a delay, or [`workers`](crate::workers) were to try them again. It does
    /// not come any more, so what failed while a stop waited is among them, too.
    pub delayed: Vec<T>,
}

impl<T> Remaining<T> {
    /// Whether everything was worked on, except for what was delayed.
    #[must_use]
    pub fn is_drained(&self) -> bool {
        self.queued.is_empty() && self.running.is_empty()
    }
}

impl<T: Work> WorkQueue<T> {
    /// A queue with client-go's rate limiter; see [`default_limiter`](crate::default_limiter).
    #[must_use]
    pub fn new(name: impl Into<String>) -> WorkQueue<T> {
        WorkQueue::builder(name).build()
    }

    /// A queue with a rate limiter of your choice.
    #[must_use]
    pub fn with_limiter(name: impl Into<String>, limiter: impl RateLimiter<T>) -> WorkQueue<T> {
        WorkQueue::builder(name).limiter(limiter).build()
    }

    /// A queue with choices.
    pub fn builder(name: impl Into<String>) -> QueueBuilder<T> {
        QueueBuilder::new(name.into())
    }

    /// The name it was made with.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.shared.name
    }

    /// Adds an item. After [`WorkQueue::shut_down`] this does nothing.
    pub fn add(&self, item: T) {
        self.add_with(item, AddOptions::new());
    }

    /// Adds an item when so much time has passed. Of several times the earliest counts.
    #[doc(alias = "AddAfter")]
    pub fn add_after(&self, item: T, delay: Duration) {
        self.add_with(item, AddOptions::new().after(delay));
    }

    /// Adds an item when the rate limiter allows it, which counts a failure of the item.
    #[doc(alias = "AddRateLimited")]
    pub fn add_rate_limited(&self, item: T) {
        self.add_with(item, AddOptions::new().rate_limited());
    }

    /// Adds an item with a priority, a delay, or held back by the rate limiter.
    #[doc(alias = "AddWithOpts")]
    pub fn add_with(&self, item: T, options: AddOptions) {
        let is_retry = options.rate_limited || options.after.is_some();
        let mut delay = options.after.unwrap_or_default();
        if options.rate_limited {
            if self.is_shut_down() {
                return;
            }
            delay = delay.max(self.hold_back(&item));
        }
        let (added, called) = {
            let mut state = self.shared.state.lock();
            let now = self.shared.now_for(delay);
            let added = if delay.is_zero() {
                state.core.add(item, now, options.priority)
            } else {
                let at = now.saturating_add(nanos(delay));
                state.core.add_at(item, at, options.priority)
            };
            (added, self.shared.added(&mut state, added))
        };
        if is_retry && added != Added::Refused {
            self.shared.count_retry();
        }
        wake(called);
    }

    /// Lets an item that is worked on come back after this time. It does not come while it is worked on, so it comes in
    /// line once; and it is found by its slot, so nothing of the item's own is called that could fail. If the queue is shut
    /// down it does not come, but is left as delayed.
    pub(crate) fn come_back(&self, item: &Item<T>, delay: Duration) {
        let now = self.shared.now_for(delay);
        let at = now.saturating_add(nanos(delay));
        let called = {
            let mut state = self.shared.state.lock();
            let added = state.core.come_back(item.slot, at, now, item.priority);
            self.shared.added(&mut state, added)
        };
        self.shared.count_retry();
        wake(called);
    }

    /// Counts a failure of an item; how long it has to wait.
    pub(crate) fn hold_back(&self, item: &T) -> Duration {
        self.shared.limiter.lock().when(item)
    }

    /// Forgets an item's failures. It stays in line, if it is.
    #[doc(alias = "Forget")]
    pub fn forget(&self, item: &T) {
        self.shared.limiter.lock().forget(item);
    }

    /// How often an item was added by [`WorkQueue::add_rate_limited`] since it was forgotten.
    #[doc(alias = "NumRequeues")]
    #[must_use]
    pub fn requeues(&self, item: &T) -> u32 {
        self.shared.limiter.lock().requeues(item)
    }

    /// Waits for the next item to work on. It is this caller's alone until the guard is dropped. None if the queue was
    /// shut down and nothing is in line any more.
    ///
    /// # Cancel safety
    /// Nothing is lost when the wait is dropped: the item goes to another.
    #[doc(alias("Get", "Done"))]
    pub async fn get(&self) -> Option<Item<T>> {
        // Where there is work, nobody has to wait for it.
        match self.try_get() {
            Some(item) => Some(item),
            None => self.wait().await,
        }
    }

    async fn wait(&self) -> Option<Item<T>> {
        let mut wait = Wait::new(self);
        loop {
            let due = match poll_fn(|cx| wait.look(cx)).await {
                Looked::Got(item) => return item,
                Looked::Watch(due) => due,
            };
            let mut due = pin!(sleep_until(self.shared.began + Duration::from_nanos(due)));
            poll_fn(|cx| match wait.poll_called(cx) {
                Poll::Ready(()) => Poll::Ready(()),
                Poll::Pending => due.as_mut().poll(cx),
            })
            .await;
        }
    }

    /// The next item to work on, if there is one.
    #[must_use]
    pub fn try_get(&self) -> Option<Item<T>> {
        let mut state = self.shared.state.lock();
        let turn = self.shared.take(&mut state)?;
        if turn.others > 0 {
            let called = state.waiters.call_some(turn.others as usize);
            let item = self.item(&state, turn.slot);
            drop(state);
            wake(called);
            return Some(item);
        }
        Some(self.item(&state, turn.slot))
    }

    /// The guard of an item that was taken.
    pub(crate) fn item(&self, state: &State<T>, slot: SlotId) -> Item<T> {
        Item {
            queue: self.clone(),
            slot,
            value: state.core.item(slot),
            priority: state.core.priority(slot),
        }
    }

    /// How many items are in line.
    #[must_use]
    pub fn len(&self) -> usize {
        let (len, called) = {
            let mut state = self.shared.state.lock();
            self.shared.in_line(&mut state, self.shared.now())
        };
        wake(called);
        len
    }

    /// Whether nothing is in line.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many items are worked on.
    #[must_use]
    pub fn running(&self) -> usize {
        self.shared.state.lock().core.running()
    }

    /// How many items wait for their time.
    #[must_use]
    pub fn delayed(&self) -> usize {
        self.shared.state.lock().core.delayed()
    }

    /// Takes no more items. What is in line can still be worked on; what is delayed stays where it is. A [`WorkQueue::drain`]
    /// that waits is let go.
    #[doc(alias = "ShutDown")]
    pub fn shut_down(&self) {
        let called = {
            let mut state = self.shared.state.lock();
            state.core.close();
            state.shutdowns += 1;
            state.waiters.call_some(usize::MAX)
        };
        wake(called);
        self.shared.idle.notify_waiters();
    }

    /// Whether it was shut down.
    #[must_use]
    pub fn is_shut_down(&self) -> bool {
        self.shared.state.lock().core.is_closed()
    }

    /// Takes no more items, and waits until everything that is in line was worked on and done; at most for so long. What is
    /// left is told, and so is what was delayed.
    ///
    /// # Cancel safety
    /// The queue is shut down even if the wait is dropped.
    #[doc(alias = "ShutDownWithDrain")]
    pub async fn drain(&self, patience: Duration) -> Remaining<T> {
        let (shutdowns, called) = {
            let mut state = self.shared.state.lock();
            state.core.close();
            (state.shutdowns, state.waiters.call_some(usize::MAX))
        };
        wake(called);
        // Time is up, or it is empty: what is left says which.
        let _ = timeout(patience, self.drained(shutdowns)).await;
        let [queued, running, delayed] = self.shared.state.lock().core.left();
        Remaining {
            queued,
            running,
            delayed,
        }
    }

    async fn drained(&self, shutdowns: u64) {
        loop {
            let mut idle = pin!(self.shared.idle.notified());
            idle.as_mut().enable();
            {
                let state = self.shared.state.lock();
                if state.core.is_idle() || state.shutdowns != shutdowns {
                    return;
                }
            }
            idle.await;
        }
    }
}

impl<T> Shared<T> {
    pub(crate) fn now(&self) -> Nanos {
        nanos(self.began.elapsed())
    }

    /// What time it is, or 0 if nobody needs it: few ask how long an item was in line, and clocks are slow.
    fn now_for(&self, delay: Duration) -> Nanos {
        if self.is_timed || !delay.is_zero() {
            self.now()
        } else {
            0
        }
    }
}

impl<T: Work> Shared<T> {
    pub(crate) fn new(
        name: String,
        limiter: Box<dyn RateLimiter<T>>,
        meter: Option<Meter>,
        timed: bool,
    ) -> Shared<T> {
        let is_timed = timed || meter.is_some();
        Shared {
            name,
            state: Mutex::new(State {
                core: Core::new(is_timed),
                waiters: Waiters::new(),
                watched: None,
                shutdowns: 0,
            }),
            limiter: Mutex::new(limiter),
            meter,
            is_timed,
            tally: Tally::default(),
            idle: Notify::new(),
            began: Instant::now(),
        }
    }

    /// How many are in line, and who is to be called because their time had come.
    pub(crate) fn in_line(&self, state: &mut State<T>, now: Nanos) -> (usize, Vec<Waker>) {
        let (len, came) = state.core.len(now);
        self.count_adds(state);
        (len, state.waiters.call_some(came))
    }

    /// Takes the next item. If others came in line with it, as many are to be called.
    pub(crate) fn take(&self, state: &mut State<T>) -> Option<Turn> {
        // To ask what time it is takes as long as all the rest, so it is only asked if somebody needs it.
        let needs_time = self.meter.is_some() || state.core.next_due().is_some();
        let now = if needs_time { self.now() } else { 0 };
        let turn = state.core.take(now);
        self.count_adds(state);
        if let (Some(meter), Some(turn)) = (&self.meter, turn) {
            let waited = now.saturating_sub(state.core.since(turn.slot));
            meter.began(turn.slot, now, waited);
        }
        turn
    }

    /// Who is to be called because of an add.
    fn added(&self, state: &mut State<T>, added: Added) -> Option<Waker> {
        self.count_adds(state);
        match added {
            Added::InLine | Added::Waits { earliest: true } => state.waiters.call(),
            Added::Waits { earliest: false } | Added::Known | Added::Refused => None,
        }
    }

    fn count_retry(&self) {
        self.tally.retried();
        if let Some(meter) = &self.meter {
            meter.retried();
        }
    }

    fn count_adds(&self, state: &mut State<T>) {
        if let Some(meter) = &self.meter {
            meter.added(state.core.take_adds());
        }
    }

    pub(crate) fn finish(&self, slot: SlotId) {
        // Before the slot can be another item's.
        if let Some(meter) = &self.meter {
            meter.ended(slot, self.now());
        }
        let (finished, called) = {
            let mut state = self.state.lock();
            let finished = state.core.finish(slot);
            let called = finished.in_line_again.then(|| state.waiters.call()).flatten();
            (finished, called)
        };
        drop(finished.forgotten);
        wake(called);
        if finished.idle {
            self.idle.notify_waiters();
        }
    }
}

/// Calls those who were chosen under the lock, without it: whoever is woken may come at once.
pub(crate) fn wake(called: impl IntoIterator<Item = Waker>) {
    called.into_iter().for_each(Waker::wake);
}

fn nanos(time: Duration) -> Nanos {
    Nanos::try_from(time.as_nanos()).unwrap_or(Nanos::MAX / 2)
}

impl<T> Clone for WorkQueue<T> {
    fn clone(&self) -> Self {
        WorkQueue {
            shared: Arc::clone(&self.shared),
        }
    }
}

impl<T: Work> fmt::Debug for WorkQueue<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WorkQueue")
            .field("name", &self.shared.name)
            .field("len", &self.len())
            .field("running", &self.running())
            .field("delayed", &self.delayed())
            .finish_non_exhaustive()
    }
}
