//! Benchmarks that compare this project with client-go and kube-runtime.
//!
//! [`cluster`] measures the whole path from a server's socket to a handler. [`pipeline`] measures the
//! informer without a network, with a scripted list and watch instead of the server. [`queue`] measures the
//! work queue. [`soak`] runs for a long time and checks that memory and tasks do not grow. Each subject runs
//! the same scenarios on the same objects and prints measurements as JSON lines. `client_go/` contains the Go
//! part, and `cargo xtask bench` runs all of them in turns and compares them.

#![allow(
    clippy::cast_precision_loss,
    reason = "measurements are printed with few digits"
)]

pub mod clock;
pub mod cluster;
pub mod measure;
pub mod pipeline;
pub mod queue;
pub mod report;
pub mod soak;

/// The result of a scenario.
pub type Outcome<T = ()> = Result<T, Box<dyn std::error::Error + Send + Sync>>;
