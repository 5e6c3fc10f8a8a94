//! Distributes changes to listeners, each with its own queue and task.
//!
//! The controller adds changes to the queue of each listener without waiting for it. A listener joins by
//! taking a snapshot and its position in the stream of changes in one step (contract 7).

mod listener;
mod mailbox;
mod pending;
mod queue;
mod resync;
mod runner;
mod stream;
#[cfg(test)]
mod tests;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};
use tokio::runtime::Handle;
use tokio::time::Instant;

use self::listener::Listener;
use self::resync::CheckPeriod;
use self::runner::Runner;
use crate::error::{Error, Problem};
use crate::handler::current_handler::{self, WaitTarget};
use crate::handler::{AnyListener, Event, EventHandler, HandlerOptions, Registration};
use crate::object::Kind;
use crate::pipeline::store::{Change, Store};

pub use self::stream::EventStream;

/// All listeners of an informer.
#[derive(Debug)]
pub(crate) struct Processor<K> {
    id: u64,
    this: Weak<Processor<K>>,
    store: Arc<Store<K>>,
    gate: Mutex<Gate<K>>,
}

/// State that is locked for joining, removing and publishing, each of which is short for any number of
/// objects.
#[derive(Debug)]
struct Gate<K> {
    /// Replaced rather than changed, so that the controller can iterate without the lock.
    listeners: Arc<Vec<Arc<Listener<K>>>>,
    /// Removed listeners whose tasks may still run. The tasks own them.
    removed: Vec<Weak<Listener<K>>>,
    state: ProcessorState,
    check_period: CheckPeriod,
    /// Whether the store was filled for the first time.
    filled: bool,
}

#[derive(Debug, Clone)]
enum ProcessorState {
    New,
    Running(Handle),
    Stopped,
}

/// The changes of one step of the controller.
pub(crate) struct Batch<K> {
    pub(crate) changes: Vec<Change<K>>,
    /// Whether the step included a list.
    pub(crate) listed: bool,
}

impl<K: Kind> Processor<K> {
    pub(crate) fn new(store: Arc<Store<K>>, default_resync: Duration) -> Arc<Processor<K>> {
        static IDS: AtomicU64 = AtomicU64::new(0);
        Arc::new_cyclic(|this| Processor {
            id: IDS.fetch_add(1, Ordering::Relaxed),
            this: Weak::clone(this),
            store,
            gate: Mutex::new(Gate {
                listeners: Arc::default(),
                removed: Vec::new(),
                state: ProcessorState::New,
                check_period: CheckPeriod::new(default_resync),
                filled: false,
            }),
        })
    }

    /// Adds a synchronous handler.
    pub(crate) fn add(
        &self,
        handler: impl EventHandler<K>,
        options: HandlerOptions,
    ) -> Result<Registration, Error> {
        let name = type_name(&handler);
        let options = HandlerOptions {
            every_event: options.every_event || handler.needs_every_event(),
            ..options
        };
        let runner = if options.never_blocks || handler.never_blocks() {
            runner::inline(handler)
        } else {
            runner::blocking(handler)
        };
        self.join(options, name, Some(runner)).map(register)
    }

    /// Adds an asynchronous handler.
    pub(crate) fn add_async<F, A>(&self, handler: F, options: HandlerOptions) -> Result<Registration, Error>
    where
        F: FnMut(Event<K>) -> A + Send + 'static,
        A: Future<Output = ()> + Send + 'static,
    {
        let name = type_name(&handler);
        self.join(options, name, Some(runner::asynchronous(handler)))
            .map(register)
    }

    /// Adds a stream of events.
    pub(crate) fn stream(&self, options: HandlerOptions) -> Result<EventStream<K>, Error> {
        self.join(options, "stream", None).map(EventStream::new)
    }

    /// Takes a snapshot and a position in the stream of changes in one step (contract 7).
    fn join(
        &self,
        options: HandlerOptions,
        type_name: &str,
        runner: Option<Runner<K>>,
    ) -> Result<Arc<Listener<K>>, Error> {
        let name = options.name.unwrap_or_else(|| type_name.to_owned());
        let mut gate = self.gate.lock();
        let runtime = match &gate.state {
            ProcessorState::Stopped => return Err(Error::new(Problem::Stopped)),
            ProcessorState::Running(runtime) => Some(runtime.clone()),
            ProcessorState::New => None,
        };
        let joined = gate
            .check_period
            .join(options.resync, runtime.is_some(), Instant::now(), &name);
        if let Some(check) = joined.lowered_check {
            for listener in &*gate.listeners {
                listener.resync.lock().set_check_period(check);
            }
        }
        let listener = Listener::new(name, options.every_event, joined.times, self, runner);
        if gate.filled {
            listener.begin(&self.store.snapshot());
        }
        Arc::make_mut(&mut gate.listeners).push(Arc::clone(&listener));
        drop(gate);
        if let Some(runtime) = &runtime {
            listener.run(runtime);
        }
        Ok(listener)
    }

    /// Removes a listener unless it was already removed.
    fn remove(&self, listener: &Arc<Listener<K>>) {
        {
            let mut gate = self.gate.lock();
            if gate.listeners.iter().any(|other| Arc::ptr_eq(other, listener)) {
                Arc::make_mut(&mut gate.listeners).retain(|other| !Arc::ptr_eq(other, listener));
                gate.removed.retain(|other| other.strong_count() > 0);
                gate.removed.push(Arc::downgrade(listener));
            }
        }
        listener.terminate();
    }

    /// Starts to call handlers.
    pub(crate) fn start(&self, runtime: Handle) {
        let here = runtime.clone();
        let listeners = {
            let mut gate = self.gate.lock();
            gate.state = ProcessorState::Running(runtime);
            Arc::clone(&gate.listeners)
        };
        for listener in &*listeners {
            listener.run(&here);
        }
    }

    /// Prevents handlers from joining and leaving until the notification is sent.
    pub(crate) fn prepare(&self) -> Notification<'_, K> {
        Notification {
            processor: self,
            gate: self.gate.lock(),
        }
    }

    /// Resyncs the handlers that are due.
    pub(crate) fn resync(&self, now: Instant) {
        let listeners = Arc::clone(&self.gate.lock().listeners);
        self.resync_if(&listeners, |listener| listener.resync.lock().check_due(now));
    }

    fn resync_if(&self, listeners: &[Arc<Listener<K>>], due: impl Fn(&Listener<K>) -> bool) {
        let mut snapshot = None;
        for listener in listeners {
            if due(listener) {
                listener.begin_resync(snapshot.get_or_insert_with(|| self.store.snapshot()));
            }
        }
    }

    /// Returns the interval of resync checks; zero means never.
    pub(crate) fn check_period(&self) -> Duration {
        self.gate.lock().check_period.get()
    }

    #[cfg(test)]
    pub(crate) fn is_open(&self) -> bool {
        self.gate.try_lock().is_some()
    }

    /// Returns the registrations of all handlers.
    pub(crate) fn registrations(&self) -> Vec<Registration> {
        let listeners = Arc::clone(&self.gate.lock().listeners);
        listeners
            .iter()
            .map(|listener| register(Arc::clone(listener)))
            .collect()
    }

    /// Rejects new handlers, delivers pending events and waits until all handlers have ended (contract 11).
    pub(crate) async fn stop(&self) {
        let listeners = self.close();
        let removed = std::mem::take(&mut self.gate.lock().removed);
        let removed: Vec<_> = removed.iter().filter_map(Weak::upgrade).collect();
        for listener in listeners.iter().chain(&removed) {
            listener.finished().await;
        }
    }

    /// Performs the first half of [`Processor::stop`], without waiting.
    pub(crate) fn close(&self) -> Arc<Vec<Arc<Listener<K>>>> {
        let (listeners, never_ran) = {
            let mut gate = self.gate.lock();
            let before = std::mem::replace(&mut gate.state, ProcessorState::Stopped);
            (Arc::clone(&gate.listeners), matches!(before, ProcessorState::New))
        };
        for listener in &*listeners {
            listener.close();
            if never_ran {
                listener.discard_runner();
                listener.mark_done();
            }
        }
        listeners
    }

    /// Waits until the informer has ended, unless that would be a deadlock with the current handler.
    pub(crate) async fn wait_for_end(&self, ended: impl Future<Output = ()>) {
        current_handler::wait_for(WaitTarget::Processor(self.id), ended).await;
    }
}

/// The notification of a batch, sent after the batch is published.
pub(crate) struct Notification<'p, K> {
    processor: &'p Processor<K>,
    gate: MutexGuard<'p, Gate<K>>,
}

impl<K: Kind> Notification<'_, K> {
    /// Notifies every listener of a published batch, if the store is filled.
    pub(crate) fn send(self, batch: &Batch<K>, is_filled: bool) {
        let Notification { processor, mut gate } = self;
        if !is_filled {
            return;
        }
        let is_first_list = batch.listed && !gate.filled;
        if is_first_list {
            gate.filled = true;
            let snapshot = processor.store.snapshot();
            for listener in &*gate.listeners {
                listener.begin(&snapshot);
            }
            // The snapshot contains every change.
            return;
        }
        let listeners = Arc::clone(&gate.listeners);
        drop(gate);
        if !batch.changes.is_empty() {
            for listener in &*listeners {
                listener.push(&batch.changes);
            }
        }
        if batch.listed {
            // As in client-go, a list is a resync of unchanged objects for handlers with a resync period.
            processor.resync_if(&listeners, |listener| listener.resync.lock().is_enabled());
        }
    }
}

fn register<K: Kind>(listener: Arc<Listener<K>>) -> Registration {
    Registration::new(listener as Arc<dyn AnyListener>)
}

fn type_name<T>(_: &T) -> &'static str {
    std::any::type_name::<T>()
}
