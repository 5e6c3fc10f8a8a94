//! The synchronisation of the pipeline and of the client, in every order that threads can be in.
//!
//! The sources are compiled here once more, with loom's primitives and with models of tokio's in place of `src/util/sync.rs`.
//! Loom runs each scenario in all orders of its steps, up to a number of preemptions. A lost wake-up is reported as a
//! deadlock.

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

/// Runs a scenario in all orders with at most this many preemptions. A thread that waits is not preempted.
fn in_all_orders(preemptions: usize, scenario: impl Fn() + Send + Sync + 'static) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(preemptions);
    model.check(scenario);
}
