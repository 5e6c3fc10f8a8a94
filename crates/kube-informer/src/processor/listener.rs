//! One handler's place in the stream: its queue, its task, its end.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::task::{Context, Poll};
use std::time::Duration;

use futures::FutureExt;
use futures::future::{BoxFuture, poll_fn};
use futures::task::AtomicWaker;
use parking_lot::Mutex;
use tokio::runtime::Handle;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tracing::{Instrument, Span};

use super::Processor;
use super::event::Event;
use super::handler::EventHandler;
use super::queue::Queue;
use super::resync::ResyncTimes;
use crate::kind::Kind;
use crate::measure::{Clock, Durations, Histogram, Moment, add_alone};
use crate::panics;
use crate::planted::{self, Bug};
use crate::store::{Change, Snapshot};

/// Says that a listener's task is over when it is dropped.
struct Ended<K: Kind>(Arc<Listener<K>>);

impl<K: Kind> Drop for Ended<K> {
    fn drop(&mut self) {
        self.0.ended();
    }
}

/// For how many turns of other threads a thread made for blocking waits for the next event.
const PATIENCE: u32 = 16;

/// How many events a task handles before it lets others run.
const TURN: u32 = 64;

tokio::task_local! {
    /// The listener whose handler runs here, so that it does not wait for itself.
    static INSIDE: u64;
}

/// The handler's place in the stream.
pub(crate) struct Listener<K> {
    id: u64,
    name: String,
    queue: Mutex<Queue<K>>,
    /// Woken when something is in the queue, or nothing will be any more.
    ready: AtomicWaker,
    /// What is left is delivered, then it ends.
    closing: AtomicBool,
    /// Nothing is delivered any more.
    removed: Flag,
    /// Every object of the beginning has been handled.
    synced: Flag,
    /// The handler will never run again.
    done: CancellationToken,
    panics: AtomicU64,
    clock: Clock,
    /// How many events were taken.
    told: AtomicU64,
    /// How long calls took, and when the one began that is running.
    calls: Histogram,
    called: Moment,
    /// How long changes waited; of those that waited together, of some.
    waits: Histogram,
    pub(super) resync: Mutex<ResyncTimes>,
    /// What is to be run once the informer runs; a stream has nothing to run.
    runner: Mutex<Option<Runner<K>>>,
    is_stream: bool,
    processor: Weak<Processor<K>>,
    #[cfg(feature = "__planted")]
    misses: AtomicBool,
}

/// Something that happens once: waited for as a token, and looked at for every event, which a token's lock is too dear
/// for.
#[derive(Default)]
struct Flag {
    raised: AtomicBool,
    token: CancellationToken,
}

impl Flag {
    fn raise(&self) {
        if !self.raised.swap(true, Ordering::AcqRel) {
            self.token.cancel();
        }
    }

    fn is_raised(&self) -> bool {
        self.raised.load(Ordering::Acquire)
    }
}

/// The task that calls a handler.
pub(crate) type Runner<K> = Box<dyn FnOnce(Arc<Listener<K>>) -> BoxFuture<'static, ()> + Send>;

/// What there is for a handler now.
pub(crate) enum Taken<K> {
    Event(Event<K>),
    /// Something may come.
    Nothing,
    /// Nothing will come any more.
    Finished,
}

impl<K: Kind> Listener<K> {
    pub(super) fn new(
        name: String,
        every_event: bool,
        resync: ResyncTimes,
        processor: Weak<Processor<K>>,
        runner: Option<Runner<K>>,
    ) -> Arc<Listener<K>> {
        static IDS: AtomicU64 = AtomicU64::new(0);
        Arc::new(Listener {
            id: IDS.fetch_add(1, Ordering::Relaxed),
            name,
            queue: Mutex::new(Queue::new(every_event)),
            ready: AtomicWaker::new(),
            closing: AtomicBool::new(false),
            removed: Flag::default(),
            synced: Flag::default(),
            done: CancellationToken::new(),
            panics: AtomicU64::new(0),
            clock: Clock::start(),
            told: AtomicU64::new(0),
            calls: Histogram::default(),
            called: Moment::default(),
            waits: Histogram::default(),
            resync: Mutex::new(resync),
            is_stream: runner.is_none(),
            runner: Mutex::new(runner),
            processor,
            #[cfg(feature = "__planted")]
            misses: AtomicBool::new(false),
        })
    }

    /// Starts the task that calls the handler. A runtime that is at its end drops it instead, so this is for places where
    /// no lock is held.
    pub(super) fn run(self: &Arc<Self>, runtime: &Handle) {
        let Some(runner) = self.runner.lock().take() else {
            return;
        };
        let listener = Arc::clone(self);
        // However the task ends, also by the runtime's, nobody may wait for it in vain.
        let ended = Ended(Arc::clone(self));
        runtime.spawn(async move {
            let _ended = ended;
            runner(listener).await;
        });
    }

    /// Waits until the handler will run no more. A stream is no task: its holder takes what is left when he likes.
    pub(super) async fn finished(&self) {
        if !self.is_stream {
            self.done.cancelled().await;
        }
    }

    pub(super) fn begin(&self, snapshot: &Snapshot<K>) {
        self.queue.lock().begin(snapshot);
        if planted::is(Bug::HandlerSyncedTooSoon) {
            self.synced.raise();
        }
        self.ready.wake();
    }

    pub(super) fn push(&self, changes: &[Change<K>]) {
        {
            let mut queue = self.queue.lock();
            // Whoever leaves clears the queue last, so what is pushed afterwards would stay.
            if self.removed.is_raised() && !planted::is(Bug::TellRemoved) {
                return;
            }
            #[cfg(feature = "__planted")]
            if self.misses.swap(false, Ordering::Relaxed) {
                return;
            }
            for change in changes {
                queue.push(change);
            }
            if let Some(first) = changes.first() {
                queue.sample(first);
            }
        }
        self.ready.wake();
    }

    pub(super) fn begin_resync(&self, snapshot: &Snapshot<K>) {
        self.queue.lock().resync(snapshot);
        self.ready.wake();
    }

    /// Has it miss the next change, if such a bug was planted.
    #[cfg_attr(
        not(feature = "__planted"),
        expect(clippy::unused_self, reason = "there is none")
    )]
    pub(super) fn miss_next(&self) {
        #[cfg(feature = "__planted")]
        self.misses.store(true, Ordering::Relaxed);
    }

    /// Lets it end once everything is delivered.
    pub(super) fn close(&self) {
        self.closing.store(true, Ordering::Release);
        self.ready.wake();
    }

    /// Ends it at once: nothing more is delivered, except to a handler that is running.
    ///
    /// What it lets go of, it drops under no lock: a handler may remove itself when it is dropped, and to free a long backlog
    /// takes a while, for which whoever pushes need not wait.
    pub(super) fn leave(&self) {
        self.removed.raise();
        if !planted::is(Bug::TellRemoved) {
            let cleared = self.queue.lock().clear();
            drop(cleared);
        }
        // A handler whose task never began will never run, and a stream has none.
        let never_ran = self.runner.lock().take();
        if never_ran.is_some() || self.is_stream {
            self.ended();
        }
        self.ready.wake();
    }

    /// There is no task, or it has ended.
    pub(super) fn ended(&self) {
        self.done.cancel();
    }

    /// The next event. Whoever asks has finished with the one before.
    pub(super) fn take(&self) -> Taken<K> {
        if self.removed.is_raised() && !planted::is(Bug::TellRemoved) {
            return Taken::Finished;
        }
        // Before the queue is looked at, so that nothing pushed before the closing is overlooked.
        let closing = self.closing.load(Ordering::Acquire);
        let (popped, sampled, past_initial) = {
            let mut queue = self.queue.lock();
            let popped = queue.pop();
            let sampled = queue.sampled(popped.as_ref());
            (popped, sampled, queue.is_past_initial())
        };
        if let Some(since) = sampled {
            self.waits.note(since.elapsed());
        }
        if past_initial && !self.synced.is_raised() {
            self.synced.raise();
        }
        match popped {
            Some(event) => {
                add_alone(&self.told, 1);
                Taken::Event(event)
            }
            None if closing => Taken::Finished,
            None => Taken::Nothing,
        }
    }

    /// The next event, if there is one or comes in the time of a few turns: to come back to this thread costs more.
    fn take_soon(&self, now: &mut Instant) -> Option<Event<K>> {
        for turn in 0..=PATIENCE {
            match self.take() {
                Taken::Event(event) => {
                    if turn > 0 {
                        *now = Instant::now();
                    }
                    return Some(event);
                }
                Taken::Finished => return None,
                Taken::Nothing if turn < PATIENCE => {
                    self.called.clear();
                    std::thread::yield_now();
                }
                Taken::Nothing => {}
            }
        }
        None
    }

    /// The next event, as soon as there is one; none at the end.
    pub(super) fn poll_take(&self, context: &mut Context<'_>) -> Poll<Option<Event<K>>> {
        let ready = |taken| match taken {
            Taken::Event(event) => Some(Poll::Ready(Some(event))),
            Taken::Finished => Some(Poll::Ready(None)),
            Taken::Nothing => None,
        };
        if let Some(taken) = ready(self.take()) {
            return taken;
        }
        self.ready.register(context.waker());
        ready(self.take()).unwrap_or(Poll::Pending)
    }

    /// The next event, as soon as there is one. Clocks are slow, so the time goes on only if there was a wait: what is
    /// there already begins when the one before has ended.
    async fn next(&self, now: &mut Instant) -> Option<Event<K>> {
        let mut waited = false;
        let next = poll_fn(|context| {
            let next = self.poll_take(context);
            if next.is_pending() {
                waited = true;
                self.called.clear();
            }
            next
        })
        .await;
        if waited {
            *now = Instant::now();
        }
        next
    }

    fn panicked(&self, panic: &(dyn std::any::Any + Send)) {
        self.panics.fetch_add(1, Ordering::Relaxed);
        tracing::error!(handler = %self.name, panic = panics::message(panic), "an event handler panicked");
    }

    /// Notes that a call has ended, and when.
    fn call_ended(&self, began: Instant) -> Instant {
        let now = Instant::now();
        self.calls.note(now.duration_since(began));
        now
    }

    fn span(&self, event: &Event<K>) -> Span {
        tracing::debug_span!(
            "handle",
            handler = %self.name,
            event = event.word(),
            key = %event.key(),
            version = %event.object().version(),
        )
    }

    fn call(&self, handler: &mut impl EventHandler<K>, event: Event<K>, now: &mut Instant) {
        self.called.set(&self.clock, *now);
        let _span = self.span(&event).entered();
        let called = INSIDE.sync_scope(self.id, || {
            catch_unwind(AssertUnwindSafe(|| handler.handle(event)))
        });
        if let Err(panic) = called {
            self.panicked(&*panic);
            if planted::is(Bug::PanicEndsHandler) {
                self.removed.raise();
            }
        }
        *now = self.call_ended(*now);
    }

    /// Lets others run, and is in line again at once. Says what time it is afterwards.
    ///
    /// Not tokio's `yield_now`: it puts a task in line only when its worker runs out of others or has polled some sixty of
    /// them, and beside a busy reflector and controller that is long.
    async fn step_back(&self) -> Instant {
        self.called.clear();
        let mut stepped = false;
        poll_fn(|context| {
            if stepped {
                return Poll::Ready(());
            }
            stepped = true;
            context.waker().wake_by_ref();
            Poll::Pending
        })
        .await;
        Instant::now()
    }
}

/// Calls a handler that never blocks, right in the listener's task.
pub(super) fn inline<K: Kind>(mut handler: impl EventHandler<K>) -> Runner<K> {
    Box::new(move |listener| {
        Box::pin(async move {
            let mut turn = 0;
            let mut now = Instant::now();
            while let Some(event) = listener.next(&mut now).await {
                listener.call(&mut handler, event, &mut now);
                turn += 1;
                if turn % TURN == 0 {
                    now = listener.step_back().await;
                }
            }
        })
    })
}

/// Calls a handler that may block, on a thread made for that, for as long as there is something to tell.
pub(super) fn blocking<K: Kind>(mut handler: impl EventHandler<K>) -> Runner<K> {
    Box::new(move |listener| {
        Box::pin(async move {
            while let Some(first) = listener.next(&mut Instant::now()).await {
                let here = Arc::clone(&listener);
                let burst = tokio::task::spawn_blocking(move || {
                    let mut next = Some(first);
                    let mut now = Instant::now();
                    while let Some(event) = next {
                        here.call(&mut handler, event, &mut now);
                        next = here.take_soon(&mut now);
                    }
                    here.called.clear();
                    handler
                });
                // The runtime is being shut down: there is nobody left to tell.
                let Ok(back) = burst.await else {
                    return;
                };
                handler = back;
            }
        })
    })
}

/// Calls a handler that works asynchronously, one event at a time.
pub(super) fn asynchronous<K, F, A>(mut handler: F) -> Runner<K>
where
    K: Kind,
    F: FnMut(Event<K>) -> A + Send + 'static,
    A: Future<Output = ()> + Send + 'static,
{
    Box::new(move |listener| {
        Box::pin(async move {
            let mut turn = 0;
            let mut now = Instant::now();
            while let Some(event) = listener.next(&mut now).await {
                listener.called.set(&listener.clock, now);
                let span = listener.span(&event);
                let work = INSIDE.scope(listener.id, async { handler(event).await }.instrument(span));
                let work = pin!(AssertUnwindSafe(work).catch_unwind());
                if let Err(panic) = work.await {
                    listener.panicked(&*panic);
                }
                now = listener.call_ended(now);
                turn += 1;
                if turn % TURN == 0 {
                    now = listener.step_back().await;
                }
            }
        })
    })
}

/// A listener without the type of its objects.
pub(super) trait AnyListener: Send + Sync {
    fn name(&self) -> &str;
    fn backlog(&self) -> usize;
    fn panics(&self) -> u64;
    fn told(&self) -> u64;
    fn calls(&self) -> Durations;
    fn waits(&self) -> Durations;
    fn running_for(&self) -> Option<Duration>;
    fn synced(&self) -> &CancellationToken;
    fn removed(&self) -> &CancellationToken;
    fn done(&self) -> &CancellationToken;
    fn remove(self: Arc<Self>);
    fn is_inside(&self) -> bool;
}

impl<K: Kind> AnyListener for Listener<K> {
    fn name(&self) -> &str {
        &self.name
    }

    fn backlog(&self) -> usize {
        self.queue.lock().len()
    }

    fn panics(&self) -> u64 {
        self.panics.load(Ordering::Relaxed)
    }

    fn told(&self) -> u64 {
        self.told.load(Ordering::Relaxed)
    }

    fn calls(&self) -> Durations {
        self.calls.read()
    }

    fn waits(&self) -> Durations {
        self.waits.read()
    }

    fn running_for(&self) -> Option<Duration> {
        self.called.ago(&self.clock, Instant::now())
    }

    fn synced(&self) -> &CancellationToken {
        &self.synced.token
    }

    fn removed(&self) -> &CancellationToken {
        &self.removed.token
    }

    fn done(&self) -> &CancellationToken {
        &self.done
    }

    fn remove(self: Arc<Self>) {
        match self.processor.upgrade() {
            Some(processor) => processor.remove(&self),
            None => self.leave(),
        }
    }

    fn is_inside(&self) -> bool {
        INSIDE.try_with(|inside| *inside == self.id).unwrap_or(false)
    }
}

impl<K> std::fmt::Debug for Listener<K> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Listener")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}
