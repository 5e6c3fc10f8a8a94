//! The synchronisation of the pipeline and of the client, in all interleavings of threads.
//!
//! The sources are compiled here again, with loom's primitives and with models of tokio's in place of
//! `src/util/sync.rs`. Loom runs each scenario in all interleavings up to a number of preemptions. A lost
//! wake-up is reported as a deadlock.

#![allow(
    dead_code,
    unreachable_pub,
    reason = "the sources belong to a library, and the models use a part of them"
)]

#[path = "../../src/pipeline/processor/mailbox.rs"]
mod mailbox;
#[path = "../../src/client/single_flight.rs"]
mod single_flight;
mod sync;
/// The sources import their primitives from here.
mod util {
    pub(crate) use crate::sync;
}

mod connecting;
mod delivery;

/// Runs a scenario in all interleavings with at most this number of preemptions. A waiting thread is not
/// preempted.
fn in_all_orders(preemptions: usize, scenario: impl Fn() + Send + Sync + 'static) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(preemptions);
    model.check(scenario);
}
