//! How an informer is.

use std::sync::atomic::{AtomicU64, Ordering};

use super::SharedInformer;
use super::lifecycle::State;
use crate::error::Error;
use crate::kind::{Kind, ResourceName};
use crate::processor::Registration;
use crate::version::Version;

/// How an informer is at one moment, for logs, tests and dashboards.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Status {
    /// The kind, and the namespaces that are looked at.
    pub resource: ResourceName,
    /// Where it is in its life.
    pub state: State,
    /// Whether a full list is in the cache.
    pub has_synced: bool,
    /// The version of the cache.
    pub version: Option<Version>,
    /// How many objects are in the cache.
    pub objects: usize,
    /// Changes that wait to get into the cache.
    pub queued: usize,
    /// List requests made, each page counted.
    pub lists: u64,
    /// Requests made for the objects as a stream.
    pub streaming_lists: u64,
    /// Watch requests made.
    pub watches: u64,
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
    /// The handlers and streams.
    pub handlers: Vec<Registration>,
}

impl<K: Kind> SharedInformer<K> {
    /// How the informer is.
    #[must_use]
    pub fn status(&self) -> Status {
        let intake = &self.shared.intake;
        let count = |count: &AtomicU64| count.load(Ordering::Relaxed);
        let snapshot = self.snapshot();
        Status {
            resource: self.resource().clone(),
            state: self.state(),
            has_synced: self.has_synced(),
            version: snapshot.version().cloned(),
            objects: snapshot.len(),
            queued: self.shared.queue.len(),
            lists: count(&intake.counts.lists),
            streaming_lists: count(&intake.counts.streaming_lists),
            watches: count(&intake.counts.watches),
            errors: count(&intake.counts.errors),
            went_back: count(&intake.counts.went_back),
            checks: count(&intake.counts.checks),
            unchecked: count(&intake.counts.unchecked),
            inconsistencies: count(&intake.counts.inconsistencies),
            last_error: intake.last_error_in(&[]),
            handlers: self.registrations(),
        }
    }
}
