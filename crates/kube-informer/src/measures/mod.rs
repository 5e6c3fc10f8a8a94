//! Measurements of the pipeline. They are always on, so recording is lock-free and cheap.

mod clock;
mod histogram;
mod measurements;
mod relist_cause;

pub(crate) use self::clock::{AtomicInstant, Clock};
pub use self::histogram::Durations;
pub(crate) use self::histogram::{Histogram, add_unshared};
pub(crate) use self::measurements::Measurements;
pub(crate) use self::relist_cause::RelistCause;
