//! The status of an informer.

#[cfg(feature = "metrics")]
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::time::Instant;

use super::SharedInformer;
use super::lifecycle::InformerState;
use crate::error::Error;
use crate::handler::Registration;
use crate::measures::RelistCause;
use crate::measures::{Durations, Measurements};
use crate::object::{Kind, ResourceVersion, WatchedResource};
use crate::pipeline::queue::QueueDepth;

/// The status of an informer at one moment, for logs, tests and dashboards.
///
/// The cost of creating it does not depend on the size of the cache.
///
/// ```no_run
/// # fn example(factory: &kube_informer::SharedInformerFactory) {
/// for status in factory.statuses() {
///     println!("{}: {} objects, synced: {}", status.resource, status.objects, status.has_synced);
///     for handler in &status.handlers {
///         println!("  {}: {} events queued", handler.name(), handler.backlog());
///     }
///     if let Some(error) = &status.last_error {
///         println!("  {error:#}");
///     }
/// }
/// # }
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Status {
    /// The kind and the watched namespaces.
    pub resource: WatchedResource,
    /// The state of the informer.
    pub state: InformerState,
    /// Whether a full list is in the cache.
    pub has_synced: bool,
    /// Time from the start until the first full list was in the cache; `None` before.
    pub synced_after: Option<Duration>,
    /// The version of the cache.
    pub version: Option<ResourceVersion>,
    /// Number of objects in the cache.
    pub objects: usize,
    /// Size of the objects, in bytes. For a packed cache, the memory of the packed objects, including deleted ones that
    /// are still referenced. Otherwise an estimate from the size of received objects, which is not the memory that they
    /// take.
    pub bytes: u64,
    /// Number of changes that wait to be applied to the cache.
    pub queued: usize,
    /// Time for which the server has been watched without interruption; `None` if it is not. With several namespaces,
    /// the shortest.
    pub watched_for: Option<Duration>,
    /// Time since the server last reported its version by a list, an event or a bookmark. The cache is at most this
    /// much older than the server. `None` before the first report. With several namespaces, the longest.
    pub silent_for: Option<Duration>,
    /// Time until the next request, if the informer is waiting to send one, for example after a failure.
    pub next_attempt_in: Option<Duration>,
    /// Number of list requests, each page counted.
    pub lists: u64,
    /// Number of streaming list requests.
    pub streaming_lists: u64,
    /// Number of watch requests.
    pub watches: u64,
    /// Number of relists, by cause.
    pub relists: Relists,
    /// Number of objects received in lists and watches.
    pub received_objects: u64,
    /// Size of the received objects, in bytes.
    pub received_bytes: u64,
    /// Number of received objects that were decoded or packed, and transformed. The others were in the cache already.
    pub decoded_objects: u64,
    /// Time spent decoding them.
    pub decode_time: Duration,
    /// Number of objects added to the cache.
    pub added: u64,
    /// Number of updates of objects in the cache.
    pub updated: u64,
    /// Number of objects deleted from the cache.
    pub deleted: u64,
    /// Time to apply a batch of changes to the cache and queue it for the handlers.
    pub processing: Durations,
    /// Number of errors reported to the watch-error handler.
    pub errors: u64,
    /// Number of times the server was at an older version than before.
    pub went_back: u64,
    /// Number of comparisons of the cache with the server.
    pub checks: u64,
    /// Number of checks that could not complete.
    pub unchecked: u64,
    /// Number of checks that found differences.
    pub inconsistencies: u64,
    /// The last error, even if it is resolved.
    pub last_error: Option<Error>,
    /// Time since the last error.
    pub last_error_ago: Option<Duration>,
    /// The handlers and streams.
    pub handlers: Vec<Registration>,
}

/// Number of relists, by cause.
///
/// See [`Status::relists`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Relists {
    /// The server no longer had the version, because the watch was interrupted for too long or the history was
    /// compacted.
    pub expired: u64,
    /// The server was at an older version, because it lagged behind or was restored from a backup.
    pub behind: u64,
    /// A watch failed with an error after which it could not continue, for example invalid data.
    pub failed: u64,
    /// Several watches in a row failed without an event, for example because of a proxy.
    pub fruitless: u64,
    /// The server sent no data for too long, not even a bookmark.
    pub silent: u64,
    /// The kind was not served for a while.
    pub absent: u64,
    /// A consistency check found differences.
    pub inconsistent: u64,
}

impl Relists {
    fn of(measures: &Measurements) -> Relists {
        let of = |cause| measures.relists(cause);
        Relists {
            expired: of(RelistCause::Expired),
            behind: of(RelistCause::Behind),
            failed: of(RelistCause::Failed),
            fruitless: of(RelistCause::Fruitless),
            silent: of(RelistCause::Silent),
            absent: of(RelistCause::Absent),
            inconsistent: of(RelistCause::Inconsistent),
        }
    }

    /// Returns the causes by name, with their counts.
    pub fn by_cause(&self) -> impl Iterator<Item = (&'static str, u64)> {
        [
            ("expired", self.expired),
            ("behind", self.behind),
            ("failed", self.failed),
            ("fruitless", self.fruitless),
            ("silent", self.silent),
            ("absent", self.absent),
            ("inconsistent", self.inconsistent),
        ]
        .into_iter()
    }

    /// Returns the number of all relists.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.by_cause().map(|(_, count)| count).sum()
    }
}

impl<K: Kind> SharedInformer<K> {
    /// Returns a function that returns the status, or `None` after the informer was dropped.
    #[cfg(feature = "metrics")]
    pub(crate) fn weak_status(&self) -> impl Fn() -> Option<Status> + Send + Sync + 'static {
        let shared = Arc::downgrade(&self.shared);
        move || {
            let shared = shared.upgrade()?;
            Some(SharedInformer { shared }.status())
        }
    }

    /// Returns the status of the informer.
    #[must_use]
    pub fn status(&self) -> Status {
        let context = &self.shared.context;
        let measures = &context.measures;
        let count = |count: &AtomicU64| count.load(Ordering::Relaxed);
        let now = Instant::now();
        let snapshot = self.snapshot();
        let state = self.state();
        // A watch that was dropped does not report its end.
        let running = |time: Option<Duration>| time.filter(|_| state == InformerState::Running);
        let started = measures.started.get(&measures.clock);
        let synced = measures.synced.get(&measures.clock);
        let bytes = match context.packing() {
            Some(packing) if packing.bytes() > 0 => packing.bytes() as u64,
            // A custom source may return objects without bytes.
            _ => measures.average_size() * snapshot.len() as u64,
        };
        Status {
            resource: self.resource().clone(),
            state,
            has_synced: self.has_synced(),
            synced_after: started
                .zip(synced)
                .map(|(started, synced)| synced.saturating_duration_since(started)),
            version: snapshot.version().cloned(),
            objects: snapshot.len(),
            bytes,
            queued: self.shared.queue_depth.get().map_or(0, QueueDepth::get),
            watched_for: running(measures.watch_age(now)),
            silent_for: measures.silence(now),
            next_attempt_in: running(measures.next_attempt(now)),
            lists: count(&measures.lists),
            streaming_lists: count(&measures.streaming_lists),
            watches: count(&measures.watches),
            relists: Relists::of(measures),
            received_objects: measures.received.objects(),
            received_bytes: measures.received.bytes(),
            decoded_objects: measures.decoded.objects(),
            decode_time: measures.decode_time(),
            added: count(&measures.added),
            updated: count(&measures.updated),
            deleted: count(&measures.deleted),
            processing: measures.processing.read(),
            errors: count(&measures.errors),
            went_back: count(&measures.went_back),
            checks: count(&measures.checks),
            unchecked: count(&measures.unchecked),
            inconsistencies: count(&measures.inconsistencies),
            last_error: context.last_error_in(&[]),
            last_error_ago: measures.failed.elapsed(&measures.clock, now),
            handlers: self.registrations(),
        }
    }
}
