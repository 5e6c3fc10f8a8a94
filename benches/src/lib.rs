//! Benchmarks beside client-go's and kube-runtime's.
//!
//! [`cluster`] measures the whole way from a server's socket to a handler. [`pipeline`] measures the informer without a
//! network: a scripted list and watch stands in for the server, so that what is measured is the machinery alone. [`queue`]
//! measures the work queue. [`soak`] measures nothing but time: whether anything
//! grows that should not. Each subject runs the same scenarios on the same objects and prints what
//! it measured as JSON lines; `client-go/` holds the Go side, and `cargo xtask bench` runs all of them in turn and compares.

#![allow(clippy::cast_precision_loss, reason = "figures are printed with few digits")]

pub mod clock;
pub mod cluster;
pub mod measure;
pub mod pipeline;
pub mod queue;
pub mod report;
pub mod soak;

/// What a scenario ends with.
pub type Outcome<T = ()> = Result<T, Box<dyn std::error::Error + Send + Sync>>;
