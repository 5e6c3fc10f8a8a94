//! Following a collection: a cursor on its history, turned into a stream of events.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::options::{ListOptions, Moment};
use super::view::View;
use crate::api::{Registry, Resource};
use crate::cluster::Cluster;
use crate::faults::{Ending, Twist};
use crate::request::ObjectPath;
use crate::response::{Body, Chunks, broken_off};
use crate::select::Selection;
use crate::status::{FieldError, Result, Status};
use crate::store::{Change, EventKind, Forgotten, Key, Listed, Listening, Stored};

/// Opens a watch. Errors are those that are answered instead of a stream.
pub(crate) fn watch(
    cluster: &Arc<Cluster>,
    path: &ObjectPath,
    mut options: ListOptions,
    view: View,
    twist: Twist,
) -> Result<Body> {
    if twist.ignore_streaming_list {
        options.send_initial_events = None;
    }
    if twist.no_streaming_list && options.send_initial_events.is_some() {
        let why = "sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled";
        let error = FieldError::forbidden("sendInitialEvents", why);
        return Err(Status::invalid("meta.k8s.io", "ListOptions", "", &[error]));
    }
    let timeout = options
        .timeout_seconds
        .unwrap_or_else(|| 1800 + cluster.random_below(1800));
    let now = Instant::now();
    let requested = path.namespace.as_deref();
    let other = twist.other_namespace(requested);
    let is_list = options.send_initial_events == Some(true);
    let watcher = Watcher {
        changed: cluster.store.subscribe(&path.resource.collection),
        connections: cluster.connections(),
        registry: path.resource.custom().map(|_| cluster.follow_registry()),
        cluster: cluster.clone(),
        namespace: other.or(requested).map(str::to_owned),
        requested_namespace: path.namespace.clone(),
        // A bookmark of another namespace would hide changes of the requested one.
        bookmarks: options.bookmarks && !twist.no_bookmarks && (is_list || other.is_none()),
        selection: options.selection,
        view,
        twist,
        phase: Phase::Open {
            moment: options.moment,
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
    changed: Listening,
    /// Of a custom kind: what is served.
    registry: Option<watch::Receiver<Arc<Registry>>>,
    /// The namespace whose objects are sent: the requested one, or another because of a fault.
    namespace: Option<String>,
    requested_namespace: Option<String>,
    selection: Selection,
    view: View,
    twist: Twist,
    bookmarks: bool,
    phase: Phase,
    /// Everything up to this revision has been sent or passed over.
    cursor: u64,
    deadline: Instant,
    next_bookmark: Instant,
    /// The bookmark shortly before the deadline has been sent.
    last_bookmark_sent: bool,
    /// A bookmark is to be sent as soon as there is nothing else to send.
    bookmark_due: bool,
    /// Events so far, bookmarks included.
    sent: usize,
    /// Events on their way.
    out: Chunks,
}

enum Phase {
    /// Nothing has been looked at yet.
    Open {
        moment: Moment,
        send_initial_events: Option<bool>,
    },
    /// The objects that are there already.
    Initial {
        objects: std::vec::IntoIter<Arc<Stored>>,
        bookmark: bool,
    },
    /// What happens from now on.
    Following,
    /// Open, but silent for ever.
    Silent,
    /// What is in `out` is sent, then the stream ends cleanly.
    Closing,
    /// What is in `out` is sent, then the connection breaks.
    Breaking,
    Ended,
}

/// How long before its end a watch gets a last bookmark.
const LAST_BOOKMARK: Duration = Duration::from_secs(2);
/// How long a watch goes on after its kind is no longer served.
const TAKEN_DOWN: Duration = Duration::from_secs(1);
/// Initial objects made into events at once.
const INITIAL_BATCH: usize = 128;

impl Watcher {
    /// The next bytes of the stream.
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
                    moment,
                    send_initial_events,
                } => self.open(moment, send_initial_events).await,
                Phase::Initial { objects, bookmark } => self.initial(objects, bookmark),
                Phase::Following => self.follow().await,
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

    /// Decides where the watch begins.
    async fn open(&mut self, moment: Moment, send_initial_events: Option<bool>) {
        if self.ends_here() {
            return;
        }
        let wants_initial = match (send_initial_events, moment) {
            (Some(wanted), _) => wanted,
            (None, Moment::Newest | Moment::Any) => true,
            (None, _) => false,
        };
        if !wants_initial {
            self.cursor = match moment {
                Moment::NotOlderThan(revision) | Moment::Exact(revision) => revision,
                Moment::Newest | Moment::Any => self.cluster.store.revision(),
            };
            self.phase = Phase::Following;
            if let Err(Forgotten(oldest)) = self
                .cluster
                .store
                .remembers(&self.view.resource.collection, self.cursor)
            {
                self.fail(&Status::too_old(self.cursor, oldest + 1));
            }
            return;
        }
        if let Moment::NotOlderThan(revision) | Moment::Exact(revision) = moment {
            let patience = self.cluster.settings.too_large_wait;
            if !self.cluster.store.reached(revision, patience).await {
                self.fail(&Status::too_large(revision, self.cluster.store.revision()));
                return;
            }
        }
        let listed = self.initial_objects();
        self.cursor = listed.revision;
        let bookmark = send_initial_events == Some(true) && self.bookmarks;
        self.phase = Phase::Initial {
            objects: listed.objects.into_iter(),
            bookmark,
        };
    }

    /// Lists the objects that the watch begins with.
    fn initial_objects(&mut self) -> Listed {
        let (store, collection) = (&self.cluster.store, &self.view.resource.collection);
        let listed = store.list(collection, Key::range(self.namespace.as_deref()));
        let is_empty = !listed.objects.iter().any(|object| self.selection.matches(object));
        if !is_empty || self.namespace == self.requested_namespace {
            return listed;
        }
        // A client cannot tell an empty list of one namespace from that of another.
        self.namespace.clone_from(&self.requested_namespace);
        store.list(collection, Key::range(self.namespace.as_deref()))
    }

    /// Sends some of the objects that are there already.
    fn initial(&mut self, mut objects: std::vec::IntoIter<Arc<Stored>>, bookmark: bool) {
        for object in objects.by_ref().take(INITIAL_BATCH) {
            if self.selection.matches(&object) && !self.emit(EventKind::Added, &object) {
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

    /// Sends what has changed, or waits for a change, a bookmark or the end.
    async fn follow(&mut self) {
        self.changed.catch_up();
        let following = match self
            .cluster
            .store
            .follow(&self.view.resource.collection, self.cursor)
        {
            Ok(following) => following,
            Err(Forgotten(oldest)) => {
                self.fail(&Status::too_old(self.cursor, oldest + 1));
                return;
            }
        };
        self.phase = Phase::Following;
        if !following.changes.is_empty() {
            for change in &following.changes {
                if !self.pass_on(change) {
                    return;
                }
            }
            self.cursor = following.cursor;
            return;
        }
        self.cursor = following.cursor;
        // A watch from a version that is not there yet stays silent until it is: nothing can be vouched for.
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
                    // The collection itself is gone: the store was put back to a backup.
                    self.phase = Phase::Breaking;
                }
            }
            () = unserved(&mut self.registry, &self.view.resource) => {
                self.registry = None;
                self.deadline = self.deadline.min(Instant::now() + TAKEN_DOWN);
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
                // Only what has been looked at may be vouched for, so there is another look before the bookmark.
                self.bookmark_due = true;
            }
        }
    }

    /// Sends what a change means to this watch. Says whether the watch goes on.
    fn pass_on(&mut self, change: &Change) -> bool {
        if !self.is_in_namespace(&change.object.key) {
            return true;
        }
        let was = change
            .previous
            .as_ref()
            .is_some_and(|p| self.selection.matches(p));
        let is = change.kind != EventKind::Deleted && self.selection.matches(&change.object);
        let is_seen = was || is;
        if is_seen && self.twist.lose.take_if(|after| self.sent >= *after).is_some() {
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
                // The object no longer matches: to this watch it is deleted, in the state it last knew.
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
        if self.twist.duplicate && !self.emit_line(prefix.clone(), line.clone()) {
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

    /// Sends one event, unless a fault ends the watch here. Says whether the watch goes on.
    fn emit_line(&mut self, prefix: Option<Bytes>, line: Bytes) -> bool {
        if let Some((after, ending)) = self.twist.ending
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

    /// Ends the watch if a fault wants that after the events so far. A cut needs another event to be in the middle of.
    fn ends_here(&mut self) -> bool {
        match self.twist.ending {
            Some((after, ending)) if self.sent >= after && ending != Ending::Cut => {
                self.end(ending, &[]);
                true
            }
            _ => false,
        }
    }

    /// Ends the watch as a fault wants it.
    fn end(&mut self, ending: Ending, next: &[u8]) {
        self.phase = match ending {
            Ending::Close => Phase::Closing,
            Ending::Silence => Phase::Silent,
            Ending::Cut => {
                self.out.extend(&next[..next.len() / 2]);
                Phase::Breaking
            }
            Ending::BrokenJson => {
                self.out.extend(b"{\"type\":\"ADDED\",\"object\":{\"kind\":]}\n");
                Phase::Closing
            }
            Ending::Expired => return self.fail(&Status::expired("too old resource version")),
            Ending::Error => return self.fail(&Status::internal("something went wrong on purpose")),
        };
    }

    /// Ends the watch with an ERROR event.
    fn fail(&mut self, status: &Status) {
        // A status can always be encoded. If it could not, the watch would end without it.
        if let Ok(line) = self.view.special_event("ERROR", &status.to_json()) {
            self.out.extend(&line);
        }
        self.phase = Phase::Closing;
    }
}

/// Waits until a custom kind is no longer served in its version.
///
/// Cancel safety: a dropped wait has missed nothing.
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
