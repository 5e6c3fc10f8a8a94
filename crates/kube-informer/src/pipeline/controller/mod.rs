//! Applies deltas to the store, then notifies the processor. The only writer of the store.

#[cfg(test)]
mod tests;

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::{Instant, Sleep, sleep, timeout};
use tokio_util::sync::CancellationToken;

use crate::error::Error;
use crate::measures::Measurements;
use crate::object::Kind;
use crate::object::format::PackingContext;
use crate::pipeline::processor::{Batch, Processor};
use crate::pipeline::queue::DeltaReceiver;
use crate::pipeline::reflector::Delta;
use crate::pipeline::store::{Change, Writer};
use crate::util::panics::drop_logged;

/// The running part of the controller.
pub(crate) struct Controller<K> {
    pub(crate) writer: Arc<Mutex<Writer<K>>>,
    pub(crate) processor: Arc<Processor<K>>,
    /// Told once the first list is in the store.
    pub(crate) synced: CancellationToken,
    /// Told of every list, if objects are packed.
    pub(crate) packing: Option<Arc<PackingContext<K>>>,
    pub(crate) measures: Arc<Measurements>,
}

/// Lists of more objects than this are worked on where they hold up nobody's thread.
const LONG_LIST: usize = 2_000;
/// How long such a list waits for a thread. Stuck handlers may have them all, and the store waits for nobody (contract 6).
const MAX_THREAD_WAIT: Duration = Duration::from_millis(200);

impl<K: Kind> Controller<K> {
    /// Applies deltas until the queue is closed and empty. Reports errors of index functions.
    pub(crate) async fn run(self, mut deltas: DeltaReceiver<K>, report: impl Fn(&Error)) {
        let this = Arc::new(self);
        let mut checks = ResyncChecks::new(this.processor.check_period());
        loop {
            tokio::select! {
                // The rare one first, so that a queue that is never empty does not keep it waiting.
                biased;
                now = checks.next() => this.processor.resync(now),
                batch = deltas.pop() => match batch {
                    Some(batch) => this.work(batch).await.iter().for_each(&report),
                    None => return,
                },
            }
        }
    }

    async fn work(self: &Arc<Self>, deltas: Vec<Delta<K>>) -> Vec<Error> {
        let is_long =
            |delta: &Delta<K>| matches!(delta, Delta::Replaced(list) if list.objects.len() > LONG_LIST);
        if !deltas.iter().any(is_long) {
            return self.handle(deltas);
        }
        let (this, span) = (Arc::clone(self), tracing::Span::current());
        let waiting = Arc::new(Mutex::new(Some(deltas)));
        let taken = Arc::clone(&waiting);
        let mut elsewhere = tokio::task::spawn_blocking(move || {
            let deltas = taken.lock().take();
            deltas.map(|deltas| span.in_scope(|| this.handle(deltas)))
        });
        let ended = if let Ok(ended) = timeout(MAX_THREAD_WAIT, &mut elsewhere).await {
            ended
        } else {
            let deltas = waiting.lock().take();
            if let Some(deltas) = deltas {
                elsewhere.abort();
                return self.handle(deltas);
            }
            elsewhere.await
        };
        match ended {
            Ok(errors) => errors.unwrap_or_default(),
            Err(ended) => match ended.try_into_panic() {
                Ok(panic) => std::panic::resume_unwind(panic),
                // The runtime is being shut down, and this task with it.
                Err(_) => std::future::pending().await,
            },
        }
    }

    fn handle(&self, deltas: Vec<Delta<K>>) -> Vec<Error> {
        let _span = tracing::debug_span!("store", deltas = deltas.len()).entered();
        let began = Instant::now();
        let mut batch = Batch {
            changes: Vec::with_capacity(deltas.len()),
            listed: false,
        };
        let mut writer = self.writer.lock();
        let was_filled = writer.is_filled();
        for delta in deltas {
            batch.listed |= matches!(delta, Delta::Replaced(_) | Delta::KindRemoved { .. });
            writer.apply(delta, &mut batch.changes);
        }
        // Until every namespace is listed, readers see nothing and handlers get nothing.
        let is_filled = writer.is_filled();

        // Store first, then notify (contract 4). No handler joins between the two (contract 7).
        let notification = self.processor.prepare();
        let errors = writer.publish();
        notification.send(&batch, is_filled);

        if was_filled {
            self.count(&batch.changes);
        } else if is_filled {
            // The first list has objects but no changes.
            self.measures
                .added
                .fetch_add(writer.len() as u64, Ordering::Relaxed);
        }
        writer.free_retired();
        drop(writer);
        let now = Instant::now();
        self.measures.processing.note(now.duration_since(began));
        if batch.listed && is_filled {
            self.measures.synced.set_once(&self.measures.clock, now);
            self.synced.cancel();
            if let Some(packing) = &self.packing {
                packing.on_list_applied();
            }
        }
        errors
    }

    fn count(&self, changes: &[Change<K>]) {
        let [mut added, mut updated, mut deleted] = [0; 3];
        for change in changes {
            match change {
                Change::Added { .. } => added += 1,
                Change::Updated { .. } => updated += 1,
                Change::Deleted { .. } => deleted += 1,
            }
        }
        self.measures.added.fetch_add(added, Ordering::Relaxed);
        self.measures.updated.fetch_add(updated, Ordering::Relaxed);
        self.measures.deleted.fetch_add(deleted, Ordering::Relaxed);
    }
}

/// Without the controller nothing is written, so the user's index functions are not needed any more.
impl<K> Drop for Controller<K> {
    fn drop(&mut self) {
        let functions = self.writer.lock().close();
        drop_logged("index functions", functions);
    }
}

/// The times at which handlers may be due for a resync.
struct ResyncChecks {
    period: Duration,
    /// None if there are no resyncs.
    next: Option<Pin<Box<Sleep>>>,
}

impl ResyncChecks {
    fn new(period: Duration) -> ResyncChecks {
        ResyncChecks {
            period,
            next: (!period.is_zero()).then(|| Box::pin(sleep(period))),
        }
    }

    /// Waits for the next check and says when it is.
    ///
    /// A handler's period begins with its last check, and so does the wait for the next one: then a check that comes a
    /// little late does not make the next one come too early for anybody.
    ///
    /// Cancel safety: a dropped wait has missed nothing.
    async fn next(&mut self) -> Instant {
        let Some(next) = &mut self.next else {
            return std::future::pending().await;
        };
        next.as_mut().await;
        let now = Instant::now();
        next.as_mut().reset(now + self.period);
        now
    }
}
