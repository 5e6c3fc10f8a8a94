//! A pool of workers, which take items and call a function until they are cancelled.

use std::fmt;
use std::ops::Deref;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::task::{JoinError, JoinSet};
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use crate::outcome::IntoOutcome;
use crate::panics::{catch, message};
use crate::queue::{QueueItem, Remaining, WorkQueue};
use crate::worker::Worker;

/// Default grace period.
const DEFAULT_GRACE: Duration = Duration::from_secs(30);
/// Delay before a worker that panicked is replaced.
const REPLACEMENT_DELAY: Duration = Duration::from_secs(1);

/// The argument of a worker's function: an item and its attempt. Dereferences to the item.
///
/// See [`Outcome`](crate::Outcome) for an example.
#[doc(alias = "reconcile.Request")]
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Task<T> {
    pub(crate) item: T,
    pub(crate) attempt: u32,
    pub(crate) priority: i32,
}

impl<T> Task<T> {
    /// Returns the item.
    pub fn into_item(self) -> T {
        self.item
    }

    /// Returns the attempt number since the last success, starting at 1.
    pub fn attempt(&self) -> u32 {
        self.attempt
    }

    /// Returns the priority that the item had in the queue.
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

/// Workers of a queue. They start when [`Workers::run`] is polled.
///
/// Created by [`workers`].
#[must_use = "workers do nothing until they run"]
pub struct Workers<T, F> {
    queue: WorkQueue<T>,
    count: usize,
    function: F,
    deadline: Option<Duration>,
    grace: Duration,
}

/// Creates workers that call a function for each item of a queue, for at most `count` items at the same time.
///
/// If the function returns an error, panics or exceeds the [deadline](Workers::deadline), the item is retried with backoff.
/// [`Task::attempt`] returns the number of the attempt. Panics are also caught where the future is dropped at the deadline,
/// and where an error is formatted.
///
/// A worker that panics outside of the function, for example because cloning a key panics, is logged as an error and replaced
/// after a second. The item it processed stays in [`Remaining::running`].
///
/// Each attempt runs in a `tracing` span `reconcile` with the fields `queue`, `key`, `attempt` and `priority`. The result and
/// the duration are logged as one event in that span: at level debug, at warn for a failure, and at error for
/// [`Outcome::GiveUp`](crate::Outcome::GiveUp).
///
/// # Examples
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
pub fn workers<T, F, R>(queue: WorkQueue<T>, count: usize, function: F) -> Workers<T, F>
where
    T: QueueItem + fmt::Debug,
    F: Fn(Task<T>) -> R + Send + Sync + 'static,
    R: Future<Output: IntoOutcome> + Send + 'static,
{
    Workers {
        queue,
        count: count.max(1),
        function,
        deadline: None,
        grace: DEFAULT_GRACE,
    }
}

impl<T, F> Workers<T, F> {
    /// Sets the longest time for one attempt; no limit by default. After that the future is dropped, and the attempt counts
    /// as failed.
    pub fn deadline(mut self, deadline: Duration) -> Self {
        self.deadline = Some(deadline);
        self
    }

    /// Sets how long [`Workers::run`] continues after cancellation to process queued and running items; 30 seconds by
    /// default. After that, running futures are dropped.
    pub fn grace(mut self, grace: Duration) -> Self {
        self.grace = grace;
        self
    }
}

impl<T, F, R> Workers<T, F>
where
    T: QueueItem + fmt::Debug,
    F: Fn(Task<T>) -> R + Send + Sync + 'static,
    R: Future<Output: IntoOutcome> + Send + 'static,
{
    /// Processes items until the token is cancelled or the queue is shut down.
    ///
    /// Then the queue rejects new items, and queued items are processed until the [grace period](Workers::grace) ends.
    /// Returns the remaining items after every worker has ended. An item that fails or is requeued during
    /// this time is not retried; it is in [`Remaining::delayed`].
    ///
    /// # Panics
    /// Panics if the runtime has no timers and one is needed: for a delayed item or for the grace period.
    ///
    /// # Cancel safety
    /// If the future is dropped, the workers end at once, and the items they processed are removed from the queue.
    pub async fn run(self, stop: CancellationToken) -> Remaining<T> {
        let Workers {
            queue,
            count,
            function,
            deadline,
            grace,
        } = self;
        let worker = Arc::new(Worker {
            queue: queue.clone(),
            function,
            deadline,
        });
        let mut tasks = JoinSet::new();
        for _ in 0..count {
            tasks.spawn(Arc::clone(&worker).run());
        }
        loop {
            tokio::select! {
                biased;
                () = stop.cancelled() => break,
                ended = tasks.join_next() => match ended {
                    Some(Err(error)) if error.is_panic() => replace(&mut tasks, &worker, error),
                    // Workers return only if the queue is shut down.
                    _ => break,
                },
            }
        }
        let mut drain = pin!(queue.drain(grace));
        let remaining = loop {
            tokio::select! {
                biased;
                remaining = &mut drain => break remaining,
                Some(ended) = tasks.join_next() => if let Err(error) = ended {
                    replace(&mut tasks, &worker, error);
                },
            }
        };
        tasks.shutdown().await;
        remaining
    }
}

impl<T, F> fmt::Debug for Workers<T, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Workers")
            .field("count", &self.count)
            .finish_non_exhaustive()
    }
}

/// Replaces a worker that panicked outside of the function. The delay keeps repeated panics from using a whole CPU.
fn replace<T, F, R>(tasks: &mut JoinSet<()>, worker: &Arc<Worker<T, F>>, error: JoinError)
where
    T: QueueItem + fmt::Debug,
    F: Fn(Task<T>) -> R + Send + Sync + 'static,
    R: Future<Output: IntoOutcome> + Send + 'static,
{
    let panic = error
        .try_into_panic()
        .map_or_else(|error| error.to_string(), message);
    let queue = worker.queue.name();
    catch(queue, "logging", || {
        tracing::error!(queue, panic, "a worker panicked and is replaced");
    });
    // Without timers this panics here, in the caller of `run`, and not in the new task.
    let (worker, delay) = (Arc::clone(worker), sleep(REPLACEMENT_DELAY));
    tasks.spawn(async move {
        delay.await;
        worker.run().await;
    });
}
