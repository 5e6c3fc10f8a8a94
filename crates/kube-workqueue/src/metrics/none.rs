//! The meter of a build without metrics. The type has no values, so an `Option` of it needs no memory and no branches.

use std::sync::Arc;

use crate::core::{Nanos, SlotId};
use crate::outcome::AttemptResult;
use crate::queue::Shared;

pub(crate) enum Meter {}

impl Meter {
    pub(crate) fn register<T>(&self, _queue: &Arc<Shared<T>>) {
        match *self {}
    }

    pub(crate) fn count_adds(&self, _adds: u64) {
        match *self {}
    }

    pub(crate) fn count_retry(&self) {
        match *self {}
    }

    pub(crate) fn item_started(&self, _slot: SlotId, _now: Nanos, _queued_for: Nanos) {
        match *self {}
    }

    pub(crate) fn item_finished(&self, _slot: SlotId, _now: Nanos) {
        match *self {}
    }

    pub(crate) fn count_attempt(&self, _result: &AttemptResult) {
        match *self {}
    }
}
