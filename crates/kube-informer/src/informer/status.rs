//! How an informer is.

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

/// How an informer is at one moment, for logs, tests and dashboards.
///
/// Nothing of it costs more for a large cache than for a small one.
///
/// ```no_run
/// # fn example(factory: &kube_informer::SharedInformerFactory) {
/// for status in factory.statuses() {
///     println!("{}: {} objects, synced: {}", status.resource, status.objects, status.has_synced);
///     for handler in &status.handlers {
///         println!("  {} has {} to go", handler.name(), handler.backlog());
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
    /// The kind, and the namespaces that are looked at.
    pub resource: WatchedResource,
    /// Where it is in its life.
    pub state: InformerState,
    /// Whether a full list is in the cache.
    pub has_synced: bool,
    /// How long it took from the start until the first full list was in the cache; none before.
    pub synced_after: Option<Duration>,
    /// The version of the cache.
    pub version: Option<ResourceVersion>,
    /// How many objects are in the cache.
    pub objects: usize,
    /// How many bytes the objects of the cache have: packed ones as they are kept, with those that are in the cache no
    /// more and still held by someone; others about as many as they had when they came, which is not what they take
    /// in memory.
    pub bytes: u64,
    /// Changes that wait to get into the cache.
    pub queued: usize,
    /// For how long the server has been watched without a break; none if it is not. Of several namespaces, the least.
    pub watched_for: Option<Duration>,
    /// How long ago the server told of its version by a list, an event or a bookmark: the cache is at most so much older
    /// than the server. None before it did. Of several namespaces, the most.
    pub silent_for: Option<Duration>,
    /// When the server is asked again, if nothing is asked of it before, as after failures.
    pub next_attempt_in: Option<Duration>,
    /// List requests made, each page counted.
    pub lists: u64,
    /// Requests made for the objects as a stream.
    pub streaming_lists: u64,
    /// Watch requests made.
    pub watches: u64,
    /// Lists that took the place of what was in the cache, by their causes.
    pub relists: Relists,
    /// Objects that came in lists and watches.
    pub received_objects: u64,
    /// Their bytes.
    pub received_bytes: u64,
    /// How many of these objects were decoded or packed, and transformed. The others were known.
    pub decoded_objects: u64,
    /// How long that took.
    pub decode_time: Duration,
    /// Objects that came into the cache.
    pub added: u64,
    /// Objects that changed in it.
    pub updated: u64,
    /// Objects that went from it.
    pub deleted: u64,
    /// How long changes took to get into the cache and in line for the handlers, each batch of them.
    pub processing: Durations,
    /// Errors told to the watch-error handler.
    pub errors: u64,
    /// How often the server was found at an older version.
    pub went_back: u64,
    /// How often the cache was compared with the server.
    pub checks: u64,
    /// How often it was to be, and could not.
    pub unchecked: u64,
    /// How often it was not what the server has.
    pub inconsistencies: u64,
    /// The last error, also if it is long over.
    pub last_error: Option<Error>,
    /// How long ago that was.
    pub last_error_ago: Option<Duration>,
    /// The handlers and streams.
    pub handlers: Vec<Registration>,
}

/// How often everything was listed anew, by causes.
///
/// See [`Status::relists`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Relists {
    /// The server had forgotten the version: it was away for long, or compacted.
    pub expired: u64,
    /// The server was at an older version: it lagged, or was restored.
    pub behind: u64,
    /// A watch ended with an error after which it cannot go on, as bytes that are no object.
    pub failed: u64,
    /// Several watches in a row broke and brought nothing: something is between here and the server.
    pub fruitless: u64,
    /// The server had said nothing for long, not even in a bookmark.
    pub silent: u64,
    /// The kind was not served in between.
    pub absent: u64,
    /// A check had found that the cache is not what the server has.
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

    /// All causes by their names, with how often.
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

    /// All of them together.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.by_cause().map(|(_, count)| count).sum()
    }
}

impl<K: Kind> SharedInformer<K> {
    /// How the informer is.
    #[must_use]
    pub fn status(&self) -> Status {
        let context = &self.shared.context;
        let measures = &context.measures;
        let count = |count: &AtomicU64| count.load(Ordering::Relaxed);
        let now = Instant::now();
        let snapshot = self.snapshot();
        let state = self.state();
        // A watch that was dropped says nothing of its end.
        let running = |time: Option<Duration>| time.filter(|_| state == InformerState::Running);
        let started = measures.started.get(&measures.clock);
        let synced = measures.synced.get(&measures.clock);
        let bytes = match context.packing() {
            Some(packing) if packing.bytes() > 0 => packing.bytes() as u64,
            // A source of the user's own may give objects that have no bytes.
            _ => measures.usual_size() * snapshot.len() as u64,
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
            last_error_ago: measures.failed.ago(&measures.clock, now),
            handlers: self.registrations(),
        }
    }
}
