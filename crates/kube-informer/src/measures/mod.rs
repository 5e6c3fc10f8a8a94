//! What the pipeline notes about itself: always, so it must cost next to nothing. Nothing here makes anyone wait.

mod histogram;
mod measurements;
mod moment;
mod relist_cause;

pub use self::histogram::Durations;
pub(crate) use self::histogram::{Histogram, add_alone};
pub(crate) use self::measurements::Measures;
pub(crate) use self::moment::{Clock, Moment};
pub(crate) use self::relist_cause::RelistCause;
