//! Compares the cache with the server periodically.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use super::InformerShared;
use crate::error::{Error, ErrorChain, Operation, Problem, StatusError};
use crate::object::Kind;
use crate::types::ConsistencyReport;
use crate::util::{MAX_DURATION, panics};

/// Minimum time between two checks, because each requires a list.
const MIN_INTERVAL: Duration = Duration::from_secs(60);
/// Delay before a difference is checked again. A random delay of up to the same length is added.
const RECHECK_DELAY: Duration = Duration::from_secs(5);

/// When to check, and what to do after a difference.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct CheckSettings {
    /// `None` to disable the checks.
    every: Option<Duration>,
    /// Whether to relist after a difference.
    pub(crate) relist: bool,
}

impl CheckSettings {
    pub(crate) fn every(&mut self, period: Duration) {
        self.every = (!period.is_zero()).then(|| period.clamp(MIN_INTERVAL, MAX_DURATION));
    }
}

/// The task that performs the checks.
pub(super) struct CheckTask<K> {
    shared: Arc<InformerShared<K>>,
    every: Duration,
    random: fastrand::Rng,
    /// A failure to check was reported, and no check has succeeded since.
    failure_reported: bool,
}

impl<K: Kind> CheckTask<K> {
    /// Returns the task of an informer, if checks are enabled.
    pub(super) fn of(shared: &Arc<InformerShared<K>>) -> Option<CheckTask<K>> {
        Some(CheckTask {
            every: shared.checking.every?,
            random: fastrand::Rng::with_seed(shared.settings.seed),
            shared: Arc::clone(shared),
            failure_reported: false,
        })
    }

    /// Checks periodically until it is stopped.
    pub(super) async fn run(mut self, stop: CancellationToken) {
        stop.run_until_cancelled(self.check_periodically()).await;
    }

    async fn check_periodically(&mut self) {
        self.shared.synced.cancelled().await;
        loop {
            let every = self.every;
            sleep(every + self.random_delay(every / 4)).await;
            // The source and the type of the objects are code of the user.
            let found = panics::caught_in(self.check_twice())
                .await
                .unwrap_or_else(|panic| {
                    let error = Error::user_code(format!("the consistency check panicked: {panic}"));
                    Err(error.with_context(Operation::ConsistencyCheck, &self.shared.resource))
                });
            match found {
                Ok(found) => {
                    self.failure_reported = false;
                    self.shared.count_inconsistency(&found);
                    if !found.is_consistent() {
                        self.report_difference(found);
                    }
                }
                Err(error) => self.not_checked(&error),
            }
        }
    }

    /// Only differences that a second check confirms are reported.
    async fn check_twice(&mut self) -> Result<ConsistencyReport, Error> {
        let found = self.shared.check().await?;
        if found.is_consistent() {
            return Ok(found);
        }
        sleep(RECHECK_DELAY + self.random_delay(RECHECK_DELAY)).await;
        self.shared.check().await
    }

    fn report_difference(&self, found: ConsistencyReport) {
        let relist = self.shared.checking.relist;
        let found = Arc::new(found);
        let problem = Problem::Inconsistent { found, relist };
        let error = Error::new(problem).with_context(Operation::ConsistencyCheck, &self.shared.resource);
        self.shared.context.report(&error);
        if relist {
            for source in &self.shared.sources {
                source.start_over.notify_one();
            }
        }
    }

    /// Reports a failed check once. Failures that are temporary, or that lists and watches report anyway, are only
    /// logged.
    fn not_checked(&mut self, error: &Error) {
        let is_temporary = |status: &StatusError| matches!(status.code, 404 | 410 | 429 | 500..);
        let is_reported_elsewhere = error.is_connection() || error.is_not_served();
        if is_reported_elsewhere || error.server_status().is_some_and(is_temporary) || self.failure_reported {
            tracing::debug!("{}", ErrorChain(error));
            return;
        }
        self.failure_reported = true;
        self.shared.context.report(error);
    }

    fn random_delay(&mut self, up_to: Duration) -> Duration {
        up_to.mul_f64(self.random.f64())
    }
}
