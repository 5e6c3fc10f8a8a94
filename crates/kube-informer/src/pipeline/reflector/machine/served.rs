//! Kinds that are not served: not yet, or not any more.
//!
//! A 404 comes from a server that does not serve the kind, and just as well from a misconfigured proxy. Only discovery
//! tells them apart, so the machine asks for it before it believes a 404. Before it empties the cache, the kind must have
//! been absent for a while.

use std::time::Duration;

use tokio::time::Instant;

use super::{Action, AfterReplace, AfterWait, Decision, Machine, Phase, Trust, status_of};
use crate::error::{Error, Problem, StatusError, UnservedStage};
use crate::measures::RelistCause;
use crate::object::ResourceVersion;

/// How long discovery may take.
const DISCOVERY_TIMEOUT: Duration = Duration::from_secs(30);
/// How long a kind must have been absent before its objects are removed. One of several API servers may learn of a
/// definition later than the others; Kubernetes allows them five seconds for it.
pub(super) const REMOVAL_DELAY: Duration = Duration::from_secs(5);

/// The kind is not served.
#[derive(Debug)]
pub(super) struct UnservedKind {
    since: Instant,
    /// The cache is empty, so another 404 changes nothing and needs no check.
    settled: bool,
}

impl Machine {
    /// A request failed with 404.
    pub(super) fn not_found<E>(
        &mut self,
        now: Instant,
        phase: Phase,
        error: &Error,
        status: &StatusError,
    ) -> Decision<E> {
        if self.absence.as_ref().is_some_and(|absence| absence.settled) {
            return self.wait_until_served(now, status, UnservedStage::Still);
        }
        self.phase = Phase::CheckingServed {
            failed: Box::new(phase),
            error: error.clone(),
        };
        let timeout = DISCOVERY_TIMEOUT;
        Action::CheckServed { timeout }.into()
    }

    /// Discovery was asked whether the kind is served, after a request had failed in this phase.
    pub(super) fn checked_served<E>(
        &mut self,
        now: Instant,
        failed: Phase,
        error: Error,
        served: Option<bool>,
    ) -> Decision<E> {
        let (Some(false), Some(status)) = (served, status_of(&error)) else {
            if served.is_some() {
                self.absence = None;
            }
            return self.after_failure(now, failed, error);
        };
        let is_new = self.absence.is_none();
        let absence = self.absence.get_or_insert(UnservedKind {
            since: now,
            settled: self.last.is_none(),
        });
        let is_gone = now.duration_since(absence.since) >= REMOVAL_DELAY;
        match &self.last {
            Some(last) if is_gone && !absence.settled => {
                absence.settled = true;
                let version = last.clone();
                self.remove_kind(now, version, status)
            }
            _ => {
                let absent = if is_new {
                    UnservedStage::Found
                } else {
                    UnservedStage::Still
                };
                self.wait_until_served(now, status, absent)
            }
        }
    }

    fn remove_kind<E>(
        &mut self,
        now: Instant,
        version: ResourceVersion,
        status: &StatusError,
    ) -> Decision<E> {
        // A kind that returns is another collection, and its objects may be older than a watch can tell.
        self.last_unusable = true;
        // An empty cache cannot be contradicted.
        self.trust = Trust::Versions;
        self.list_because(RelistCause::Absent);
        let wait = self.next_wait(now, Some(status));
        self.phase = Phase::Replacing(AfterReplace::Wait(wait));
        Decision::from(Action::RemoveKind { version }).reporting(not_served(status, UnservedStage::Gone))
    }

    fn wait_until_served<E>(
        &mut self,
        now: Instant,
        status: &StatusError,
        stage: UnservedStage,
    ) -> Decision<E> {
        self.list_because(RelistCause::Absent);
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
