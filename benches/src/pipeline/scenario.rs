//! What is measured, and how much of it.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use clap::{Args, ValueEnum};

/// One thing to measure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Scenario {
    /// Events through the whole pipeline to handlers.
    Events,
    /// Reading the cache, with and without a writer.
    Reads,
    /// The longest wait of a reader while everything is replaced.
    Pauses,
    /// What a handler that joins late costs another.
    Joins,
    /// What an entry takes beyond its object.
    Memory,
}

/// How much of it.
#[derive(Debug, Clone, Copy, Args)]
pub struct Size {
    /// Handlers, for the events
    #[arg(long, default_value_t = 1)]
    pub handlers: usize,
    /// Less of everything, to see that it works
    #[arg(long)]
    pub quick: bool,
}

impl Size {
    /// Objects that events are spread over.
    #[must_use]
    pub fn keys(self) -> usize {
        if self.quick { 1_000 } else { 10_000 }
    }

    /// Events through the pipeline.
    #[must_use]
    pub fn events(self) -> usize {
        match (self.quick, self.handlers) {
            (true, _) => 5_000,
            (false, 0..50) => 100_000,
            (false, _) => 30_000,
        }
    }

    /// Objects in a large cache.
    #[must_use]
    pub fn objects(self) -> usize {
        if self.quick { 10_000 } else { 100_000 }
    }

    /// How often a wait is measured.
    #[must_use]
    pub fn tries(self) -> usize {
        if self.quick { 2 } else { 5 }
    }

    /// Single reads.
    #[must_use]
    pub fn gets(self) -> usize {
        if self.quick { 50_000 } else { 500_000 }
    }

    /// Reads of a thousand objects.
    #[must_use]
    pub fn lists(self) -> usize {
        if self.quick { 50 } else { 500 }
    }
}

/// How long a floor is measured.
pub const WHILE: Duration = Duration::from_millis(300);

/// A switch that many hold.
#[must_use]
pub fn switch(on: bool) -> Arc<AtomicBool> {
    Arc::new(AtomicBool::new(on))
}
