//! Workers: they take items and call a function, until they are told to stop.

use std::error::Error;
use std::fmt;
use std::ops::Deref;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use tokio::task::JoinSet;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tracing::Instrument;

use crate::item::Item;
use crate::metrics::Verdict;
use crate::queue::{Leftover, Work, WorkQueue};
use crate::stats::Attempted;

/// How long a stop waits for what is in line and worked on, unless told otherwise.
const GRACE: Duration = Duration::from_secs(30);

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
    item: T,
    attempt: u32,
    priority: i32,
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
/// A function that fails or panics gets its item again, later with each time. It is told which attempt it is.
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
    /// How long the work on one item may take. After that it is dropped, and counts as failed.
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
    /// # Cancel safety
    /// If this is dropped, the workers end at once, and what they worked on is in the queue no more.
    pub async fn run(self, stop: CancellationToken) -> Leftover<T> {
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
        tokio::select! {
            biased;
            () = stop.cancelled() => {}
            // They end by themselves only if the queue was shut down.
            _ = tasks.join_next() => {}
        }
        let left = queue.drain(grace).await;
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

struct Worker<T, F> {
    queue: WorkQueue<T>,
    work: F,
    deadline: Option<Duration>,
}

impl<T, F, R> Worker<T, F>
where
    T: Work + fmt::Debug,
    F: Fn(Task<T>) -> R + Send + Sync + 'static,
    R: Future<Output: IntoOutcome> + Send + 'static,
{
    async fn work_on(self: Arc<Self>) {
        while let Some(item) = self.queue.get().await {
            let task = Task {
                item: T::clone(&item),
                attempt: self.queue.requeues(&item).saturating_add(1),
                priority: item.priority(),
            };
            // Of the highest level, so that what is logged at any level has it.
            let span = tracing::error_span!(
                "reconcile",
                queue = self.queue.name(),
                key = ?task.item,
                attempt = task.attempt,
                priority = task.priority,
            );
            // Clocks are slow, and only who listens wants to know.
            let began = (!span.is_disabled()).then(Instant::now);
            let outcome = self.attempt(task).instrument(span.clone()).await;
            span.in_scope(|| tell(&outcome, began.map(|began| began.elapsed()).unwrap_or_default()));
            self.conclude(item, &outcome);
            // Work that never waits would not let anything else run, not even the one who says stop.
            tokio::task::consume_budget().await;
        }
    }

    async fn attempt(&self, task: Task<T>) -> Result<Outcome, Failure> {
        let work = async { (self.work)(task).await };
        let work = AssertUnwindSafe(work).catch_unwind();
        let ended = match self.deadline {
            None => work.await,
            Some(deadline) => match tokio::time::timeout(deadline, work).await {
                Ok(ended) => ended,
                Err(_) => return Err(Failure::Late(deadline)),
            },
        };
        match ended {
            Ok(outcome) => outcome.into_outcome().map_err(Failure::Error),
            Err(panic) => Err(Failure::Panic(message(&*panic).to_owned())),
        }
    }

    /// The item is to come back while it is still worked on, so it comes in line once and not before it is done.
    fn conclude(&self, item: Item<T>, outcome: &Result<Outcome, Failure>) {
        let queue = &self.queue;
        if let Some(meter) = &queue.shared.meter {
            meter.judged(Verdict::of(outcome));
        }
        queue.shared.tally.attempted(match outcome {
            Ok(Outcome::Done | Outcome::RequeueAfter(_)) => Attempted::Done,
            Ok(Outcome::Requeue) | Err(_) => Attempted::Failed,
            Ok(Outcome::GiveUp(_)) => Attempted::GivenUp,
        });
        match outcome {
            Ok(Outcome::Done | Outcome::GiveUp(_)) => queue.forget(&item),
            Ok(Outcome::RequeueAfter(delay)) => {
                queue.forget(&item);
                queue.come_back(&item, *delay);
            }
            Ok(Outcome::Requeue) | Err(_) => queue.come_back(&item, queue.hold_back(&item)),
        }
        item.done();
    }
}

/// Says what came of an attempt. The span around says of what.
fn tell(outcome: &Result<Outcome, Failure>, took: Duration) {
    match outcome {
        Ok(Outcome::GiveUp(why)) => tracing::error!(?took, why, "an item is given up"),
        Ok(outcome) => tracing::debug!(?took, ?outcome, "the work on an item is over"),
        Err(error) => tracing::warn!(?took, %error, "the work on an item failed"),
    }
}

/// Why the work on an item failed.
#[derive(Debug)]
pub(crate) enum Failure {
    Error(String),
    Panic(String),
    Late(Duration),
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Error(why) => f.write_str(why),
            Failure::Panic(why) => write!(f, "it panicked: {why}"),
            Failure::Late(deadline) => write!(f, "it took longer than {deadline:?}"),
        }
    }
}

fn message(panic: &(dyn std::any::Any + Send)) -> &str {
    panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("without words")
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
