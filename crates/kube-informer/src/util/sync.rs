//! Synchronisation primitives of the modules that `tests/model` checks in every order of threads.
//!
//! They are named in one place, so that the models can replace them with loom's.

pub(crate) use std::thread::yield_now;

pub(crate) use futures::task::AtomicWaker;
pub(crate) use parking_lot::Mutex;
pub(crate) use tokio::task::spawn_blocking;
pub(crate) use tokio_util::sync::CancellationToken;
