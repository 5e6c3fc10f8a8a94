//! The meter of a build without metrics: there is none, so an `Option` of it takes no room and its branches vanish.

use crate::core::{Nanos, SlotId};
use crate::workers::{Failure, Outcome};

pub(crate) enum Meter {}

impl Meter {
    pub(crate) fn added(&self, _adds: u64) {
        match *self {}
    }

    pub(crate) fn retried(&self) {
        match *self {}
    }

    pub(crate) fn began(&self, _slot: SlotId, _now: Nanos, _waited: Nanos) {
        match *self {}
    }

    pub(crate) fn ended(&self, _slot: SlotId, _now: Nanos) {
        match *self {}
    }

    pub(crate) fn judged(&self, _verdict: Verdict) {
        match *self {}
    }
}

pub(crate) struct Verdict;

impl Verdict {
    pub(crate) fn of(_outcome: &Result<Outcome, Failure>) -> Verdict {
        Verdict
    }
}
