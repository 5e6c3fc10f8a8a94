//! A work queue and workers attached to an informer.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use contract_checker::{Collection, ObjectState};
use fastrand::Rng;
use kube_informer::Key;
use kube_workqueue::{Outcome, Remaining, Task, WorkQueue, workers};
use parking_lot::Mutex;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::PlannedPanic;
use crate::context::Context;

const WORKERS: usize = 2;

/// The function with which reconcilers look up objects.
pub(crate) struct Lookup(Box<Get>);

type Get = dyn Fn(&Key) -> Option<ObjectState> + Send + Sync;

impl Lookup {
    /// Wraps a function.
    pub(crate) fn new(get: impl Fn(&Key) -> Option<ObjectState> + Send + Sync + 'static) -> Lookup {
        Lookup(Box::new(get))
    }
}

impl std::fmt::Debug for Lookup {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Lookup")
    }
}

/// A queue, its workers, and the states they observed.
#[derive(Debug)]
pub(crate) struct Workers {
    queue: WorkQueue<Key>,
    shared: Arc<Shared>,
    stop: CancellationToken,
    task: JoinHandle<Remaining<Key>>,
}

#[derive(Debug)]
struct Shared {
    name: String,
    context: Arc<Context>,
    lookup: Lookup,
    state: Mutex<Work>,
    /// Reconcilers do not fail any more.
    is_calm: AtomicBool,
}

#[derive(Debug)]
struct Work {
    random: Rng,
    running: BTreeSet<Key>,
    seen: BTreeMap<Key, Option<ObjectState>>,
}

impl Workers {
    /// Starts workers.
    pub(crate) fn start(seed: u64, context: &Arc<Context>, name: &str, lookup: Lookup) -> Workers {
        let queue = WorkQueue::new(name);
        let shared = Arc::new(Shared {
            name: name.to_owned(),
            context: Arc::clone(context),
            lookup,
            state: Mutex::new(Work {
                random: Rng::with_seed(seed),
                running: BTreeSet::new(),
                seen: BTreeMap::new(),
            }),
            is_calm: AtomicBool::new(false),
        });
        let stop = CancellationToken::new();
        let reconcile = {
            let shared = Arc::clone(&shared);
            move |task: Task<Key>| Arc::clone(&shared).reconcile(task)
        };
        let task = tokio::spawn(workers(queue.clone(), WORKERS, reconcile).run(stop.clone()));
        Workers {
            queue,
            shared,
            stop,
            task,
        }
    }

    /// Returns the queue.
    pub(crate) fn queue(&self) -> &WorkQueue<Key> {
        &self.queue
    }

    /// Sets whether reconcilers stop failing.
    pub(crate) fn calm(&self, is_calm: bool) {
        self.shared.is_calm.store(is_calm, Ordering::Relaxed);
    }

    /// Returns whether nothing is queued, running or delayed.
    pub(crate) fn is_idle(&self) -> bool {
        self.queue.is_empty() && self.queue.running() == 0 && self.queue.delayed() == 0
    }

    /// Checks settled workers: the last run for each object observed the state in the cache.
    pub(crate) fn check_settled(&self, cached: &Collection) {
        let work = self.shared.state.lock();
        for (key, seen) in &work.seen {
            let held = cached.get(key);
            if seen.as_ref() != held {
                self.shared.wrong(&format!(
                    "the last run for {key} saw {}, but the cache holds {}",
                    named(seen.as_ref()),
                    named(held)
                ));
            }
        }
        if let Some(unseen) = cached.keys().find(|key| !work.seen.contains_key(*key)) {
            self.shared.wrong(&format!("{unseen} was never reconciled"));
        }
    }

    /// Stops the workers.
    pub(crate) async fn stop(self) {
        self.stop.cancel();
        if self.task.await.is_err() {
            self.shared
                .context
                .findings
                .add(12, &self.shared.name, "a worker panicked");
        }
    }
}

impl Shared {
    async fn reconcile(self: Arc<Self>, task: Task<Key>) -> Result<Outcome, PlannedFailure> {
        self.context.counts.lock().reconciles += 1;
        let key = Key::clone(&task);
        let (time, fate) = {
            let mut work = self.state.lock();
            if !work.running.insert(key.clone()) {
                drop(work);
                self.wrong(&format!("{key} is reconciled twice at the same time"));
                return Ok(Outcome::Done);
            }
            let seen = (self.lookup.0)(&key);
            self.context
                .log
                .line(|| format!("{}'s worker sees {key} {}", self.name, named(seen.as_ref())));
            work.seen.insert(key.clone(), seen);
            let time = Duration::from_millis(work.random.u64(..200) * u64::from(work.random.bool()));
            (time, work.random.u8(..16))
        };
        let _running = RunningGuard { shared: &self, key };
        tokio::time::sleep(time).await;
        if self.is_calm.load(Ordering::Relaxed) {
            return Ok(Outcome::Done);
        }
        match fate {
            0 => Err(PlannedFailure),
            1 => Ok(Outcome::Requeue),
            2 => Ok(Outcome::RequeueAfter(Duration::from_secs(3))),
            3 => std::panic::resume_unwind(Box::new(PlannedPanic)),
            _ => Ok(Outcome::Done),
        }
    }

    fn wrong(&self, what: &str) {
        self.context
            .findings
            .add(5, &self.name, format_args!("work queue: {what}"));
    }
}

/// Marks a key as running until it is dropped.
struct RunningGuard<'a> {
    shared: &'a Shared,
    key: Key,
}

impl Drop for RunningGuard<'_> {
    fn drop(&mut self) {
        self.shared.state.lock().running.remove(&self.key);
    }
}

#[derive(Debug)]
struct PlannedFailure;

impl std::fmt::Display for PlannedFailure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("planned failure")
    }
}

impl std::error::Error for PlannedFailure {}

fn named(thing: Option<&ObjectState>) -> String {
    thing.map_or_else(|| "nothing".to_owned(), ObjectState::to_string)
}
