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

/// Lists of more objects than this are worked on where they hold up nobody's thread.
const LONG: usize = 2_000;

impl<K: Kind> Controller<K> {
    /// Works until the queue is closed and empty. Errors of index functions go to `report`.
    pub(crate) async fn run(self, report: impl Fn(&Error)) {
        let this = Arc::new(self);
        let mut checks = Checks::new(this.processor.check_period());
        loop {
            tokio::select! {
                biased;
                batch = this.queue.pop() => match batch {
                    Some(batch) => this.work(batch).await.iter().for_each(&report),
                    None => return,
                },
                () = checks.next() => this.processor.resync(Instant::now()),
            }
        }
    }

    async fn work(self: &Arc<Self>, deltas: Vec<Delta<K>>) -> Vec<Error> {
        let is_long = |delta: &Delta<K>| matches!(delta, Delta::Replaced(list) if list.items.len() > LONG);
        if !deltas.iter().any(is_long) {
            return self.handle(deltas);
        }
        let this = Arc::clone(self);
        match tokio::task::spawn_blocking(move || this.handle(deltas)).await {
            Ok(errors) => errors,
            Err(ended) => match ended.try_into_panic() {
                Ok(panic) => std::panic::resume_unwind(panic),
                // The runtime is being shut down, and this task with it.
                Err(_) => std::future::pending().await,
            },
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
            writer.clear_away();
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
