//! One worker: takes an item, calls the function, and requeues or forgets the item.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, timeout};
use tracing::{Instrument, Span};

use crate::guard::ItemGuard;
use crate::outcome::{AttemptResult, IntoOutcome, Outcome};
use crate::panics::{catch, catch_async};
use crate::queue::{QueueItem, WorkQueue};
use crate::workers::Task;

/// Delay of a failed item if the rate limiter panics.
const DELAY_WITHOUT_LIMITER: Duration = Duration::from_secs(10);

pub(crate) struct Worker<T, F> {
    pub(crate) queue: WorkQueue<T>,
    pub(crate) function: F,
    pub(crate) deadline: Option<Duration>,
}

impl<T, F, R> Worker<T, F>
where
    T: QueueItem + fmt::Debug,
    F: Fn(Task<T>) -> R + Send + Sync + 'static,
    R: Future<Output: IntoOutcome> + Send + 'static,
{
    pub(crate) async fn run(self: Arc<Self>) {
        while let Some(item) = self.queue.get().await {
            let requeues = self.call_limiter(|| self.queue.requeues(&item));
            let attempt = requeues.unwrap_or_default().saturating_add(1);
            // If the span cannot be created, process the item without it.
            let span = catch(self.queue.name(), "creating the span of an item", || {
                self.span(&item, attempt)
            });
            let span = span.unwrap_or_else(Span::none);
            // Reading the clock is slow, and only a subscriber needs it.
            let began = (!span.is_disabled()).then(Instant::now);
            let attempt = async { self.attempt(&item, attempt).instrument(span.clone()).await };
            let result = catch_async(attempt).await;
            let result = result.unwrap_or_else(AttemptResult::Panic);
            let elapsed = began.map(|began| began.elapsed()).unwrap_or_default();
            catch(self.queue.name(), "logging", || {
                span.in_scope(|| log(&result, elapsed));
            });
            self.conclude(item, &result);
            // A function that never waits would not let other tasks run, for example the one that cancels the workers.
            tokio::task::consume_budget().await;
        }
    }

    /// Creates the span of an attempt, at the highest level, so that it is present whatever level is logged.
    fn span(&self, item: &ItemGuard<T>, attempt: u32) -> Span {
        tracing::error_span!(
            "reconcile",
            queue = self.queue.name(),
            key = ?**item,
            attempt,
            priority = item.priority(),
        )
    }

    /// Calls the function. Every part of this can panic, also dropping the future at its deadline and formatting an error.
    async fn attempt(&self, item: &ItemGuard<T>, attempt: u32) -> AttemptResult {
        let future = (self.function)(Task {
            item: T::clone(item),
            attempt,
            priority: item.priority(),
        });
        let returned = match self.deadline {
            None => future.await,
            Some(deadline) => match timeout(deadline, future).await {
                Ok(returned) => returned,
                Err(_) => return AttemptResult::Timeout(deadline),
            },
        };
        match returned.into_outcome() {
            Ok(outcome) => AttemptResult::Returned(outcome),
            Err(message) => AttemptResult::Error(message),
        }
    }

    /// Requeues or forgets the item. It is requeued before its guard is dropped, so it is queued once, and not before its
    /// processing ends.
    fn conclude(&self, item: ItemGuard<T>, result: &AttemptResult) {
        self.queue.shared.count_attempt(result);
        match result {
            AttemptResult::Returned(Outcome::Done | Outcome::GiveUp(_)) => self.forget(&item),
            AttemptResult::Returned(Outcome::RequeueAfter(delay)) => {
                self.forget(&item);
                self.queue.requeue_after(&item, *delay);
            }
            AttemptResult::Returned(Outcome::Requeue)
            | AttemptResult::Error(_)
            | AttemptResult::Panic(_)
            | AttemptResult::Timeout(_) => {
                let delay = self.call_limiter(|| self.queue.next_delay(&item));
                self.queue
                    .requeue_after(&item, delay.unwrap_or(DELAY_WITHOUT_LIMITER));
            }
        }
        item.done();
    }

    fn forget(&self, item: &T) {
        self.call_limiter(|| self.queue.forget(item));
    }

    /// Calls the rate limiter, which may be user code.
    fn call_limiter<A>(&self, call: impl FnOnce() -> A) -> Option<A> {
        catch(self.queue.name(), "the rate limiter", call)
    }
}

/// Logs the result of an attempt. The surrounding span names the item.
fn log(result: &AttemptResult, elapsed: Duration) {
    match result {
        AttemptResult::Returned(Outcome::GiveUp(reason)) => {
            tracing::error!(?elapsed, reason, "gave up on the item");
        }
        AttemptResult::Returned(outcome) => tracing::debug!(?elapsed, ?outcome, "processed the item"),
        failure => tracing::warn!(?elapsed, error = %failure, "failed to process the item"),
    }
}
