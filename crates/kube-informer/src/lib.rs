//! Kubernetes' informer machinery in Rust.
//!
//! An informer keeps a copy of a kind's objects in step with the cluster and tells handlers what changed. The data takes
//! one way, and the modules will stand in its order:
//!
//! ```text
//! API server → wire → reflector → delta queue → controller → store → processor → handlers
//! ```
//!
//! - *wire*: bytes become objects, and only as much of them as is wanted;
//! - *reflector*: list, then watch, for ever, politely;
//! - *delta queue* and *controller*: changes in order, written to the store before anyone hears of them;
//! - *store*: objects, indexes and version as one immutable snapshot;
//! - *processor*: every handler gets its own bounded queue and its own task.
//!
//! # Status
//!
//! This crate holds nothing yet. What its tests stand on is there: `kube-embedded`, an API server for this process, and
//! `kube-wire`, Kubernetes' wire formats.
