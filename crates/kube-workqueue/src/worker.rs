//! One worker: it takes an item, calls the function, and sees to what becomes of the item.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, timeout};
use tracing::{Instrument, Span};

use crate::item::Item;
use crate::metrics::Verdict;
use crate::panics::{caught, caught_in};
use crate::queue::{Work, WorkQueue};
use crate::stats::Attempted;
use crate::workers::{IntoOutcome, Outcome, Task};

/// How long an item is held back that the rate limiter panicked at.
const UNLIMITED: Duration = Duration::from_secs(10);

pub(crate) struct Worker<T, F> {
    pub(crate) queue: WorkQueue<T>,
    pub(crate) work: F,
    pub(crate) deadline: Option<Duration>,
}

/// Why the work on an item failed.
#[derive(Debug)]
pub(crate) enum Failure {
    Error(String),
    Panic(String),
    Late(Duration),
}

impl<T, F, R> Worker<T, F>
where
    T: Work + fmt::Debug,
    F: Fn(Task<T>) -> R + Send + Sync + 'static,
    R: Future<Output: IntoOutcome> + Send + 'static,
{
    pub(crate) async fn work_on(self: Arc<Self>) {
        while let Some(item) = self.queue.get().await {
            let requeues = self.ask(|| self.queue.requeues(&item));
            let attempt = requeues.unwrap_or_default().saturating_add(1);
            // To be without a span is better than to be without the work.
            let span = caught(self.queue.name(), "the span of an item", || {
                self.span(&item, attempt)
            });
            let span = span.unwrap_or_else(Span::none);
            // Clocks are slow, and only who listens wants to know.
            let began = (!span.is_disabled()).then(Instant::now);
            let work = async { self.attempt(&item, attempt).instrument(span.clone()).await };
            let outcome = caught_in(work).await;
            let outcome = outcome.unwrap_or_else(|panic| Err(Failure::Panic(panic)));
            let took = began.map(|began| began.elapsed()).unwrap_or_default();
            caught(self.queue.name(), "the log", || {
                span.in_scope(|| tell(&outcome, took));
            });
            self.conclude(item, &outcome);
            // Work that never waits would not let anything else run, not even the one who says stop.
            tokio::task::consume_budget().await;
        }
    }

    /// Of the highest level, so that what is logged at any level has it.
    fn span(&self, item: &Item<T>, attempt: u32) -> Span {
        tracing::error_span!(
            "reconcile",
            queue = self.queue.name(),
            key = ?**item,
            attempt,
            priority = item.priority(),
        )
    }

    /// All of it can panic, the drop of work that is late and the telling of an error included.
    async fn attempt(&self, item: &Item<T>, attempt: u32) -> Result<Outcome, Failure> {
        let work = (self.work)(Task {
            item: T::clone(item),
            attempt,
            priority: item.priority(),
        });
        let outcome = match self.deadline {
            None => work.await,
            Some(deadline) => match timeout(deadline, work).await {
                Ok(outcome) => outcome,
                Err(_) => return Err(Failure::Late(deadline)),
            },
        };
        outcome.into_outcome().map_err(Failure::Error)
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
            Ok(Outcome::Done | Outcome::GiveUp(_)) => self.forget(&item),
            Ok(Outcome::RequeueAfter(delay)) => {
                self.forget(&item);
                queue.come_back(&item, *delay);
            }
            Ok(Outcome::Requeue) | Err(_) => {
                let wait = self.ask(|| queue.hold_back(&item));
                queue.come_back(&item, wait.unwrap_or(UNLIMITED));
            }
        }
        item.done();
    }

    fn forget(&self, item: &T) {
        self.ask(|| self.queue.forget(item));
    }

    /// What the rate limiter says, which may be the user's.
    fn ask<A>(&self, question: impl FnOnce() -> A) -> Option<A> {
        caught(self.queue.name(), "the rate limiter", question)
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

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Error(why) => f.write_str(why),
            Failure::Panic(why) => write!(f, "it panicked: {why}"),
            Failure::Late(deadline) => write!(f, "it took longer than {deadline:?}"),
        }
    }
}
