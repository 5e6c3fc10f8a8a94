//! One handler or stream of an informer: its mailbox, its task and its measurements.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::task::{Context, Poll};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::runtime::Handle;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tracing::Span;

use super::Processor;
use super::mailbox::Mailbox;
use super::queue::Queue;
use super::resync::ResyncTimes;
use super::runner::Runner;
use crate::handler::current_handler::{CurrentHandler, WaitTarget};
use crate::handler::{AnyListener, Event};
use crate::measures::{AtomicInstant, Clock, Durations, Histogram, add_unshared};
use crate::object::Kind;
use crate::pipeline::store::{Change, Snapshot};
use crate::util::panics::drop_logged;

/// One handler or stream of an informer.
pub(crate) struct Listener<K> {
    id: u64,
    name: String,
    mailbox: Mailbox<Queue<K>>,
    /// Cancelled when the handler will not be called again.
    done: CancellationToken,
    panics: AtomicU64,
    clock: Clock,
    /// Number of delivered events.
    delivered: AtomicU64,
    /// Durations of calls.
    calls: Histogram,
    /// Start of the current call.
    call_start: AtomicInstant,
    /// Waiting times of sampled changes.
    waits: Histogram,
    pub(super) resync: Mutex<ResyncTimes>,
    /// The task, until it is spawned by the start of the informer. Streams have none.
    runner: Mutex<Option<Runner<K>>>,
    is_stream: bool,
    processor: Weak<Processor<K>>,
    processor_id: u64,
}

/// Marks the listener as done when its task is dropped.
struct TaskEnd<K: Kind>(Arc<Listener<K>>);

impl<K: Kind> Drop for TaskEnd<K> {
    fn drop(&mut self) {
        self.0.mark_done();
    }
}

impl<K: Kind> Listener<K> {
    pub(super) fn new(
        name: String,
        every_event: bool,
        resync: ResyncTimes,
        processor: &Processor<K>,
        runner: Option<Runner<K>>,
    ) -> Arc<Listener<K>> {
        static IDS: AtomicU64 = AtomicU64::new(0);
        Arc::new(Listener {
            id: IDS.fetch_add(1, Ordering::Relaxed),
            name,
            mailbox: Mailbox::new(Queue::new(every_event)),
            done: CancellationToken::new(),
            panics: AtomicU64::new(0),
            clock: Clock::default(),
            delivered: AtomicU64::new(0),
            calls: Histogram::default(),
            call_start: AtomicInstant::default(),
            waits: Histogram::default(),
            resync: Mutex::new(resync),
            is_stream: runner.is_none(),
            runner: Mutex::new(runner),
            processor: Weak::clone(&processor.this),
            processor_id: processor.id,
        })
    }

    pub(super) fn mailbox(&self) -> &Mailbox<Queue<K>> {
        &self.mailbox
    }

    /// Starts the task that calls the handler.
    ///
    /// A runtime that is shutting down drops the task instead, and with it user code: the caller holds no
    /// lock.
    pub(super) fn run(self: &Arc<Self>, runtime: &Handle) {
        let Some(runner) = self.runner.lock().take() else {
            return;
        };
        let listener = Arc::clone(self);
        // Marks the listener as done even if the runtime drops the task.
        let end = TaskEnd(Arc::clone(self));
        runtime.spawn(async move {
            let _end = end;
            runner(listener).await;
        });
    }

    /// Waits until the handler will not be called again. Streams have no task; their owner drains them.
    pub(super) async fn finished(&self) {
        if !self.is_stream {
            self.done.cancelled().await;
        }
    }

    pub(super) fn begin(&self, snapshot: &Snapshot<K>) {
        self.mailbox.add(|queue| queue.begin(snapshot));
    }

    pub(super) fn push(&self, changes: &[Change<K>]) {
        self.mailbox.add(|queue| {
            for change in changes {
                queue.push(change);
            }
            if let Some(first) = changes.first() {
                queue.sample(first);
            }
        });
    }

    pub(super) fn begin_resync(&self, snapshot: &Snapshot<K>) {
        self.mailbox.add(|queue| queue.resync(snapshot));
    }

    /// Ends the listener when all events are delivered.
    pub(super) fn close(&self) {
        self.mailbox.close();
        // A stream may never be polled, so it would not find out that its initial events are not coming.
        if self.is_stream && self.mailbox.read(Queue::expects_list) {
            self.mark_done();
        }
    }

    /// Ends the listener immediately: no call starts afterwards.
    pub(super) fn terminate(&self) {
        self.mailbox.remove();
        // A spawned task ends by itself.
        if self.discard_runner() || self.is_stream {
            self.mark_done();
        }
    }

    /// Drops a handler whose task was not spawned. Returns whether there was one.
    ///
    /// The caller holds no lock, because this drops user code.
    pub(super) fn discard_runner(&self) -> bool {
        let runner = self.runner.lock().take();
        let never_ran = runner.is_some();
        drop_logged("an event handler", runner);
        never_ran
    }

    /// Marks the listener as done, because it has no task or its task has ended.
    pub(super) fn mark_done(&self) {
        self.done.cancel();
    }

    /// Takes the next event when there is one, or `None` at the end.
    pub(super) fn poll_take(&self, context: &mut Context<'_>) -> Poll<Option<Event<K>>> {
        let popped = self.mailbox.poll_take(context);
        popped.map(|popped| {
            popped.map(|(event, waiting_since)| {
                self.count_delivery(waiting_since);
                event
            })
        })
    }

    /// Counts a delivered event and records how long its change has waited.
    pub(super) fn count_delivery(&self, waiting_since: Option<Instant>) {
        if let Some(since) = waiting_since {
            self.waits.record(since.elapsed());
        }
        add_unshared(&self.delivered, 1);
    }

    pub(super) fn call_began(&self, at: Instant) {
        self.call_start.set(&self.clock, at);
    }

    /// Records the duration of a call and returns its end time.
    pub(super) fn call_ended(&self, began: Instant) -> Instant {
        let now = Instant::now();
        self.calls.record(now.duration_since(began));
        now
    }

    /// Records that no call is running.
    pub(super) fn clear_call(&self) {
        self.call_start.clear();
    }

    pub(super) fn panicked(&self, message: &str) {
        self.panics.fetch_add(1, Ordering::Relaxed);
        tracing::error!(handler = %self.name, panic = message, "event handler panicked");
    }

    pub(super) fn span(&self, event: &Event<K>) -> Span {
        tracing::debug_span!(
            "handle",
            handler = %self.name,
            event = event.event_type(),
            key = %event.key(),
            version = %event.object().version(),
        )
    }

    pub(super) fn current_handler(&self) -> CurrentHandler {
        CurrentHandler {
            listener: self.id,
            processor: self.processor_id,
        }
    }
}

impl<K: Kind> AnyListener for Listener<K> {
    fn name(&self) -> &str {
        &self.name
    }

    fn backlog(&self) -> usize {
        self.mailbox.read(Queue::len)
    }

    fn panics(&self) -> u64 {
        self.panics.load(Ordering::Relaxed)
    }

    fn delivered(&self) -> u64 {
        self.delivered.load(Ordering::Relaxed)
    }

    fn calls(&self) -> Durations {
        self.calls.read()
    }

    fn waits(&self) -> Durations {
        self.waits.read()
    }

    fn running_for(&self) -> Option<Duration> {
        self.call_start.elapsed(&self.clock, Instant::now())
    }

    fn synced(&self) -> &CancellationToken {
        self.mailbox.synced()
    }

    fn removed(&self) -> &CancellationToken {
        self.mailbox.removed()
    }

    fn done(&self) -> &CancellationToken {
        &self.done
    }

    fn remove(self: Arc<Self>) {
        match self.processor.upgrade() {
            Some(processor) => processor.remove(&self),
            None => self.terminate(),
        }
    }

    fn end(&self) -> WaitTarget {
        WaitTarget::Listener(self.id)
    }
}

impl<K> std::fmt::Debug for Listener<K> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Listener")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}
