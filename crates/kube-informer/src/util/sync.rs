//! Synchronisation primitives of the modules that `tests/model` checks under all interleavings of threads.
//!
//! The models replace this module with loom's primitives.

pub(crate) use std::thread::yield_now;

pub(crate) use futures::task::AtomicWaker;
pub(crate) use parking_lot::Mutex;
pub(crate) use tokio::task::spawn_blocking;
pub(crate) use tokio_util::sync::CancellationToken;
