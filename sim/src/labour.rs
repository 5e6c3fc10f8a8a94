//! A work queue and workers behind an informer.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use fastrand::Rng;
use kube_informer::Key;
use kube_workqueue::{Leftover, Outcome, Task, WorkQueue, workers};
use parking_lot::Mutex;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::story::Ground;
use crate::subject::Planned;
use crate::truth::Thing;
use crate::witness::View;

const WORKERS: usize = 2;

/// What workers look objects up in.
pub(crate) struct Readable(Box<Get>);

type Get = dyn Fn(&Key) -> Option<Thing> + Send + Sync;

impl Readable {
    /// What a function finds.
    pub(crate) fn new(get: impl Fn(&Key) -> Option<Thing> + Send + Sync + 'static) -> Readable {
        Readable(Box::new(get))
    }
}

impl std::fmt::Debug for Readable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Readable")
    }
}

/// The queue, its workers, and what they saw.
#[derive(Debug)]
pub(crate) struct Labour {
    queue: WorkQueue<Key>,
    floor: Arc<Floor>,
    stop: CancellationToken,
    task: JoinHandle<Leftover<Key>>,
}

#[derive(Debug)]
struct Floor {
    name: String,
    ground: Arc<Ground>,
    store: Readable,
    state: Mutex<Work>,
    /// Nothing goes wrong any more.
    is_calm: AtomicBool,
}

#[derive(Debug)]
struct Work {
    random: Rng,
    running: BTreeSet<Key>,
    seen: BTreeMap<Key, Option<Thing>>,
}

impl Labour {
    /// Workers that wait for something to do.
    pub(crate) fn begin(seed: u64, ground: &Arc<Ground>, name: &str, store: Readable) -> Labour {
        let queue = WorkQueue::new(name);
        let floor = Arc::new(Floor {
            name: name.to_owned(),
            ground: Arc::clone(ground),
            store,
            state: Mutex::new(Work {
                random: Rng::with_seed(seed),
                running: BTreeSet::new(),
                seen: BTreeMap::new(),
            }),
            is_calm: AtomicBool::new(false),
        });
        let stop = CancellationToken::new();
        let reconcile = {
            let floor = Arc::clone(&floor);
            move |task: Task<Key>| Arc::clone(&floor).reconcile(task)
        };
        let task = tokio::spawn(workers(queue.clone(), WORKERS, reconcile).run(stop.clone()));
        Labour {
            queue,
            floor,
            stop,
            task,
        }
    }

    /// Where keys go in.
    pub(crate) fn queue(&self) -> &WorkQueue<Key> {
        &self.queue
    }

    /// From now on no work fails, or some does.
    pub(crate) fn calm(&self, is_calm: bool) {
        self.floor.is_calm.store(is_calm, Ordering::Relaxed);
    }

    /// Whether nothing is in line, worked on or delayed.
    pub(crate) fn is_at_rest(&self) -> bool {
        self.queue.is_empty() && self.queue.running() == 0 && self.queue.delayed() == 0
    }

    /// Everything is at rest: of each object that workers ever saw, they saw the state that it is in.
    pub(crate) fn agrees(&self, store: &View) {
        let work = self.floor.state.lock();
        for (key, seen) in &work.seen {
            let stored = store.objects.get(key);
            if seen.as_ref() != stored {
                self.floor.wrong(&format!(
                    "the last work on {key} saw {}, and the store has {}",
                    named(seen.as_ref()),
                    named(stored)
                ));
            }
        }
        if let Some(unseen) = store.objects.keys().find(|key| !work.seen.contains_key(*key)) {
            self.floor
                .wrong(&format!("{unseen} is there, and was never worked on"));
        }
    }

    /// Ends the workers.
    pub(crate) async fn end(self) {
        self.stop.cancel();
        if self.task.await.is_err() {
            self.floor
                .ground
                .violated(12, format!("{}: its workers panicked", self.floor.name));
        }
    }
}

impl Floor {
    async fn reconcile(self: Arc<Self>, task: Task<Key>) -> Result<Outcome, Failed> {
        self.ground.counts.lock().reconciles += 1;
        let key = Key::clone(&task);
        let (time, fate) = {
            let mut work = self.state.lock();
            if !work.running.insert(key.clone()) {
                drop(work);
                self.wrong(&format!("{key} is worked on twice at a time"));
                return Ok(Outcome::Done);
            }
            let seen = (self.store.0)(&key);
            self.ground
                .tell(|| format!("{}'s worker sees {key} {}", self.name, named(seen.as_ref())));
            work.seen.insert(key.clone(), seen);
            let time = Duration::from_millis(work.random.u64(..200) * u64::from(work.random.bool()));
            (time, work.random.u8(..16))
        };
        let _running = Running { floor: &self, key };
        tokio::time::sleep(time).await;
        if self.is_calm.load(Ordering::Relaxed) {
            return Ok(Outcome::Done);
        }
        match fate {
            0 => Err(Failed),
            1 => Ok(Outcome::Requeue),
            2 => Ok(Outcome::RequeueAfter(Duration::from_secs(3))),
            3 => std::panic::resume_unwind(Box::new(Planned)),
            _ => Ok(Outcome::Done),
        }
    }

    fn wrong(&self, what: &str) {
        self.ground.violated(5, format!("{}'s queue: {what}", self.name));
    }
}

/// Work on a key that is going on, however it ends.
struct Running<'a> {
    floor: &'a Floor,
    key: Key,
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.floor.state.lock().running.remove(&self.key);
    }
}

#[derive(Debug)]
struct Failed;

impl std::fmt::Display for Failed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("this was meant to fail")
    }
}

impl std::error::Error for Failed {}

fn named(thing: Option<&Thing>) -> String {
    thing.map_or_else(|| "gone".to_owned(), Thing::to_string)
}
