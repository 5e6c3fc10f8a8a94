//! Calls that wait for the cache. Checks that they end in time with the right result.

use std::sync::Arc;
use std::time::Duration;

use contract_checker::Selects;
use futures::future::BoxFuture;
use kube_informer::{Error, Key, status::ConsistencyReport};
use tokio::task::JoinHandle;
use tokio::time::Instant;

use super::erased::AnyInformer;
use crate::context::Context;

/// Maximum delay of the end of a wait after its timeout.
const SLACK: Duration = Duration::from_secs(1);
/// Maximum duration of a comparison of cache and server, including the wait for another one.
const LONGEST_CHECK: Duration = Duration::from_mins(11);

/// A call that waits.
pub(super) struct Wait {
    task: JoinHandle<()>,
    deadline: Instant,
}

impl Wait {
    /// Returns whether the call has ended.
    pub(super) fn is_over(&self) -> bool {
        self.task.is_finished()
    }

    /// Returns whether the call takes longer than allowed.
    pub(super) fn is_late(&self) -> bool {
        !self.is_over() && Instant::now() > self.deadline
    }

    pub(super) async fn end(self) {
        let _ended = self.task.await;
    }
}

/// An informer on which calls are made.
#[derive(Clone)]
pub(super) struct Caller {
    pub(super) name: String,
    pub(super) informer: Arc<dyn AnyInformer>,
    pub(super) context: Arc<Context>,
    pub(super) selects: Selects,
}

impl Caller {
    fn spawn(&self, timeout: Duration, call: impl Future<Output = ()> + Send + 'static) -> Wait {
        self.context.counts.lock().waits += 1;
        Wait {
            task: tokio::spawn(call),
            deadline: Instant::now() + timeout + SLACK,
        }
    }

    fn wrong(&self, contract: u8, what: &str) {
        self.context.findings.add(contract, &self.name, what);
    }

    /// Waits until the cache has synced.
    pub(super) fn wait_for_sync(self, timeout: Duration) -> Wait {
        let call = self.informer.wait_for_sync(timeout);
        let this = self.clone();
        self.spawn(timeout, async move {
            let (result, took) = timed(call).await;
            match result {
                Ok(()) if !this.informer.has_synced() => this.wrong(8, "wait_for_sync ended before the sync"),
                Ok(()) => {}
                Err(error) => {
                    this.check_error("wait_for_sync", &error, took, timeout, this.informer.has_synced());
                }
            }
        })
    }

    /// Waits until the cache contains a write: by the version alone, or in its namespace.
    pub(super) fn wait_for_write(
        self,
        key: Key,
        version: u64,
        is_in_namespace: bool,
        timeout: Duration,
    ) -> Wait {
        let call = if is_in_namespace {
            self.informer.wait_for_write(&key, version, timeout)
        } else {
            self.informer.wait_for_version(version, timeout)
        };
        let history = self.context.history.lock();
        let (restarts, position) = (
            history.restarts(),
            history.last_position(&key).unwrap_or_default(),
        );
        drop(history);
        let this = self.clone();
        self.spawn(timeout, async move {
            let (result, took) = timed(call).await;
            let history = this.context.history.lock();
            // The cache may have passed the version of a write whose event was lost.
            if history.restarts() != restarts || history.has_lost_event() {
                return;
            }
            drop(history);
            let cached = this.informer.get(&key);
            let history = this.context.history.lock();
            let has_write = history.was_after(&key, position, &*this.selects, cached.as_ref());
            drop(history);
            match result {
                Ok(()) if !has_write => {
                    let cached = cached.map_or("nothing".to_owned(), |state| state.to_string());
                    this.wrong(
                        8,
                        &format!("waited for {key} at {version}, but the cache holds {cached}"),
                    );
                }
                Ok(()) => {}
                Err(error) => {
                    let at: Option<u64> = this.informer.version().and_then(|at| at.to_string().parse().ok());
                    let is_reached = at.is_some_and(|at| at >= version);
                    this.check_error("wait_for_version", &error, took, timeout, is_reached);
                }
            }
        })
    }

    fn check_error(&self, call: &str, error: &Error, took: Duration, timeout: Duration, is_reached: bool) {
        if error.is_stopped() || self.informer.is_stopped() {
            return;
        }
        if !error.is_timeout() {
            self.wrong(8, &format!("{call} failed: {error}"));
        } else if took + Duration::from_millis(2) < timeout {
            self.wrong(
                8,
                &format!("{call} timed out after {took:?} instead of {timeout:?}"),
            );
        } else if is_reached {
            self.wrong(8, &format!("{call} timed out, but the cache contains the write"));
        }
    }

    /// Compares the cache with the server.
    pub(super) fn check_consistency(self) -> Wait {
        let call: BoxFuture<'static, Result<ConsistencyReport, Error>> = self.informer.check_consistency();
        let restarts = self.context.history.lock().restarts();
        let this = self.clone();
        self.spawn(LONGEST_CHECK, async move {
            let result = call.await;
            let history = this.context.history.lock();
            let is_excused = history.has_lost_event() || history.restarts() != restarts;
            drop(history);
            match result {
                Ok(found) if found.is_consistent() || is_excused => {}
                Ok(found) => this.wrong(1, &format!("the check finds a difference: {found}")),
                Err(error) if error.is_not_checked() || error.is_stopped() => {}
                Err(error) => this.wrong(12, &format!("check_consistency failed: {error}")),
            }
        })
    }
}

async fn timed<T>(call: impl Future<Output = T>) -> (T, Duration) {
    let began = Instant::now();
    let result = call.await;
    (result, began.elapsed())
}
