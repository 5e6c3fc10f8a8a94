//! The meter of a build without metrics: there is none, so an `Option` of it takes no room and its branches vanish.

use std::sync::Arc;

use crate::core::{Nanos, SlotId};
use crate::queue::Shared;

pub(crate) enum Meter {}

impl Meter {
    pub(crate) fn watch<T>(&self, _queue: &Arc<Shared<T>>) {
        match *self {}
    }

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
    pub(crate) fn of<O>(_outcome: &O) -> Verdict {
        Verdict
    }
}
