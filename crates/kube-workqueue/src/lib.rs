//! A work queue for controllers, and for anything that works like one.
//!
//! A key is in the queue at most once, is never worked on twice at the same time, and comes back when it was added again
//! meanwhile. Keys can be delayed, held back by rate limiters after failures, and preferred by priority. Workers take keys
//! and call a function until they are told to stop. Nothing in it is about Kubernetes; the semantics are those of client-go's
//! `workqueue` and of controller-runtime's priority queue, whose names are found by the search of this documentation.
//!
//! ```
//! # #[tokio::main(flavor = "current_thread", start_paused = true)]
//! # async fn main() {
//! use kube_workqueue::{CancellationToken, Outcome, Task, WorkQueue, workers};
//! use std::time::Duration;
//!
//! /// Fails the first time, and stops everything when it has worked.
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
//! queue.add("shop/cart"); // it is in line already
//! let stop = CancellationToken::new();
//! let until = stop.clone();
//! let left = workers(queue, 4, move |name| work(name, until.clone()))
//!     .deadline(Duration::from_secs(30))
//!     .run(stop)
//!     .await;
//! assert!(left.is_drained());
//! # }
//! ```
//!
//! # Where to look
//!
//! | for | see |
//! |---|---|
//! | the queue: add, delay, prefer, drain | [`WorkQueue`], [`AddOptions`], [`QueueBuilder`] |
//! | workers, and what their function says | [`workers`], [`Workers`], [`Task`], [`Outcome`] |
//! | taking items by hand | [`WorkQueue::get`], which gives an [`Item`] |
//! | how long failures wait | [`RateLimiter`], [`default_limiter`], [`Exponential`], [`Bucket`], [`MaxOf`] and others |
//! | what was left at the end | [`Remaining`] |
//!
//! # Features
//! None is on unless you say so.
//! - `metrics`: metrics with client-go's names, on a registry of yours: see `metrics`.

#![cfg_attr(docsrs, feature(doc_cfg))]

mod builder;
mod core;
mod half_hash;
mod item;
mod limit;
#[cfg(feature = "metrics")]
pub mod metrics;
#[cfg(not(feature = "metrics"))]
#[path = "metrics/none.rs"]
mod metrics;
mod panics;
mod queue;
mod stats;
mod sync;
mod wait;
mod waiters;
mod worker;
mod workers;

pub use builder::QueueBuilder;
pub use item::Item;
pub use limit::{Bucket, Exponential, FastSlow, Jittered, MaxOf, MaxWait, RateLimiter, default_limiter};
pub use queue::{AddOptions, Remaining, Work, WorkQueue};
pub use stats::QueueStats;
pub use tokio_util::sync::CancellationToken;
pub use workers::{IntoOutcome, Outcome, Task, Workers, workers};
