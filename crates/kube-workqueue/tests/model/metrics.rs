//! The meter of a queue that has none.

use crate::core::{Nanos, SlotId};

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
}
