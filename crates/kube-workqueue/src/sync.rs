//! What the queue waits with. It is named in one place so that `tests/model` can put a model in its stead.

pub(crate) use parking_lot::Mutex;
pub(crate) use tokio::sync::Notify;
pub(crate) use tokio::time::{Instant, sleep_until, timeout};
