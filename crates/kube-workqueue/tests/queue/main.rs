//! The queue and its workers, as programs use them.

mod delays;
mod faults;
mod histories;
mod line;
mod many;
mod panics;
mod priorities;
mod spans;
mod stats;
mod work;

use std::time::Duration;

/// Longer than any test takes. It costs nothing on a paused clock.
const LONG: Duration = Duration::from_secs(60 * 60);

/// Awaits a future with a time limit.
async fn soon<T>(what: impl Future<Output = T>) -> T {
    tokio::time::timeout(LONG, what)
        .await
        .expect("something within an hour")
}
