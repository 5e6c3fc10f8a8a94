//! Models of the queue's synchronisation primitives.

mod clock;
mod mutex;
mod notify;

pub(crate) use self::clock::{Instant, advance, sleep_until, timeout};
pub(crate) use self::mutex::Mutex;
pub(crate) use self::notify::Notify;
