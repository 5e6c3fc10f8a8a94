//! Random faults, and handlers that join and leave.

use std::sync::Arc;
use std::time::Duration;

use kube_embedded::{Fault, On, Server};
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use super::system::SystemUnderTest;

/// Range of the time between two faults, in milliseconds.
const SHORTEST: u64 = 1_000;
const LONGEST: u64 = 4_000;

/// Injects faults.
#[derive(Debug)]
pub(super) struct FaultInjector {
    random: fastrand::Rng,
}

impl FaultInjector {
    pub(super) fn new(seed: u64) -> FaultInjector {
        FaultInjector {
            random: fastrand::Rng::with_seed(seed),
        }
    }

    /// Injects faults until it is stopped; then ends all faults.
    pub(super) async fn run(mut self, server: Arc<Server>, system: SystemUnderTest, stop: CancellationToken) {
        loop {
            let pause = Duration::from_millis(self.random.u64(SHORTEST..LONGEST));
            if stop.run_until_cancelled(sleep(pause)).await.is_none() {
                server.faults().clear();
                return;
            }
            self.inject(&server, &system).await;
        }
    }

    async fn inject(&mut self, server: &Server, system: &SystemUnderTest) {
        let (watch, list) = (On::watch("configmaps").once(), On::list("configmaps").once());
        let faults = server.faults();
        match self.random.u8(..8) {
            0 => server.cut_connections(),
            1 => {
                server.compact_history();
                server.cut_connections();
            }
            2 => {
                faults.add(watch, Fault::CutAfterEvents(self.random.usize(..50)));
                server.cut_connections();
            }
            3 => {
                faults.add(watch, Fault::ExpireAfterEvents(self.random.usize(..50)));
                server.cut_connections();
            }
            4 => {
                faults.add(watch, Fault::expired());
                faults.add(list, Fault::unavailable());
                server.cut_connections();
            }
            5 => {
                faults.add(watch, Fault::DuplicateEvents);
                server.cut_connections();
            }
            6 => system.join_and_leave(self.random.u64(..500)).await,
            _ => system.panic_at_next_event(),
        }
    }
}
