//! A work queue for controllers, and for anything that works like one.
//!
//! A key is in the queue at most once, is never worked on twice at the same time, and comes back when it was added again
//! meanwhile. Keys can be delayed, held back by rate limiters after failures, and preferred by priority. Workers take keys
//! and call a function until they are told to stop. Nothing in it is about Kubernetes; the semantics are those of client-go's
//! `workqueue`.
//!
//! # Status
//!
//! This crate holds nothing yet.
