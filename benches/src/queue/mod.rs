//! The work queue.

mod cycles;
mod delays;
mod keys;
mod memory;

use clap::{Args, ValueEnum};
use kube_workqueue::QueueItem;

pub use self::cycles::cycles;
pub use self::delays::{delays, limits};
pub use self::memory::memory;

/// The subjects written in Rust.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum QueueSubject {
    /// This project.
    KubeWorkqueue,
}

/// A scenario.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum QueueScenario {
    /// Add, get, done.
    Cycles,
    /// Delayed items.
    Delays,
    /// Items that are delayed by a limiter.
    Limits,
}

/// The size of a scenario.
#[derive(Debug, Clone, Copy, Args)]
pub struct QueueSize {
    /// Number of workers, for the cycles
    #[arg(long, default_value_t = 1)]
    pub workers: usize,
    /// Run a shorter version, to check that it works
    #[arg(long)]
    pub quick: bool,
}

impl QueueSize {
    /// Returns the number of items and cycles.
    #[must_use]
    pub fn items(self) -> usize {
        if self.quick { 100_000 } else { 1_000_000 }
    }
}

/// Types of keys. Copies of Go strings share their content, like `Arc<str>`; a copy of a `String` does not.
pub trait Key: QueueItem + for<'a> From<&'a str> {}

impl<T: QueueItem + for<'a> From<&'a str>> Key for T {}

/// Suffix of the measurements of keys that are copied.
const COPIED: &str = ", keys as String";
