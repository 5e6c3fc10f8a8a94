//! What the pipeline notes about itself: always, so it must cost next to nothing. Nothing here makes anyone wait.

mod clock;
mod histogram;
mod measurements;
mod relist_cause;

pub(crate) use self::clock::{AtomicInstant, Clock};
pub use self::histogram::Durations;
pub(crate) use self::histogram::{Histogram, add_alone};
pub(crate) use self::measurements::Measurements;
pub(crate) use self::relist_cause::RelistCause;
