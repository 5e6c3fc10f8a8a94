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

/// Moves deltas from the queue to the store and the processor.
pub(crate) struct Controller<K> {
    pub(crate) writer: Arc<Mutex<Writer<K>>>,
    pub(crate) processor: Arc<Processor<K>>,
    /// Cancelled when the first list is in the store.
    pub(crate) synced: CancellationToken,
    /// Notified of each applied list, if objects are packed.
    pub(crate) packing: Option<Arc<PackingContext<K>>>,
    pub(crate) measures: Arc<Measurements>,
}

/// Changes of more objects at once are applied on a thread for blocking code.
const LONG_LIST: usize = 2_000;
/// Maximum wait for such a thread: stuck handlers may occupy all of them, and must not stop the store
/// (contract 6).
const MAX_THREAD_WAIT: Duration = Duration::from_millis(200);

impl<K: Kind> Controller<K> {
    /// Applies deltas until the queue is closed and empty, and reports errors of index functions.
    pub(crate) async fn run(self, mut deltas: DeltaReceiver<K>, report: impl Fn(&Error)) {
        let this = Arc::new(self);
        let mut checks = ResyncChecks::new(this.processor.check_period());
        loop {
            tokio::select! {
                // The rare branch first, so that a queue that is never empty cannot starve it.
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
        if !deltas.iter().any(|delta| self.takes_long(delta)) {
            return self.handle(deltas);
        }
        let (this, span) = (Arc::clone(self), tracing::Span::current());
        let pending = Arc::new(Mutex::new(Some(deltas)));
        let pending_for_task = Arc::clone(&pending);
        let mut task = tokio::task::spawn_blocking(move || {
            let deltas = pending_for_task.lock().take();
            deltas.map(|deltas| span.in_scope(|| this.handle(deltas)))
        });
        let ended = if let Ok(ended) = timeout(MAX_THREAD_WAIT, &mut task).await {
            ended
        } else {
            let deltas = pending.lock().take();
            if let Some(deltas) = deltas {
                task.abort();
                return self.handle(deltas);
            }
            task.await
        };
        match ended {
            Ok(errors) => errors.unwrap_or_default(),
            Err(ended) => match ended.try_into_panic() {
                Ok(panic) => std::panic::resume_unwind(panic),
                // The runtime is shutting down and drops this task, too.
                Err(_) => std::future::pending().await,
            },
        }
    }

    /// Returns whether a delta replaces or removes many objects.
    fn takes_long(&self, delta: &Delta<K>) -> bool {
        let listed = match delta {
            Delta::Replaced(list) => list.objects.len(),
            Delta::KindRemoved { .. } => 0,
            Delta::Upsert(_) | Delta::Deleted(_) | Delta::Bookmark(..) => return false,
        };
        listed.max(self.writer.lock().len()) > LONG_LIST
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
        // Until every namespace is listed, readers see an empty cache and handlers get no events.
        let is_filled = writer.is_filled();

        // Store first, then notify (contract 4). No handler can join in between (contract 7).
        let notification = self.processor.prepare();
        let errors = writer.publish();
        notification.send(&batch, is_filled);

        if was_filled {
            self.count(&batch.changes);
        } else if is_filled {
            // The first list adds objects without changes.
            self.measures
                .added
                .fetch_add(writer.len() as u64, Ordering::Relaxed);
        }
        let retired = writer.take_retired();
        drop(writer);
        let Batch { changes, listed } = batch;
        // Objects are user code, too.
        drop_logged("objects", (retired, changes));
        let now = Instant::now();
        self.measures.processing.record(now.duration_since(began));
        if listed && is_filled {
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

/// Releases the index functions of the user, which are not needed without a writer.
impl<K> Drop for Controller<K> {
    fn drop(&mut self) {
        let functions = self.writer.lock().close();
        drop_logged("index functions", functions);
    }
}

/// The times of resync checks.
struct ResyncChecks {
    period: Duration,
    /// `None` if there are no resyncs.
    next: Option<Pin<Box<Sleep>>>,
}

impl ResyncChecks {
    fn new(period: Duration) -> ResyncChecks {
        ResyncChecks {
            period,
            next: (!period.is_zero()).then(|| Box::pin(sleep(period))),
        }
    }

    /// Waits until the next check and returns its time.
    ///
    /// Both the period of a handler and this wait start at the last check, so a late check does not make the
    /// next one too early for a handler.
    ///
    /// # Cancel safety
    /// Cancel safe: a dropped wait does not skip a check.
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
