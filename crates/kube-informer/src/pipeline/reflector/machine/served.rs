//! Kinds that are not served: not yet, or not any more.
//!
//! A 404 comes from a server that does not serve the kind, and just as well from a proxy that has lost its way. Only what
//! the server says of itself in discovery tells them apart, so that is asked for before anything is believed; and before
//! a cache is emptied, it must have been so for a while.

use std::time::Duration;

use tokio::time::Instant;

use super::{Machine, Next, Then, Trust, status_of};
use crate::error::{Absent, Error, Problem, StatusError};
use crate::object::ResourceVersion;
use crate::pipeline::reflector::cause::Cause;

/// How long discovery may take.
pub(in crate::pipeline::reflector) const DISCOVERY_ANSWER: Duration = Duration::from_secs(30);
/// How long a kind must have been gone before its objects are. One of several API servers may hear of a definition later
/// than the others; Kubernetes allows them five seconds for it.
pub(super) const GONE_AFTER: Duration = Duration::from_secs(5);

/// What to do after a failure.
#[derive(Debug)]
pub(crate) enum Failed {
    /// Go on with this; the complaint says what failed.
    Next(Next),
    /// It may mean that the kind is not served: ask, then say [`Machine::checked`] with the answer and this failure.
    Check(Error),
}

/// What to do after it was asked whether the kind is served.
#[derive(Debug)]
pub(crate) struct Checked {
    /// The kind and all its objects are gone: empty the cache. The server does not report at which version it removed them, so
    /// the cache keeps this one, the last before.
    pub(crate) gone: Option<ResourceVersion>,
    pub(crate) next: Next,
}

/// The kind is not served.
#[derive(Debug)]
pub(super) struct Absence {
    since: Instant,
    /// There is nothing in the cache, or nothing any more: another 404 needs no check, it changes nothing.
    settled: bool,
}

impl Machine {
    /// A request failed, or a watch ended with an error.
    pub(crate) fn failed(&mut self, now: Instant, error: Error) -> Failed {
        let Some(status) = status_of(&error).filter(|status| status.code == 404) else {
            return Failed::Next(self.after(now, error));
        };
        if self.absence.as_ref().is_some_and(|absence| absence.settled) {
            return Failed::Next(self.wait_until_served(now, status, Absent::Still));
        }
        Failed::Check(error)
    }

    /// Discovery said whether the kind is served, after a request had failed with this error; none if it did not say.
    pub(crate) fn checked(&mut self, now: Instant, failure: Error, served: Option<bool>) -> Checked {
        let (Some(false), Some(status)) = (served, status_of(&failure)) else {
            if served.is_some() {
                self.absence = None;
            }
            let next = self.after(now, failure);
            return Checked { gone: None, next };
        };
        let is_new = self.absence.is_none();
        let absence = self.absence.get_or_insert(Absence {
            since: now,
            settled: self.last.is_none(),
        });
        let mut gone = None;
        if !absence.settled && now.duration_since(absence.since) >= GONE_AFTER {
            absence.settled = true;
            // Whatever comes back is another collection, and what is new in it may be older than a watch can tell.
            self.last_unusable = true;
            // An empty cache cannot be contradicted.
            self.trust = Trust::Versions;
            gone.clone_from(&self.last);
        }
        let absent = match (is_new, &gone) {
            (_, Some(_)) => Absent::Gone,
            (true, None) => Absent::Found,
            (false, None) => Absent::Still,
        };
        let next = self.wait_until_served(now, status, absent);
        Checked { gone, next }
    }

    fn wait_until_served(&mut self, now: Instant, status: &StatusError, absent: Absent) -> Next {
        let complaint = Error::new(Problem::NotServed {
            absent,
            status: status.clone(),
        });
        self.list_because(Cause::Absent);
        self.wait(now, Then::Cycle, Some(complaint), Some(status))
    }
}
