//! Tests of the queue and its workers through the public API.

mod delays;
mod faults;
mod histories;
mod lifecycle;
mod many;
mod panics;
mod priorities;
mod spans;
mod stats;
mod work;

use std::time::Duration;

/// Timeout of every step. It costs nothing on a paused clock.
const TIMEOUT: Duration = Duration::from_secs(60 * 60);

/// Awaits a future with a time limit.
async fn soon<T>(what: impl Future<Output = T>) -> T {
    tokio::time::timeout(TIMEOUT, what)
        .await
        .expect("a result within an hour")
}
