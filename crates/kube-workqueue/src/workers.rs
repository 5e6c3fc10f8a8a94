//! Workers: they take items and call a function, until they are told to stop.

use std::error::Error;
use std::fmt;
use std::ops::Deref;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::task::{JoinError, JoinSet};
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use crate::panics::{caught, words};
use crate::queue::{Remaining, Work, WorkQueue};
use crate::worker::Worker;

/// How long a stop waits for what is in line and worked on, unless told otherwise.
const GRACE: Duration = Duration::from_secs(30);
/// How long the place of a worker that died stays empty.
const PAUSE: Duration = Duration::from_secs(1);

/// What a function says of an item it has worked on.
///
/// ```
/// use kube_workqueue::{Outcome, Task};
/// use std::time::Duration;
///
/// async fn reconcile(name: Task<String>) -> Result<Outcome, std::io::Error> {
///     if name.starts_with("draft/") {
///         return Ok(Outcome::Done);
///     }
///     if name.attempt() > 5 {
///         return Ok(Outcome::GiveUp("tried five times".to_owned()));
///     }
///     std::fs::metadata(&**name)?; // an error brings it back, later with each time
///     Ok(Outcome::RequeueAfter(Duration::from_secs(3_600)))
/// }
/// ```
#[doc(alias("reconcile.Result", "Action", "TerminalError"))]
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// It is done, and its failures are forgotten.
    Done,
    /// It is done for now, and comes back after this time. Its failures are forgotten.
    RequeueAfter(Duration),
    /// It comes back, later with each time: held back as after a failure.
    Requeue,
    /// It failed and would fail again, so it does not come back; why. Its failures are forgotten. If it is added anew, it is
    /// tried anew.
    GiveUp(String),
}

/// What functions of workers may return: nothing, an [`Outcome`], or a `Result` of them. An error brings the item back,
/// later with each time.
///
/// See [`Outcome`].
pub trait IntoOutcome {
    /// The outcome, or what went wrong.
    fn into_outcome(self) -> Result<Outcome, String>;
}

impl IntoOutcome for () {
    fn into_outcome(self) -> Result<Outcome, String> {
        Ok(Outcome::Done)
    }
}

impl IntoOutcome for Outcome {
    fn into_outcome(self) -> Result<Outcome, String> {
        Ok(self)
    }
}

/// An error is told with its sources.
impl<O: IntoOutcome, E: Into<Box<dyn Error + Send + Sync>>> IntoOutcome for Result<O, E> {
    fn into_outcome(self) -> Result<Outcome, String> {
        match self {
            Ok(outcome) => outcome.into_outcome(),
            Err(error) => Err(with_sources(&*error.into())),
        }
    }
}

/// An item as a worker's function is given it. It dereferences to the item.
///
/// See [`Outcome`] for an example.
#[doc(alias = "reconcile.Request")]
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Task<T> {
    pub(crate) item: T,
    pub(crate) attempt: u32,
    pub(crate) priority: i32,
}

impl<T> Task<T> {
    /// The item itself.
    pub fn into_item(self) -> T {
        self.item
    }

    /// The how manieth attempt this is since it last went well: 1 for the first.
    pub fn attempt(&self) -> u32 {
        self.attempt
    }

    /// The priority it had in line.
    pub fn priority(&self) -> i32 {
        self.priority
    }
}

impl<T> Deref for Task<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.item
    }
}

/// Workers of a queue, which do nothing until they [run](Workers::run).
///
/// Made by [`workers`].
#[must_use = "workers do nothing until they run"]
pub struct Workers<T, F> {
    queue: WorkQueue<T>,
    count: usize,
    work: F,
    deadline: Option<Duration>,
    grace: Duration,
}

/// Workers that call a function with each item of a queue, so many at a time.
///
/// A function that fails or panics gets its item again, later with each time. It is told which attempt it is. It may panic
/// wherever it likes: in its future, when that is dropped at the [deadline](Workers::deadline), or when its error is told.
///
/// No panic ends the workers: if one dies of something else, as of a key that panics when it is cloned, that is logged as an
/// error and another takes its place a second later. What it died of then counts as worked on, and is
/// [left](Remaining::running) in the end.
///
/// Each attempt runs in a `tracing` span `reconcile` with the queue, the key, the attempt and the priority, so whatever the
/// function logs says what it was at. What came of it and how long it took is one event in that span: at debug, at warn if it
/// failed, and at error if it was given up.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// use kube_workqueue::{CancellationToken, WorkQueue, workers};
///
/// let queue = WorkQueue::new("names");
/// queue.add("shop/cart");
/// let stop = CancellationToken::new();
/// let done = stop.clone();
/// let left = workers(queue, 2, move |name| {
///     let done = done.clone();
///     async move {
///         println!("reconciling {}, attempt {}", *name, name.attempt());
///         done.cancel();
///         Ok::<(), std::io::Error>(())
///     }
/// })
/// .run(stop)
/// .await;
/// assert!(left.is_drained());
/// # }
/// ```
#[doc(alias("processNextWorkItem", "MaxConcurrentReconciles"))]
pub fn workers<T, F, R>(queue: WorkQueue<T>, count: usize, work: F) -> Workers<T, F>
where
    T: Work + fmt::Debug,
    F: Fn(Task<T>) -> R + Send + Sync + 'static,
    R: Future<Output: IntoOutcome> + Send + 'static,
{
    Workers {
        queue,
        count: count.max(1),
        work,
        deadline: None,
        grace: GRACE,
    }
}

impl<T, F> Workers<T, F> {
    /// How long the work on one item may take. After that it is dropped, and counts as failed; if it panics when it is
    /// dropped, that is what it failed of.
    pub fn deadline(mut self, deadline: Duration) -> Self {
        self.deadline = Some(deadline);
        self
    }

    /// How long a stop waits for what is in line and worked on; 30 seconds unless told otherwise. What is worked on after
    /// that is dropped.
    pub fn grace(mut self, grace: Duration) -> Self {
        self.grace = grace;
        self
    }
}

impl<T, F, R> Workers<T, F>
where
    T: Work + fmt::Debug,
    F: Fn(Task<T>) -> R + Send + Sync + 'static,
    R: Future<Output: IntoOutcome> + Send + 'static,
{
    /// Works until the token is cancelled or the queue is shut down. Then the queue takes no more items, what is in line is
    /// worked on, and what is left after the grace is told: every task has ended when this returns. What fails meanwhile, or
    /// asks to come back, is not tried again; it is told as delayed.
    ///
    /// # Panics
    /// If the runtime has no timers, as soon as something has to wait: an item for its time, or the stop for what is left.
    ///
    /// # Cancel safety
    /// If this is dropped, the workers end at once, and what they worked on is in the queue no more.
    pub async fn run(self, stop: CancellationToken) -> Remaining<T> {
        let Workers {
            queue,
            count,
            work,
            deadline,
            grace,
        } = self;
        let worker = Arc::new(Worker {
            queue: queue.clone(),
            work,
            deadline,
        });
        let mut tasks = JoinSet::new();
        for _ in 0..count {
            tasks.spawn(Arc::clone(&worker).work_on());
        }
        loop {
            tokio::select! {
                biased;
                () = stop.cancelled() => break,
                ended = tasks.join_next() => match ended {
                    Some(Err(death)) if death.is_panic() => replace(&mut tasks, &worker, death),
                    // They end by themselves only if the queue was shut down.
                    _ => break,
                },
            }
        }
        let mut drain = pin!(queue.drain(grace));
        let left = loop {
            tokio::select! {
                biased;
                left = &mut drain => break left,
                Some(ended) = tasks.join_next() => if let Err(death) = ended {
                    replace(&mut tasks, &worker, death);
                },
            }
        };
        tasks.shutdown().await;
        left
    }
}

impl<T, F> fmt::Debug for Workers<T, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Workers")
            .field("count", &self.count)
            .finish_non_exhaustive()
    }
}

/// Puts another in the place of a worker that died of something that is not the function's, as a key that cannot be cloned.
/// Not at once, because it may die of the same. The pause is made here: without a clock this is the place to say so.
fn replace<T, F, R>(tasks: &mut JoinSet<()>, worker: &Arc<Worker<T, F>>, death: JoinError)
where
    T: Work + fmt::Debug,
    F: Fn(Task<T>) -> R + Send + Sync + 'static,
    R: Future<Output: IntoOutcome> + Send + 'static,
{
    let why = death
        .try_into_panic()
        .map_or_else(|death| death.to_string(), words);
    let queue = worker.queue.name();
    caught(queue, "the log", || {
        tracing::error!(queue, why, "a worker panicked, and another takes its place");
    });
    let (worker, pause) = (Arc::clone(worker), sleep(PAUSE));
    tasks.spawn(async move {
        pause.await;
        worker.work_on().await;
    });
}

fn with_sources(error: &dyn Error) -> String {
    let mut told = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        told = format!("{told}: {error}");
        source = error.source();
    }
    told
}
