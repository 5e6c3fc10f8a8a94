//! Faults now and then, as a cluster has them, and handlers that come and go.

use std::sync::Arc;
use std::time::Duration;

use kube_embedded::{Fault, On, Server};
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use super::house::House;

/// Between two of them.
const SHORTEST: u64 = 1_000;
const LONGEST: u64 = 4_000;

/// Who makes the trouble.
#[derive(Debug)]
pub(super) struct Trouble {
    random: fastrand::Rng,
}

impl Trouble {
    pub(super) fn new(seed: u64) -> Trouble {
        Trouble {
            random: fastrand::Rng::with_seed(seed),
        }
    }

    /// Makes trouble until it is told to stop; then the server is well again.
    pub(super) async fn make(mut self, server: Arc<Server>, house: House, stop: CancellationToken) {
        loop {
            let pause = Duration::from_millis(self.random.u64(SHORTEST..LONGEST));
            if stop.run_until_cancelled(sleep(pause)).await.is_none() {
                server.faults().clear();
                return;
            }
            self.one(&server, &house).await;
        }
    }

    async fn one(&mut self, server: &Server, house: &House) {
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
            6 => house.visit(self.random.u64(..500)).await,
            _ => house.stumble(),
        }
    }
}
