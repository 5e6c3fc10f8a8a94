//! Benchmarks of the pipeline without a network, beside client-go's and kube-runtime's.
//!
//! A scripted list and watch stands in for the server, so that what is measured is the machinery alone. Each subject runs
//! the same scenarios on the same pods and prints what it measured as JSON lines; `client-go/` holds the Go side, and
//! `cargo xtask bench pipeline` runs all of them in turn and compares.

#![allow(clippy::cast_precision_loss, reason = "figures are printed with few digits")]

pub mod clock;
pub mod measure;
pub mod pods;
pub mod report;
pub mod scenario;
pub mod subjects;
