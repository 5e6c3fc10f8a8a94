//! Locks and timers of the queue, imported in one place so that `tests/model` can replace them.

pub(crate) use parking_lot::Mutex;
pub(crate) use tokio::sync::Notify;
pub(crate) use tokio::time::{Instant, sleep_until, timeout};
