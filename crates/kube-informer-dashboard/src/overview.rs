//! The overview: all informers with their handlers, and all queues.

use std::time::{Duration, SystemTime};

use kube_informer::{InformerState, Registration, status::Status};
use serde_json::{Map, Value, json};

use crate::queue::QueueView;
use crate::state::NamedView;
use crate::view::{millis, tag};

/// The health of an informer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Health {
    /// Not started.
    New,
    /// The first list is in progress.
    Syncing,
    /// Watching.
    Live,
    /// The cache is filled and the next watch is being opened.
    Connecting,
    /// The last error is newer than the last response of the server.
    Broken,
    Stopped,
}

impl Health {
    fn of(status: &Status) -> Health {
        match status.state {
            InformerState::New => return Health::New,
            InformerState::Stopped => return Health::Stopped,
            InformerState::Running => {}
        }
        if status.watched_for.is_some() {
            return Health::Live;
        }
        let usual = |error: &kube_informer::Error| error.is_no_streaming_list() || error.is_expired();
        let failed = status.last_error.as_ref().filter(|error| !usual(error));
        let is_newer = match (status.last_error_ago, status.silent_for) {
            (Some(error), Some(silence)) => error < silence,
            (Some(_), None) => true,
            (None, _) => false,
        };
        match (failed.is_some() && is_newer, status.has_synced) {
            (true, _) => Health::Broken,
            (false, true) => Health::Connecting,
            (false, false) => Health::Syncing,
        }
    }

    fn label(self) -> &'static str {
        match self {
            Health::New => "new",
            Health::Syncing => "syncing",
            Health::Live => "live",
            Health::Connecting => "connecting",
            Health::Broken => "broken",
            Health::Stopped => "stopped",
        }
    }
}

pub(super) fn overview(views: &[NamedView], queues: &[Box<dyn QueueView>]) -> Value {
    json!({
        "time": millis(SystemTime::now()),
        "informers": views.iter().map(informer).collect::<Vec<_>>(),
        "queues": queues.iter().map(|queue| describe(&**queue)).collect::<Vec<_>>(),
    })
}

fn informer(named: &NamedView) -> Value {
    let view = &named.view;
    let status = view.informer().status();
    let resource = &status.resource;
    let error = view
        .error_message(&status)
        .map(|message| json!({ "message": message, "ago": status.last_error_ago.map(seconds) }));
    json!({
        "id": named.id,
        "resource": resource.group_resource(),
        "kind": resource.kind(),
        "apiVersion": resource.api_version(),
        "namespaces": resource.namespaces(),
        "health": Health::of(&status).label(),
        "synced": status.has_synced,
        "syncedAfter": status.synced_after.map(seconds),
        "version": status.version.as_ref().map(ToString::to_string),
        "objects": status.objects,
        "bytes": status.bytes,
        "queued": status.queued,
        "watchedFor": status.watched_for.map(seconds),
        "silentFor": status.silent_for.map(seconds),
        "nextAttempt": status.next_attempt_in.map(seconds),
        "lists": status.lists,
        "streamingLists": status.streaming_lists,
        "watches": status.watches,
        "relists": status.relists.total(),
        "relistCauses": status.relists.by_cause().filter(|(_, count)| *count > 0).collect::<Vec<_>>(),
        "received": status.received_objects,
        "receivedBytes": status.received_bytes,
        "decodeTime": seconds(status.decode_time),
        "added": status.added,
        "updated": status.updated,
        "deleted": status.deleted,
        "errors": status.errors,
        "error": error,
        "checks": status.checks,
        "inconsistencies": status.inconsistencies,
        "whole": view.shows_whole_objects(),
        "secret": view.is_secret(),
        "indexes": view.indexes(),
        "tag": tag(&status),
        "handlers": status.handlers.iter().map(handler).collect::<Vec<_>>(),
    })
}

fn handler(handler: &Registration) -> Value {
    json!({
        "name": handler.name(),
        "synced": handler.has_synced(),
        "backlog": handler.backlog(),
        "delivered": handler.delivered(),
        "timeSpent": seconds(handler.calls().sum),
        "runningFor": handler.running_for().map(seconds),
        "panics": handler.panics(),
    })
}

fn describe(queue: &dyn QueueView) -> Value {
    let stats = queue.stats();
    json!({
        "name": queue.name(),
        "queued": stats.queued,
        "running": stats.running,
        "delayed": stats.delayed,
        "oldest": stats.oldest.map(seconds),
        "nextDue": stats.next_due.map(seconds),
        "adds": stats.adds,
        "retries": stats.retries,
        "done": stats.done,
        "failed": stats.failed,
        "givenUp": stats.given_up,
        "shutDown": stats.is_shut_down,
    })
}

/// Returns the counters that plots show.
pub(super) fn counts(views: &[NamedView], queues: &[Box<dyn QueueView>]) -> Map<String, Value> {
    let mut counts = Map::new();
    for named in views {
        let status = named.view.informer().status();
        let count = json!([status.added, status.updated, status.deleted, status.objects]);
        counts.insert(format!("informer/{}", named.id), count);
    }
    for queue in queues {
        let stats = queue.stats();
        let count = json!([stats.done, stats.failed + stats.given_up, stats.queued]);
        counts.insert(format!("queue/{}", queue.name()), count);
    }
    counts
}

fn seconds(time: Duration) -> f64 {
    // Microseconds are precise enough.
    (time.as_secs_f64() * 1e6).round() / 1e6
}
