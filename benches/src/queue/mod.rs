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

/// The ones that are written in Rust.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum Subject {
    /// This project.
    KubeWorkqueue,
}

/// One thing to measure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Scenario {
    /// Add, get, done.
    Cycles,
    /// Items that wait for their time.
    Delays,
    /// Items that are held back by a limiter.
    Limits,
}

/// How much of it.
#[derive(Debug, Clone, Copy, Args)]
pub struct Size {
    /// Workers, for the cycles
    #[arg(long, default_value_t = 1)]
    pub workers: usize,
    /// Less of everything, to see that it works
    #[arg(long)]
    pub quick: bool,
}

impl Size {
    /// Items, and cycles.
    #[must_use]
    pub fn items(self) -> usize {
        if self.quick { 100_000 } else { 1_000_000 }
    }
}

/// What can be a key here. Go's strings are shared when they are copied, as an `Arc<str>` is; a `String` is a copy.
pub trait Key: QueueItem + for<'a> From<&'a str> {}

impl<T: QueueItem + for<'a> From<&'a str>> Key for T {}

/// What is said of keys that are copied.
const COPIED: &str = ", keys as String";
