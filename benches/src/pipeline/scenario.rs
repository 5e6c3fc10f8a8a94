//! Scenarios and their sizes.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use clap::{Args, ValueEnum};

/// A scenario.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum PipelineScenario {
    /// Events through the whole pipeline to handlers.
    Events,
    /// Reading the cache, with and without a writer.
    Reads,
    /// The longest wait of a reader while all objects are replaced.
    Pauses,
    /// The effect of adding a handler on another handler.
    Joins,
    /// The size of an entry without its object.
    Memory,
}

/// The size of a scenario.
#[derive(Debug, Clone, Copy, Args)]
pub struct PipelineSize {
    /// Number of handlers, for the events
    #[arg(long, default_value_t = 1)]
    pub handlers: usize,
    /// Run a shorter version, to check that it works
    #[arg(long)]
    pub quick: bool,
}

impl PipelineSize {
    /// Returns the number of updated objects.
    #[must_use]
    pub fn keys(self) -> usize {
        if self.quick { 1_000 } else { 10_000 }
    }

    /// Returns the number of events.
    #[must_use]
    pub fn events(self) -> usize {
        match (self.quick, self.handlers) {
            (true, _) => 5_000,
            (false, 0..50) => 100_000,
            (false, _) => 30_000,
        }
    }

    /// Returns the number of objects in a large cache.
    #[must_use]
    pub fn objects(self) -> usize {
        if self.quick { 10_000 } else { 100_000 }
    }

    /// Returns the number of measurements of a wait.
    #[must_use]
    pub fn tries(self) -> usize {
        if self.quick { 2 } else { 5 }
    }

    /// Returns the number of single reads.
    #[must_use]
    pub fn gets(self) -> usize {
        if self.quick { 50_000 } else { 500_000 }
    }

    /// Returns the number of reads of a thousand objects.
    #[must_use]
    pub fn lists(self) -> usize {
        if self.quick { 50 } else { 500 }
    }
}

/// Duration of a baseline measurement.
pub const BASELINE_DURATION: Duration = Duration::from_millis(300);

/// Returns a flag that several threads share.
#[must_use]
pub fn switch(on: bool) -> Arc<AtomicBool> {
    Arc::new(AtomicBool::new(on))
}
