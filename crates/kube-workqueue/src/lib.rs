//! A work queue for controllers, and for anything that works like one.
//!
//! A key is in the queue at most once, is never worked on twice at the same time, and comes back when it was added again
//! meanwhile. Keys can be delayed, held back by rate limiters after failures, and preferred by priority. Workers take keys
//! and call a function until they are told to stop. Nothing in it is about Kubernetes; the semantics are those of client-go's
//! `workqueue`.
//!
//! Begin with [`WorkQueue`], and with [`workers`] to work on it.
//!
//! # Features
//! - `metrics`: metrics with client-go's names, on a registry of yours.

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
mod queue;
mod sync;
mod wait;
mod waiters;
mod workers;

pub use builder::QueueBuilder;
pub use item::Item;
pub use limit::{Bucket, Exponential, FastSlow, Jittered, MaxOf, MaxWait, RateLimiter, default_limiter};
pub use queue::{AddOptions, Leftover, Work, WorkQueue};
pub use tokio_util::sync::CancellationToken;
pub use workers::{IntoOutcome, Outcome, Task, Workers, workers};
