//! Runs seeded plans against the whole library and the embedded server, in one thread on paused time.
//!
//! A [`Plan`] is drawn from a seed: informers, handlers, and steps of writes and faults. [`play`] runs it and
//! checks the contract after each step and inside every handler, with the checkers of the crate
//! `contract-checker`. The same seed always gives the same run. A plan that fails can be shortened with
//! [`shrink`] and replayed with a log.
//!
//! `sim/mutants` contains patches that introduce one bug each. `cargo xtask mutants` applies them to a copy
//! of the tree and checks that the simulator finds every one.

mod cluster;
mod context;
mod informer;
mod objects;
mod plan;
mod requests;
mod run;
mod shrink;
mod workers;

pub use context::Counts;
pub use plan::{
    FaultPlan, HandlerKind, HandlerPlan, InformerPlan, LastingFault, ObjectFormat, Pace, Plan, Selection,
    Step, TransformPlan,
};
pub use run::{Outcome, play};
pub use shrink::shrink;

/// The payload of planned panics.
#[derive(Debug)]
pub(crate) struct PlannedPanic;
