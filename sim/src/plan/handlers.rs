//! Handlers of a plan.

use std::time::Duration;

/// A handler.
#[derive(Debug, Clone)]
pub struct HandlerPlan {
    /// How it is called.
    pub kind: HandlerKind,
    /// Whether it receives every single event.
    pub every_event: bool,
    /// Its own resync period.
    pub resync: Option<Duration>,
    /// Whether it receives only objects with the label.
    pub is_filtered: bool,
    /// Time for an event.
    pub pace: Pace,
    /// Panics at every n-th event.
    pub panics: Option<u64>,
    /// Removes itself after this many events.
    pub leaves_after: Option<u64>,
}

/// How a handler is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HandlerKind {
    /// As a closure that never blocks.
    Inline,
    /// As a future.
    Async,
    /// As a stream of events.
    Stream,
}

/// The time that a handler needs for an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pace {
    /// No time.
    Quick,
    /// This long for each event.
    Slow(Duration),
    /// It blocks in its first event until the run ends.
    Stuck,
}
