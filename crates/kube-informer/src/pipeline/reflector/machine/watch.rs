//! Decisions about watches: their events and their end.

use std::time::Duration;

use tokio::time::Instant;

use super::{
    Action, AfterWait, Decision, EventKind, MAX_VERSION_AGE, Machine, Phase, WATCH_RESPONSE_TIMEOUT,
    behind_error, status_of,
};
use crate::error::{Error, Problem, StatusError};
use crate::measures::RelistCause;
use crate::object::ResourceVersion;
use crate::pipeline::wire::WatchRequest;

/// A watch that ends sooner is unhealthy and followed by a delay.
const MIN_HEALTHY_WATCH: Duration = Duration::from_secs(1);
/// Tolerance for servers that close a watch later than requested.
const CLOSE_GRACE: Duration = Duration::from_secs(10);
/// Servers send a bookmark about every minute. If this server sends bookmarks, longer silence means a dead
/// connection.
const BOOKMARK_TIMEOUT: Duration = Duration::from_secs(210);
/// Relist after this many consecutive watches that failed without an event, so that a broken watch path
/// cannot hide changes.
const MAX_FRUITLESS_WATCHES: u32 = 5;
/// Maximum timeout of a watch request.
const MAX_TIMEOUT: Duration = Duration::from_secs(24 * 60 * 60);

/// An open watch.
#[derive(Debug)]
pub(super) struct WatchPhase {
    /// When the server responded.
    opened: Instant,
    last_event: Instant,
    has_events: bool,
    timeout: Duration,
}

impl WatchPhase {
    /// Creates the phase of a watch that has sent its initial events.
    pub(super) fn of_stream(requested: Instant, timeout: Duration, now: Instant) -> WatchPhase {
        WatchPhase {
            opened: requested,
            last_event: now,
            has_events: true,
            timeout,
        }
    }
}

impl Machine {
    pub(super) fn watch<E>(&mut self) -> Action<E> {
        let timeout = self.watch_timeout();
        self.phase = Phase::OpeningWatch(timeout);
        Action::Watch {
            request: WatchRequest {
                resource_version: self.last.as_ref().map(ToString::to_string),
                timeout,
                initial_events: false,
            },
            begin: None,
            timeout: WATCH_RESPONSE_TIMEOUT,
        }
    }

    pub(super) fn watch_timeout(&mut self) -> Duration {
        let least = self.settings.watch_timeout.min(MAX_TIMEOUT / 2).as_secs();
        Duration::from_secs(self.random.u64(least..=2 * least))
    }

    pub(super) fn watch_opened<E>(&mut self, now: Instant, timeout: Duration) -> Decision<E> {
        self.unserved = None;
        self.backoff.succeeded(now);
        self.read_watch(WatchPhase {
            opened: now,
            last_event: now,
            has_events: false,
            timeout,
        })
    }

    pub(super) fn read_watch<E>(&mut self, watching: WatchPhase) -> Decision<E> {
        let mut deadline = watching.opened + watching.timeout + CLOSE_GRACE;
        if self.watches.has_bookmarks {
            deadline = deadline.min(watching.last_event + BOOKMARK_TIMEOUT);
        }
        self.phase = Phase::Watching(watching);
        Action::Read { deadline }.into()
    }

    pub(super) fn watch_event<E>(
        &mut self,
        now: Instant,
        watching: WatchPhase,
        kind: EventKind,
        version: ResourceVersion,
        event: E,
    ) -> Decision<E> {
        match &self.last {
            // There is nothing to apply.
            Some(last) if kind != EventKind::Change && version == *last => {
                self.watch_applied(now, watching, kind, version)
            }
            // The server lags or was restored. Its most recent version shows which.
            Some(last) if version.is_before(last) => {
                let error = behind_error(last, &version);
                self.mark_last_unusable();
                self.set_relist_cause(RelistCause::Behind);
                self.wait(now, AfterWait::Restart, None).reporting(error)
            }
            _ => {
                self.phase = Phase::Applying {
                    watching,
                    kind,
                    version,
                };
                Action::Apply(event).into()
            }
        }
    }

    /// Handles an event that is in the queue. Events that cannot be decoded are requested again, and say
    /// nothing about the health of the watch.
    pub(super) fn watch_applied<E>(
        &mut self,
        now: Instant,
        mut watching: WatchPhase,
        kind: EventKind,
        version: ResourceVersion,
    ) -> Decision<E> {
        watching.has_events = true;
        watching.last_event = now;
        self.last = Some(version);
        self.watches.last_version = now;
        self.watches.silent = 0;
        self.watches.fruitless = 0;
        self.watches.has_bookmarks |= kind != EventKind::Change;
        self.read_watch(watching)
    }

    /// Handles a watch that the server closed without an error.
    pub(super) fn watch_closed<E>(&mut self, now: Instant, watching: &WatchPhase) -> Decision<E> {
        if now.duration_since(watching.opened) < MIN_HEALTHY_WATCH {
            let then = self.after_fruitless_watch();
            let next = self.wait(now, then, None);
            return if watching.has_events {
                next
            } else {
                next.reporting(Error::new(Problem::VeryShortWatch))
            };
        }
        if self.is_quiet(now) {
            // Without bookmarks, a quiet server looks like one that was restored to an older version. A list
            // distinguishes the two, and is cheap at this interval.
            self.set_relist_cause(RelistCause::Silent);
            return self.restart(now).into();
        }
        self.watch().into()
    }

    /// Handles a watch that exceeded its maximum silence.
    pub(super) fn watch_stalled<E>(&mut self, now: Instant, watching: &WatchPhase) -> Decision<E> {
        let error = Error::new(Problem::StalledWatch(now.duration_since(watching.last_event)));
        self.watches.silent += 1;
        if self.watches.silent > 1 && (self.watches.has_bookmarks || self.is_quiet(now)) {
            // Events are lost on the way, or the server was restored to an older version and has no newer
            // events.
            self.set_relist_cause(RelistCause::Silent);
            return self.wait(now, AfterWait::Restart, None).reporting(error);
        }
        Decision::from(self.watch()).reporting(error)
    }

    /// Handles a failed watch request, or a failed open watch.
    pub(super) fn watch_failed<E>(&mut self, now: Instant, was_open: bool, error: &Error) -> Decision<E> {
        let status = status_of(error);
        let throttled = status.is_some_and(StatusError::is_too_many_requests);
        let ahead = status.is_some_and(StatusError::is_too_large_version);
        if ahead {
            self.mark_last_unusable();
        }
        if throttled && self.is_quiet(now) {
            // Watches were throttled for so long that the cache may be far behind.
            self.set_relist_cause(RelistCause::Silent);
            return self.wait(now, AfterWait::Restart, status);
        }
        if !is_version_usable_after(error, was_open) {
            self.set_relist_cause(match status {
                _ if ahead => RelistCause::Behind,
                Some(status) if status.is_expired() => RelistCause::Expired,
                _ => RelistCause::Failed,
            });
            return self.wait(now, AfterWait::Restart, status);
        }
        // A list would not help with a server that throttles or is unreachable.
        let unreachable = matches!(error.problem(), Problem::Connect);
        let then = if was_open || !(throttled || unreachable) {
            self.after_fruitless_watch()
        } else {
            AfterWait::Watch
        };
        self.wait(now, then, status)
    }

    /// Returns the next step after a watch that failed without an event: another watch, or a list after
    /// several of them.
    fn after_fruitless_watch(&mut self) -> AfterWait {
        self.watches.fruitless += 1;
        if self.watches.fruitless < MAX_FRUITLESS_WATCHES {
            return AfterWait::Watch;
        }
        self.watches.fruitless = 0;
        self.set_relist_cause(RelistCause::Fruitless);
        AfterWait::Restart
    }

    /// Returns whether the server has not returned a version for a long time.
    fn is_quiet(&self, now: Instant) -> bool {
        now.duration_since(self.watches.last_version) > MAX_VERSION_AGE
    }
}

/// Returns whether a watch can be reopened from the same version after an error; a list would cost the server
/// more.
fn is_version_usable_after(error: &Error, is_open: bool) -> bool {
    match error.problem() {
        Problem::Connect | Problem::Transport(_) => true,
        Problem::Status(status) if status.is_too_large_version() => false,
        Problem::Status(status) => {
            status.is_too_many_requests() || !is_open && (500..600).contains(&status.code)
        }
        _ => false,
    }
}
