//! The queue that programs use: the state machine behind a lock, with a clock and waiting tasks.

use std::fmt;
use std::future::poll_fn;
use std::hash::Hash;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Poll, Waker};
use std::time::Duration;

use crate::builder::QueueBuilder;
use crate::core::{AddResult, Core, Nanos, NextItem, SlotId};
use crate::guard::ItemGuard;
use crate::limit::RateLimiter;
use crate::metrics::Meter;
use crate::outcome::AttemptResult;
use crate::stats::Counters;
use crate::sync::{Instant, Mutex, Notify, sleep_until, timeout};
use crate::wait::{Progress, Wait};
use crate::waiters::Waiters;

/// Types that can be queued: everything that can be compared, hashed and cloned, for example a `String` or a key.
///
/// Implemented for all types that meet the bounds. Items are cloned for each attempt, so cloning should be cheap.
pub trait QueueItem: Clone + Eq + Hash + Send + Sync + 'static {}

impl<T: Clone + Eq + Hash + Send + Sync + 'static> QueueItem for T {}

/// A queue of items to process. An item is queued at most once, and never processed twice at the same time.
///
/// Adding an item that is queued has no effect. An item that is added while it is processed is queued again when its
/// processing ends. Items can be delayed, rate limited after failures, and ordered by priority. While items with a lower
/// priority are queued, every eighth item taken is the one that was queued first, so low priorities do not starve.
///
/// Clones share one queue. It corresponds to client-go's `workqueue.TypedRateLimitingInterface` and to
/// controller-runtime's priority queue.
///
/// # Examples
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
/// queue.add("a"); // added while it is processed
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
    "DelayingInterface",
    "NewTypedRateLimitingQueue",
    "NewRateLimitingQueue",
    "priorityqueue",
))]
pub struct WorkQueue<T> {
    pub(crate) shared: Arc<Shared<T>>,
}

pub(crate) struct Shared<T> {
    name: String,
    pub(crate) state: Mutex<State<T>>,
    limiter: Mutex<Box<dyn RateLimiter<T>>>,
    /// None without metrics.
    pub(crate) meter: Option<Meter>,
    /// Whether the times at which items are queued are recorded.
    pub(crate) tracks_times: bool,
    pub(crate) counters: Counters,
    /// Notified when no item is queued or running, and when drains have to end.
    idle: Notify,
    pub(crate) created: Instant,
}

pub(crate) struct State<T> {
    pub(crate) core: Core<T>,
    /// One is woken for each item that is queued, and when a waiter has to take the timer.
    pub(crate) waiters: Waiters,
    /// When the timer fires, if a waiter holds it.
    pub(crate) timer: Option<Nanos>,
    /// Number of shutdowns. A drain ends when this changes.
    shutdowns: u64,
}

/// Options for adding an item. By default it is queued at once with priority 0.
///
/// # Examples
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
#[must_use = "options have no effect until an item is added with them"]
pub struct AddOptions {
    priority: i32,
    after: Option<Duration>,
    rate_limited: bool,
}

impl AddOptions {
    /// Returns the default options: at once, with priority 0.
    pub fn new() -> AddOptions {
        AddOptions::default()
    }

    /// Sets the priority. Higher ones are processed first. An item that is queued with a lower priority is moved up.
    pub fn priority(mut self, priority: i32) -> AddOptions {
        self.priority = priority;
        self
    }

    /// Delays the item. If it is delayed already, the earlier time wins.
    pub fn after(mut self, delay: Duration) -> AddOptions {
        self.after = Some(delay);
        self
    }

    /// Counts a failure of the item, and delays it as the rate limiter demands.
    pub fn rate_limited(mut self) -> AddOptions {
        self.rate_limited = true;
        self
    }
}

/// Items that were not processed to the end when a queue was shut down. Each item is in one of the lists only.
///
/// Returned by [`WorkQueue::drain`] and [`Workers::run`](crate::Workers::run).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remaining<T> {
    /// Items that were queued.
    pub queued: Vec<T>,
    /// Items that were being processed.
    pub running: Vec<T>,
    /// Items that were delayed: added with a delay, or to be retried by [`workers`](crate::workers). This includes items that
    /// failed during the drain.
    pub delayed: Vec<T>,
}

impl<T> Remaining<T> {
    /// Returns whether all items were processed, except for delayed ones.
    #[must_use]
    pub fn is_drained(&self) -> bool {
        self.queued.is_empty() && self.running.is_empty()
    }
}

impl<T: QueueItem> WorkQueue<T> {
    /// Creates a queue with client-go's default rate limiter; see [`default_limiter`](crate::default_limiter).
    #[must_use]
    pub fn new(name: impl Into<String>) -> WorkQueue<T> {
        WorkQueue::builder(name).build()
    }

    /// Creates a queue with a rate limiter.
    #[must_use]
    pub fn with_limiter(name: impl Into<String>, limiter: impl RateLimiter<T>) -> WorkQueue<T> {
        WorkQueue::builder(name).limiter(limiter).build()
    }

    /// Returns a builder of a queue.
    pub fn builder(name: impl Into<String>) -> QueueBuilder<T> {
        QueueBuilder::new(name.into())
    }

    /// Returns the name of the queue.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.shared.name
    }

    /// Adds an item. This has no effect after [`WorkQueue::shut_down`].
    pub fn add(&self, item: T) {
        self.add_with(item, AddOptions::new());
    }

    /// Adds an item after a delay. If it is delayed already, the earlier time wins.
    #[doc(alias = "AddAfter")]
    pub fn add_after(&self, item: T, delay: Duration) {
        self.add_with(item, AddOptions::new().after(delay));
    }

    /// Counts a failure of an item, and adds it after the delay that the rate limiter returns.
    #[doc(alias = "AddRateLimited")]
    pub fn add_rate_limited(&self, item: T) {
        self.add_with(item, AddOptions::new().rate_limited());
    }

    /// Adds an item with a priority, a delay or a rate limit.
    #[doc(alias = "AddWithOpts")]
    pub fn add_with(&self, item: T, options: AddOptions) {
        let is_retry = options.rate_limited || options.after.is_some();
        let mut delay = options.after.unwrap_or_default();
        if options.rate_limited {
            if self.is_shut_down() {
                return;
            }
            delay = delay.max(self.next_delay(&item));
        }
        let (result, waker) = {
            let mut state = self.shared.state.lock();
            let now = self.shared.now_for(delay);
            let result = if delay.is_zero() {
                state.core.add(item, now, options.priority)
            } else {
                let due = now.saturating_add(nanos(delay));
                state.core.add_at(item, due, options.priority)
            };
            (result, self.shared.waiter_for(&mut state, result))
        };
        if is_retry && result != AddResult::ShutDown {
            self.shared.count_retry();
        }
        wake_all(waker);
    }

    /// Requeues a running item after a delay, but not before its processing ends. After a shutdown the item stays delayed.
    ///
    /// The item is found by its slot, so no code of the item's type is called that could panic.
    pub(crate) fn requeue_after(&self, item: &ItemGuard<T>, delay: Duration) {
        let now = self.shared.now_for(delay);
        let due = now.saturating_add(nanos(delay));
        let waker = {
            let mut state = self.shared.state.lock();
            let result = state.core.requeue_at(item.slot, due, now, item.priority);
            self.shared.waiter_for(&mut state, result)
        };
        self.shared.count_retry();
        wake_all(waker);
    }

    /// Counts a failure of an item, and returns the delay before its next attempt.
    pub(crate) fn next_delay(&self, item: &T) -> Duration {
        self.shared.limiter.lock().when(item)
    }

    /// Forgets the failures of an item. The item stays queued or delayed.
    #[doc(alias = "Forget")]
    pub fn forget(&self, item: &T) {
        self.shared.limiter.lock().forget(item);
    }

    /// Returns the number of failures of an item since they were last forgotten.
    #[doc(alias = "NumRequeues")]
    #[must_use]
    pub fn requeues(&self, item: &T) -> u32 {
        self.shared.limiter.lock().requeues(item)
    }

    /// Waits for the next item to process. Returns none if the queue is shut down and empty.
    ///
    /// No other caller gets the same item before the guard is dropped.
    ///
    /// # Cancel safety
    /// This method is cancel safe: if the future is dropped, the item goes to another caller.
    #[doc(alias("Get", "Done"))]
    pub async fn get(&self) -> Option<ItemGuard<T>> {
        match self.try_get() {
            Some(item) => Some(item),
            None => self.wait().await,
        }
    }

    async fn wait(&self) -> Option<ItemGuard<T>> {
        let mut wait = Wait::new(self);
        loop {
            let due = match poll_fn(|cx| wait.poll_item(cx)).await {
                Progress::Finished(item) => return item,
                Progress::SleepUntil(due) => due,
            };
            let mut timer = pin!(sleep_until(self.shared.created + Duration::from_nanos(due)));
            poll_fn(|cx| match wait.poll_woken(cx) {
                Poll::Ready(()) => Poll::Ready(()),
                Poll::Pending => timer.as_mut().poll(cx),
            })
            .await;
        }
    }

    /// Returns the next item to process, if there is one.
    #[must_use]
    pub fn try_get(&self) -> Option<ItemGuard<T>> {
        let mut state = self.shared.state.lock();
        let next = self.shared.pop(&mut state)?;
        if next.also_due > 0 {
            let wakers = state.waiters.pop_up_to(next.also_due as usize);
            let item = self.guard(&state, next.slot);
            drop(state);
            wake_all(wakers);
            return Some(item);
        }
        Some(self.guard(&state, next.slot))
    }

    /// Returns the guard of a running item.
    pub(crate) fn guard(&self, state: &State<T>, slot: SlotId) -> ItemGuard<T> {
        ItemGuard {
            queue: self.clone(),
            slot,
            item: state.core.item(slot),
            priority: state.core.priority(slot),
        }
    }

    /// Returns the number of queued items.
    #[must_use]
    pub fn len(&self) -> usize {
        let (len, wakers) = {
            let mut state = self.shared.state.lock();
            self.shared.count_queued(&mut state, self.shared.now())
        };
        wake_all(wakers);
        len
    }

    /// Returns whether no item is queued.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the number of items being processed.
    #[must_use]
    pub fn running(&self) -> usize {
        self.shared.state.lock().core.running()
    }

    /// Returns the number of delayed items.
    #[must_use]
    pub fn delayed(&self) -> usize {
        self.shared.state.lock().core.delayed()
    }

    /// Shuts the queue down: rejects new items, and ends every [`WorkQueue::drain`] in progress.
    ///
    /// Queued items can still be processed. Delayed items stay delayed.
    #[doc(alias = "ShutDown")]
    pub fn shut_down(&self) {
        let wakers = {
            let mut state = self.shared.state.lock();
            state.core.close();
            state.shutdowns += 1;
            state.waiters.pop_up_to(usize::MAX)
        };
        wake_all(wakers);
        self.shared.idle.notify_waiters();
    }

    /// Returns whether the queue is shut down.
    #[doc(alias = "ShuttingDown")]
    #[must_use]
    pub fn is_shut_down(&self) -> bool {
        self.shared.state.lock().core.is_closed()
    }

    /// Shuts the queue down, waits until all queued and running items are done or the time limit has passed, and returns the
    /// remaining items.
    ///
    /// # Cancel safety
    /// The queue is shut down even if the future is dropped after its first poll.
    #[doc(alias = "ShutDownWithDrain")]
    pub async fn drain(&self, limit: Duration) -> Remaining<T> {
        let (shutdowns, wakers) = {
            let mut state = self.shared.state.lock();
            state.core.close();
            (state.shutdowns, state.waiters.pop_up_to(usize::MAX))
        };
        wake_all(wakers);
        // The remaining items show whether this timed out.
        let _ = timeout(limit, self.drained(shutdowns)).await;
        let [queued, running, delayed] = self.shared.state.lock().core.remaining();
        Remaining {
            queued,
            running,
            delayed,
        }
    }

    /// Waits until no item is queued or running, or the queue is shut down once more.
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
        nanos(self.created.elapsed())
    }

    /// Returns the time, or 0 if an add with this delay does not need it: reading the clock is slow.
    fn now_for(&self, delay: Duration) -> Nanos {
        if self.tracks_times || !delay.is_zero() {
            self.now()
        } else {
            0
        }
    }
}

impl<T: QueueItem> Shared<T> {
    pub(crate) fn new(
        name: String,
        limiter: Box<dyn RateLimiter<T>>,
        meter: Option<Meter>,
        tracks_times: bool,
    ) -> Shared<T> {
        let tracks_times = tracks_times || meter.is_some();
        Shared {
            name,
            state: Mutex::new(State {
                core: Core::new(tracks_times),
                waiters: Waiters::new(),
                timer: None,
                shutdowns: 0,
            }),
            limiter: Mutex::new(limiter),
            meter,
            tracks_times,
            counters: Counters::default(),
            idle: Notify::new(),
            created: Instant::now(),
        }
    }

    /// Returns the number of queued items, and the wakers of waiters for those that became due.
    pub(crate) fn count_queued(&self, state: &mut State<T>, now: Nanos) -> (usize, Vec<Waker>) {
        let (len, new) = state.core.queued_at(now);
        self.report_adds(state);
        (len, state.waiters.pop_up_to(new))
    }

    /// Takes the next item. The caller wakes a waiter for each other item that became due.
    pub(crate) fn pop(&self, state: &mut State<T>) -> Option<NextItem> {
        // Reading the clock takes as long as everything else here, so it is read only if needed.
        let needs_time = self.meter.is_some() || state.core.next_due().is_some();
        let now = if needs_time { self.now() } else { 0 };
        let next = state.core.pop(now);
        self.report_adds(state);
        if let (Some(meter), Some(next)) = (&self.meter, next) {
            let queued_for = now.saturating_sub(state.core.queued_since(next.slot));
            meter.item_started(next.slot, now, queued_for);
        }
        next
    }

    /// Returns the waker of the waiter that has to be woken after an add.
    fn waiter_for(&self, state: &mut State<T>, result: AddResult) -> Option<Waker> {
        self.report_adds(state);
        match result {
            AddResult::Queued | AddResult::Delayed { earliest: true } => state.waiters.pop(),
            AddResult::Delayed { earliest: false } | AddResult::Duplicate | AddResult::ShutDown => None,
        }
    }

    fn count_retry(&self) {
        self.counters.count_retry();
        if let Some(meter) = &self.meter {
            meter.count_retry();
        }
    }

    pub(crate) fn count_attempt(&self, result: &AttemptResult) {
        self.counters.count_attempt(result);
        if let Some(meter) = &self.meter {
            meter.count_attempt(result);
        }
    }

    fn report_adds(&self, state: &mut State<T>) {
        if let Some(meter) = &self.meter {
            meter.count_adds(state.core.take_adds());
        }
    }

    pub(crate) fn finish(&self, slot: SlotId) {
        // Before the slot can belong to another item.
        if let Some(meter) = &self.meter {
            meter.item_finished(slot, self.now());
        }
        let (completion, waker) = {
            let mut state = self.state.lock();
            let completion = state.core.finish(slot);
            let waker = completion.requeued.then(|| state.waiters.pop()).flatten();
            (completion, waker)
        };
        drop(completion.removed);
        wake_all(waker);
        if completion.idle {
            self.idle.notify_waiters();
        }
    }
}

/// Wakes tasks. Must be called without the lock, because a woken task may run at once.
pub(crate) fn wake_all(wakers: impl IntoIterator<Item = Waker>) {
    wakers.into_iter().for_each(Waker::wake);
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

impl<T: QueueItem> fmt::Debug for WorkQueue<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WorkQueue")
            .field("name", &self.shared.name)
            .field("len", &self.len())
            .field("running", &self.running())
            .field("delayed", &self.delayed())
            .finish_non_exhaustive()
    }
}
