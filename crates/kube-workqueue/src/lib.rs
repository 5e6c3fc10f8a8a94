//! A work queue for controllers and similar programs, with workers that process its items.
//!
//! A key is queued at most once, is never processed twice at the same time, and is queued again if it is added while it is
//! processed. Keys can be delayed, rate limited after failures, and ordered by priority. Workers take keys and call a function
//! until they are cancelled. The crate does not depend on Kubernetes. Its semantics are those of client-go's `workqueue` and
//! of controller-runtime's priority queue, whose names are search aliases in this documentation.
//!
//! # Examples
//! ```
//! # #[tokio::main(flavor = "current_thread", start_paused = true)]
//! # async fn main() {
//! use kube_workqueue::{CancellationToken, Outcome, Task, WorkQueue, workers};
//! use std::time::Duration;
//!
//! /// Fails the first time. Cancels the workers when it succeeds.
//! async fn work(name: Task<&'static str>, stop: CancellationToken) -> Result<Outcome, &'static str> {
//!     if name.attempt() == 1 {
//!         return Err("not yet");
//!     }
//!     stop.cancel();
//!     Ok(Outcome::Done)
//! }
//!
//! let queue = WorkQueue::new("websites");
//! queue.add("shop/cart");
//! queue.add("shop/cart"); // no effect: it is queued already
//! let stop = CancellationToken::new();
//! let token = stop.clone();
//! let remaining = workers(queue, 4, move |name| work(name, token.clone()))
//!     .deadline(Duration::from_secs(30))
//!     .run(stop)
//!     .await;
//! assert!(remaining.is_drained());
//! # }
//! ```
//!
//! # Overview
//!
//! | task | items |
//! |---|---|
//! | adding, delaying and draining | [`WorkQueue`], [`AddOptions`], [`QueueBuilder`] |
//! | running workers | [`workers`], [`Workers`], [`Task`], [`Outcome`] |
//! | taking items without workers | [`WorkQueue::get`], which returns an [`ItemGuard`] |
//! | delays after failures | [`RateLimiter`], [`default_limiter`], [`Exponential`], [`Bucket`], [`MaxOf`] and others |
//! | items that were not processed | [`Remaining`] |
//!
//! # Features
//! No feature is enabled by default.
//! - `metrics`: Prometheus metrics with client-go's names: see `metrics`.

#![cfg_attr(docsrs, feature(doc_cfg))]

mod builder;
mod core;
mod guard;
mod hash;
mod limit;
#[cfg(feature = "metrics")]
pub mod metrics;
#[cfg(not(feature = "metrics"))]
#[path = "metrics/none.rs"]
mod metrics;
mod outcome;
mod panics;
mod queue;
mod stats;
mod sync;
mod wait;
mod waiters;
mod worker;
mod workers;

pub use builder::QueueBuilder;
pub use guard::ItemGuard;
pub use limit::{Bucket, Exponential, FastSlow, Jitter, MaxOf, MaxWait, RateLimiter, default_limiter};
pub use outcome::{IntoOutcome, Outcome};
pub use queue::{AddOptions, QueueItem, Remaining, WorkQueue};
pub use stats::QueueStats;
pub use tokio_util::sync::CancellationToken;
pub use workers::{Task, Workers, workers};
