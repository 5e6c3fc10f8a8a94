//! Takes deltas from the queue, writes the store, then tells the processor. Nobody else writes the store.

use std::sync::Arc;

use parking_lot::Mutex;
use tokio::time::{Instant, MissedTickBehavior};
use tokio_util::sync::CancellationToken;

use crate::delta_fifo::{Delta, DeltaFifo};
use crate::error::Error;
use crate::kind::Kind;
use crate::processor::{Batch, Processor};
use crate::store::Writer;

/// The running part of the controller.
pub(crate) struct Controller<K> {
    pub(crate) queue: Arc<DeltaFifo<K>>,
    pub(crate) writer: Arc<Mutex<Writer<K>>>,
    pub(crate) processor: Arc<Processor<K>>,
    /// Told once the first list is in the store.
    pub(crate) synced: CancellationToken,
}

impl<K: Kind> Controller<K> {
    /// Works until the queue is closed and empty. Errors of index functions go to `report`.
    pub(crate) async fn run(self, report: impl Fn(&Error)) {
        let mut checks = Checks::new(self.processor.check_period());
        loop {
            tokio::select! {
                biased;
                batch = self.queue.pop() => match batch {
                    Some(batch) => self.handle(batch).iter().for_each(&report),
                    None => return,
                },
                () = checks.next() => self.processor.resync(Instant::now()),
            }
        }
    }

    /// Store first, then notify (contract 4).
    fn handle(&self, deltas: Vec<Delta<K>>) -> Vec<Error> {
        let mut batch = Batch {
            changes: Vec::with_capacity(deltas.len()),
            listed: false,
        };
        let mut errors = Vec::new();
        {
            let mut writer = self.writer.lock();
            for delta in deltas {
                batch.listed |= matches!(delta, Delta::Replaced(_));
                writer.apply(delta, &mut batch.changes);
            }
            self.processor.tell(&batch, || errors = writer.publish());
        }
        if batch.listed {
            self.synced.cancel();
        }
        errors
    }
}

/// The times at which handlers may be due for a resync.
struct Checks(Option<tokio::time::Interval>);

impl Checks {
    fn new(period: std::time::Duration) -> Checks {
        Checks((!period.is_zero()).then(|| {
            let mut interval = tokio::time::interval_at(Instant::now() + period, period);
            interval.set_missed_tick_behavior(MissedTickBehavior::Delay);
            interval
        }))
    }

    async fn next(&mut self) {
        match &mut self.0 {
            Some(interval) => {
                interval.tick().await;
            }
            None => std::future::pending().await,
        }
    }
}
