//! Handles kinds that are not served: not yet, or not any more.
//!
//! A 404 may be caused by a server that does not serve the kind, or by a misconfigured proxy. Only discovery
//! can distinguish the two, so it is requested before the machine accepts a 404. The cache is emptied only if the
//! kind has been absent for a while.

use std::time::Duration;

use tokio::time::Instant;

use super::{Action, AfterReplace, AfterWait, Decision, Machine, Phase, Trust, status_of};
use crate::error::{Error, Problem, StatusError, UnservedStage};
use crate::measures::RelistCause;
use crate::object::ResourceVersion;

/// Timeout of the discovery request.
const DISCOVERY_TIMEOUT: Duration = Duration::from_secs(30);
/// Minimum absence of a kind before its objects are removed. API servers learn of a definition at different
/// times; Kubernetes allows five seconds.
pub(super) const REMOVAL_DELAY: Duration = Duration::from_secs(5);

/// A kind that is not served.
#[derive(Debug)]
pub(super) struct UnservedKind {
    since: Instant,
    /// The cache is empty, so another 404 changes nothing and needs no check.
    settled: bool,
}

impl Machine {
    /// Handles a request that failed with 404.
    pub(super) fn not_found<O>(
        &mut self,
        now: Instant,
        phase: Phase,
        error: &Error,
        status: &StatusError,
    ) -> Decision<O> {
        if self.unserved.as_ref().is_some_and(|unserved| unserved.settled) {
            return self.wait_until_served(now, status, UnservedStage::Unchanged);
        }
        self.phase = Phase::CheckingServed {
            failed: Box::new(phase),
            error: error.clone(),
        };
        let timeout = DISCOVERY_TIMEOUT;
        Action::CheckServed { timeout }.into()
    }

    /// Handles the result of discovery, after a request of phase `failed` had failed.
    pub(super) fn checked_served<O>(
        &mut self,
        now: Instant,
        failed: Phase,
        error: Error,
        served: Option<bool>,
    ) -> Decision<O> {
        let (Some(false), Some(status)) = (served, status_of(&error)) else {
            if served.is_some() {
                self.unserved = None;
            }
            return self.after_failure(now, failed, error);
        };
        let is_new = self.unserved.is_none();
        let unserved = self.unserved.get_or_insert(UnservedKind {
            since: now,
            settled: self.last.is_none(),
        });
        let is_removed = now.duration_since(unserved.since) >= REMOVAL_DELAY;
        match &self.last {
            Some(last) if is_removed && !unserved.settled => {
                unserved.settled = true;
                let version = last.clone();
                self.remove_kind(now, version, status)
            }
            _ => {
                let stage = if is_new {
                    UnservedStage::New
                } else {
                    UnservedStage::Unchanged
                };
                self.wait_until_served(now, status, stage)
            }
        }
    }

    fn remove_kind<O>(
        &mut self,
        now: Instant,
        version: ResourceVersion,
        status: &StatusError,
    ) -> Decision<O> {
        // A kind that is served again is a new collection, whose versions cannot be compared with the old
        // ones.
        self.last_unusable = true;
        // An empty cache cannot be contradicted.
        self.trust = Trust::Versions;
        self.set_relist_cause(RelistCause::Absent);
        let wait = self.next_wait(now, Some(status));
        self.phase = Phase::Replacing(AfterReplace::Wait(wait));
        Decision::from(Action::RemoveKind { version }).reporting(not_served(status, UnservedStage::Removed))
    }

    fn wait_until_served<O>(
        &mut self,
        now: Instant,
        status: &StatusError,
        stage: UnservedStage,
    ) -> Decision<O> {
        self.set_relist_cause(RelistCause::Absent);
        self.wait(now, AfterWait::Restart, Some(status))
            .reporting(not_served(status, stage))
    }
}

fn not_served(status: &StatusError, stage: UnservedStage) -> Error {
    Error::new(Problem::NotServed {
        stage,
        status: status.clone(),
    })
}
