//! Compares the cache with the server from time to time.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use super::Shared;
use crate::error::{Error, ErrorChain, Operation, Problem, StatusError};
use crate::object::Kind;
use crate::types::ConsistencyReport;
use crate::util::{MAX_DURATION, panics};

/// The shortest time between two checks: each costs the server a list.
const MIN_INTERVAL: Duration = Duration::from_secs(60);
/// A difference is looked for once more after this time and up to twice as much.
const RECHECK_DELAY: Duration = Duration::from_secs(5);

/// When to compare, and what then.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct CheckSettings {
    /// None for never.
    every: Option<Duration>,
    /// Whether everything is listed anew after a difference.
    pub(crate) relist: bool,
}

impl CheckSettings {
    pub(crate) fn every(&mut self, period: Duration) {
        self.every = (!period.is_zero()).then(|| period.clamp(MIN_INTERVAL, MAX_DURATION));
    }
}

/// The running part of the check.
pub(super) struct CheckTask<K> {
    shared: Arc<Shared<K>>,
    every: Duration,
    random: fastrand::Rng,
    /// That there are no checks was told, and nothing has changed since.
    told: bool,
}

impl<K: Kind> CheckTask<K> {
    /// The checker of an informer, if there is to be one.
    pub(super) fn of(shared: &Arc<Shared<K>>) -> Option<CheckTask<K>> {
        Some(CheckTask {
            every: shared.checking.every?,
            random: fastrand::Rng::with_seed(shared.settings.seed),
            shared: Arc::clone(shared),
            told: false,
        })
    }

    /// Checks until it is told to stop.
    pub(super) async fn run(mut self, stop: CancellationToken) {
        stop.run_until_cancelled(self.work()).await;
    }

    async fn work(&mut self) {
        self.shared.synced.cancelled().await;
        loop {
            let every = self.every;
            sleep(every + self.chance(every / 4)).await;
            // The source is the user's code, and so is the type of its objects.
            let found = panics::caught_in(self.look_twice())
                .await
                .unwrap_or_else(|panic| {
                    let error = Error::user_code(format!("the consistency check panicked: {panic}"));
                    Err(error.with_context(Operation::ConsistencyCheck, &self.shared.resource))
                });
            match found {
                Ok(found) => {
                    self.told = false;
                    if !found.is_consistent() {
                        self.tell(found);
                    }
                }
                Err(error) => self.not_checked(&error),
            }
        }
    }

    /// What is told to people has been seen twice.
    async fn look_twice(&mut self) -> Result<ConsistencyReport, Error> {
        let found = self.shared.check().await?;
        if found.is_consistent() {
            return Ok(found);
        }
        sleep(RECHECK_DELAY + self.chance(RECHECK_DELAY)).await;
        self.shared.check().await
    }

    fn tell(&self, found: ConsistencyReport) {
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

    /// What passes by itself, and what lists and watches tell of anyway, is worth no word. The rest is worth one.
    fn not_checked(&mut self, error: &Error) {
        let passes = |status: &StatusError| matches!(status.code, 404 | 410 | 429 | 500..);
        let is_known = error.is_connection() || error.is_not_served();
        if is_known || error.server_status().is_some_and(passes) || self.told {
            tracing::debug!("{}", ErrorChain(error));
            return;
        }
        self.told = true;
        self.shared.context.report(error);
    }

    fn chance(&mut self, up_to: Duration) -> Duration {
        up_to.mul_f64(self.random.f64())
    }
}
