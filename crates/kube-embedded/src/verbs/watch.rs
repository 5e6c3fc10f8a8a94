//! Watches: a cursor on the history of a collection, converted to a stream of events.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::options::{ListOptions, RequestedVersion};
use super::view::View;
use crate::api::{Registry, Resource};
use crate::cluster::Cluster;
use crate::faults::{ResponseFaults, WatchEnd};
use crate::request::ObjectPath;
use crate::response::{Body, Chunks, broken_off};
use crate::select::Selectors;
use crate::status::{FieldError, Result, Status};
use crate::store::{EventKind, HistoryCompacted, HistoryEntry, Key, RevisionReceiver, Snapshot, Stored};

/// Opens a watch. Errors are responses without a stream.
pub(crate) fn watch(
    cluster: &Arc<Cluster>,
    path: &ObjectPath,
    mut options: ListOptions,
    view: View,
    faults: ResponseFaults,
) -> Result<Body> {
    if faults.ignore_streaming_list {
        options.send_initial_events = None;
    }
    if faults.no_streaming_list && options.send_initial_events.is_some() {
        let why = "sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled";
        let error = FieldError::forbidden("sendInitialEvents", why);
        return Err(Status::invalid("meta.k8s.io", "ListOptions", "", &[error]));
    }
    let timeout = options
        .timeout_seconds
        .unwrap_or_else(|| 1800 + cluster.random_below(1800));
    let now = Instant::now();
    let requested = path.namespace.as_deref();
    let other = faults.other_namespace(requested);
    let is_list = options.send_initial_events == Some(true);
    let watcher = Watcher {
        changed: cluster.store.subscribe(&path.resource.collection),
        connections: cluster.connections(),
        registry: path.resource.custom().map(|_| cluster.follow_registry()),
        cluster: cluster.clone(),
        namespace: other.or(requested).map(str::to_owned),
        requested_namespace: path.namespace.clone(),
        // A bookmark of another namespace would hide changes of the requested one.
        bookmarks: options.bookmarks && !faults.no_bookmarks && (is_list || other.is_none()),
        selectors: options.selectors,
        view,
        faults,
        phase: Phase::Open {
            version: options.version,
            send_initial_events: options.send_initial_events,
        },
        cursor: 0,
        deadline: now + Duration::from_secs(timeout),
        next_bookmark: now + cluster.settings.bookmark_interval,
        last_bookmark_sent: false,
        bookmark_due: false,
        sent: 0,
        out: Chunks::default(),
    };
    Ok(Body::stream(futures::stream::unfold(
        watcher,
        |mut watcher| async move {
            let chunk = watcher.next().await?;
            Some((chunk, watcher))
        },
    )))
}

struct Watcher {
    cluster: Arc<Cluster>,
    connections: CancellationToken,
    changed: RevisionReceiver,
    /// The served kinds, for a watch of a custom kind.
    registry: Option<watch::Receiver<Arc<Registry>>>,
    /// The namespace whose objects are sent: the requested one, or another because of a fault.
    namespace: Option<String>,
    requested_namespace: Option<String>,
    selectors: Selectors,
    view: View,
    faults: ResponseFaults,
    bookmarks: bool,
    phase: Phase,
    /// All changes up to this revision have been sent or skipped.
    cursor: u64,
    deadline: Instant,
    next_bookmark: Instant,
    /// The bookmark shortly before the deadline has been sent.
    last_bookmark_sent: bool,
    /// Send a bookmark when there are no more changes.
    bookmark_due: bool,
    /// Number of sent events, including bookmarks.
    sent: usize,
    /// Bytes to send.
    out: Chunks,
}

enum Phase {
    /// The watch has not started.
    Open {
        version: RequestedVersion,
        send_initial_events: Option<bool>,
    },
    /// Sends the existing objects.
    Initial {
        objects: std::vec::IntoIter<Arc<Stored>>,
        bookmark: bool,
    },
    /// Sends changes.
    Following,
    /// Stays open without sending anything.
    Silent,
    /// Ends the stream after sending `out`.
    Closing,
    /// Breaks the connection after sending `out`.
    Breaking,
    Ended,
}

/// How long before its end a watch sends a last bookmark.
const LAST_BOOKMARK: Duration = Duration::from_secs(2);
/// How long a watch continues when its kind is no longer served.
const UNSERVED_GRACE_PERIOD: Duration = Duration::from_secs(1);
/// Number of initial objects that are converted at once.
const INITIAL_BATCH: usize = 128;

impl Watcher {
    /// Returns the next bytes of the stream.
    async fn next(&mut self) -> Option<io::Result<Bytes>> {
        loop {
            if self.connections.is_cancelled() && !matches!(self.phase, Phase::Ended) {
                self.phase = Phase::Ended;
                return Some(Err(io::Error::new(
                    io::ErrorKind::ConnectionReset,
                    "the server cut the connection",
                )));
            }
            if let Some(chunk) = self.out.pop() {
                return Some(Ok(chunk));
            }
            match std::mem::replace(&mut self.phase, Phase::Ended) {
                Phase::Open {
                    version,
                    send_initial_events,
                } => self.open(version, send_initial_events).await,
                Phase::Initial { objects, bookmark } => self.send_initial(objects, bookmark),
                Phase::Following => self.send_changes().await,
                Phase::Silent => {
                    self.phase = Phase::Silent;
                    self.connections.cancelled().await;
                }
                Phase::Breaking => return Some(Err(broken_off("cut off by a fault").await)),
                Phase::Closing | Phase::Ended => return None,
            }
            self.out.flush();
        }
    }

    /// Determines the first revision and phase.
    async fn open(&mut self, version: RequestedVersion, send_initial_events: Option<bool>) {
        if self.ends_here() {
            return;
        }
        let wants_initial = match (send_initial_events, version) {
            (Some(wanted), _) => wanted,
            (None, RequestedVersion::Newest | RequestedVersion::Any) => true,
            (None, _) => false,
        };
        if !wants_initial {
            self.cursor = match version {
                RequestedVersion::NotOlderThan(revision) | RequestedVersion::Exact(revision) => revision,
                RequestedVersion::Newest | RequestedVersion::Any => self.cluster.store.revision(),
            };
            self.phase = Phase::Following;
            if let Err(HistoryCompacted(oldest)) = self
                .cluster
                .store
                .check_history(&self.view.resource.collection, self.cursor)
            {
                self.fail(&Status::too_old(self.cursor, oldest + 1));
            }
            return;
        }
        if let RequestedVersion::NotOlderThan(revision) | RequestedVersion::Exact(revision) = version {
            let patience = self.cluster.settings.too_large_wait;
            if !self.cluster.store.wait_for_revision(revision, patience).await {
                self.fail(&Status::too_large(revision, self.cluster.store.revision()));
                return;
            }
        }
        let snapshot = self.initial_objects();
        self.cursor = snapshot.revision;
        let bookmark = send_initial_events == Some(true) && self.bookmarks;
        self.phase = Phase::Initial {
            objects: snapshot.objects.into_iter(),
            bookmark,
        };
    }

    /// Lists the initial objects.
    fn initial_objects(&mut self) -> Snapshot {
        let (store, collection) = (&self.cluster.store, &self.view.resource.collection);
        let snapshot = store.list(collection, Key::range(self.namespace.as_deref()));
        let is_empty = !snapshot
            .objects
            .iter()
            .any(|object| self.selectors.matches(object));
        if !is_empty || self.namespace == self.requested_namespace {
            return snapshot;
        }
        // Clients cannot distinguish an empty list of the other namespace from one of the requested namespace.
        self.namespace.clone_from(&self.requested_namespace);
        store.list(collection, Key::range(self.namespace.as_deref()))
    }

    /// Sends a batch of the initial objects.
    fn send_initial(&mut self, mut objects: std::vec::IntoIter<Arc<Stored>>, bookmark: bool) {
        for object in objects.by_ref().take(INITIAL_BATCH) {
            if self.selectors.matches(&object) && !self.emit(EventKind::Added, &object) {
                return;
            }
        }
        if objects.len() > 0 {
            self.phase = Phase::Initial { objects, bookmark };
            return;
        }
        self.phase = Phase::Following;
        if bookmark {
            self.emit_bookmark(true);
        }
    }

    /// Sends changes, or waits for a change, a bookmark or the end.
    async fn send_changes(&mut self) {
        self.changed.mark_seen();
        let batch = match self
            .cluster
            .store
            .changes_after(&self.view.resource.collection, self.cursor)
        {
            Ok(batch) => batch,
            Err(HistoryCompacted(oldest)) => {
                self.fail(&Status::too_old(self.cursor, oldest + 1));
                return;
            }
        };
        self.phase = Phase::Following;
        if !batch.changes.is_empty() {
            for change in &batch.changes {
                if !self.send_change(change) {
                    return;
                }
            }
            self.cursor = batch.cursor;
            return;
        }
        self.cursor = batch.cursor;
        // A bookmark before the requested version would be wrong.
        if std::mem::take(&mut self.bookmark_due) && self.cursor <= self.cluster.store.revision() {
            self.emit_bookmark(false);
            return;
        }
        let last_bookmark = self.deadline - LAST_BOOKMARK.min(self.deadline - Instant::now());
        let next_bookmark = match (self.bookmarks, self.last_bookmark_sent) {
            (true, false) => self.next_bookmark.min(last_bookmark),
            (true, true) => self.next_bookmark,
            (false, _) => self.deadline,
        };
        tokio::select! {
            biased;
            () = self.connections.cancelled() => {}
            changed = self.changed.changed() => {
                if changed.is_err() {
                    // The store was restored from a backup.
                    self.phase = Phase::Breaking;
                }
            }
            () = unserved(&mut self.registry, &self.view.resource) => {
                self.registry = None;
                self.deadline = self.deadline.min(Instant::now() + UNSERVED_GRACE_PERIOD);
                self.last_bookmark_sent = true;
            }
            () = tokio::time::sleep_until(self.deadline.min(next_bookmark)) => {
                let now = Instant::now();
                if now >= self.deadline {
                    self.phase = Phase::Closing;
                    return;
                }
                self.last_bookmark_sent |= now >= last_bookmark;
                self.next_bookmark = now + self.cluster.settings.bookmark_interval;
                // Send pending changes first: the bookmark must not skip any.
                self.bookmark_due = true;
            }
        }
    }

    /// Sends a change if it matches. Returns whether the watch continues.
    fn send_change(&mut self, change: &HistoryEntry) -> bool {
        if !self.is_in_namespace(&change.object.key) {
            return true;
        }
        let was = change
            .previous
            .as_ref()
            .is_some_and(|p| self.selectors.matches(p));
        let is = change.kind != EventKind::Deleted && self.selectors.matches(&change.object);
        let is_seen = was || is;
        if is_seen && self.faults.lose.take_if(|after| self.sent >= *after).is_some() {
            return true;
        }
        match (was, is) {
            (false, false) => true,
            (false, true) => self.emit(EventKind::Added, &change.object),
            (true, true) => self.emit(EventKind::Modified, &change.object),
            (true, false) if change.kind == EventKind::Deleted => {
                self.emit(EventKind::Deleted, &change.object)
            }
            (true, false) => match &change.previous {
                // To this watch, an object that no longer matches is deleted. The event contains its last matching
                // state.
                Some(previous) => self.emit(EventKind::Deleted, &previous.at_revision(change.revision())),
                None => true,
            },
        }
    }

    fn is_in_namespace(&self, key: &Key) -> bool {
        self.namespace
            .as_ref()
            .is_none_or(|ns| key.namespace() == Some(ns))
    }

    fn emit(&mut self, kind: EventKind, object: &Stored) -> bool {
        let (prefix, line) = match self.view.event(kind, object, self.sent == 0) {
            Ok(event) => event,
            Err(status) => {
                self.fail(&status);
                return false;
            }
        };
        if self.faults.duplicate && !self.emit_line(prefix.clone(), line.clone()) {
            return false;
        }
        self.emit_line(prefix, line)
    }

    fn emit_bookmark(&mut self, ends_initial_events: bool) {
        let bookmark = self
            .view
            .bookmark(self.cursor, ends_initial_events, self.sent == 0);
        match bookmark {
            Ok(line) => {
                self.emit_line(None, line);
            }
            Err(status) => self.fail(&status),
        }
    }

    /// Sends an event, unless a fault ends the watch. Returns whether the watch continues.
    fn emit_line(&mut self, prefix: Option<Bytes>, line: Bytes) -> bool {
        if let Some((after, ending)) = self.faults.ending
            && self.sent >= after
        {
            let event = [prefix.unwrap_or_default(), line].concat();
            self.end(ending, &event);
            return false;
        }
        self.sent += 1;
        self.out.extend(&prefix.unwrap_or_default());
        self.out.push(line);
        !self.ends_here()
    }

    /// Ends the watch if a fault requires that now. A cut happens within the next event instead.
    fn ends_here(&mut self) -> bool {
        match self.faults.ending {
            Some((after, ending)) if self.sent >= after && ending != WatchEnd::Cut => {
                self.end(ending, &[]);
                true
            }
            _ => false,
        }
    }

    /// Ends the watch as a fault requires.
    fn end(&mut self, ending: WatchEnd, next: &[u8]) {
        self.phase = match ending {
            WatchEnd::Close => Phase::Closing,
            WatchEnd::Silence => Phase::Silent,
            WatchEnd::Cut => {
                self.out.extend(&next[..next.len() / 2]);
                Phase::Breaking
            }
            WatchEnd::BrokenJson => {
                self.out.extend(b"{\"type\":\"ADDED\",\"object\":{\"kind\":]}\n");
                Phase::Closing
            }
            WatchEnd::Expired => return self.fail(&Status::expired("too old resource version")),
            WatchEnd::Error => return self.fail(&Status::internal("something went wrong on purpose")),
        };
    }

    /// Ends the watch with an ERROR event.
    fn fail(&mut self, status: &Status) {
        // Statuses can always be encoded; otherwise the watch ends without the event.
        if let Ok(line) = self.view.special_event("ERROR", &status.to_json()) {
            self.out.extend(&line);
        }
        self.phase = Phase::Closing;
    }
}

/// Waits until a custom kind is no longer served in its version.
///
/// # Cancel safety
/// Cancel safe: nothing is lost if the future is dropped.
async fn unserved(registry: &mut Option<watch::Receiver<Arc<Registry>>>, resource: &Resource) {
    if let Some(registry) = registry {
        let is_gone = |registry: &Arc<Registry>| {
            registry
                .find(&resource.group, &resource.version, &resource.plural)
                .is_none()
        };
        if registry.wait_for(is_gone).await.is_ok() {
            return;
        }
    }
    std::future::pending::<()>().await;
}
