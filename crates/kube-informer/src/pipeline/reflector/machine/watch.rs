//! Decisions about watches: their events and their end.

use std::time::Duration;

use tokio::time::Instant;

use super::{
    Action, AfterWait, Decision, MAX_VERSION_AGE, Machine, Phase, WATCH_RESPONSE_TIMEOUT, behind_error,
    status_of,
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
    has_bookmarks: bool,
    timeout: Duration,
}

impl WatchPhase {
    /// Creates the phase of a watch that has sent its initial events.
    pub(super) fn of_stream(requested: Instant, timeout: Duration, now: Instant) -> WatchPhase {
        WatchPhase {
            opened: requested,
            last_event: now,
            has_events: true,
            has_bookmarks: false,
            timeout,
        }
    }
}

impl Machine {
    pub(super) fn watch<O>(&mut self) -> Action<O> {
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

    pub(super) fn watch_opened<O>(&mut self, now: Instant, timeout: Duration) -> Decision<O> {
        self.unserved = None;
        self.backoff.succeeded(now);
        self.read_watch(WatchPhase {
            opened: now,
            last_event: now,
            has_events: false,
            has_bookmarks: false,
            timeout,
        })
    }

    pub(super) fn read_watch<O>(&mut self, watching: WatchPhase) -> Decision<O> {
        let mut deadline = watching.opened + watching.timeout + CLOSE_GRACE;
        if self.watches.has_bookmarks {
            deadline = deadline.min(watching.last_event + BOOKMARK_TIMEOUT);
        }
        self.phase = Phase::Watching(watching);
        Action::Read { deadline }.into()
    }

    /// Applies an event or a bookmark of the watch, unless its version shows that the server went back.
    pub(super) fn watch_event<O>(
        &mut self,
        now: Instant,
        watching: WatchPhase,
        version: ResourceVersion,
        apply: Action<O>,
    ) -> Decision<O> {
        match &self.last {
            // The server lags or was restored. Its most recent version shows which.
            Some(last) if version.is_before(last) => {
                let error = behind_error(last, &version);
                self.mark_last_unusable();
                self.set_relist_cause(RelistCause::Behind);
                self.wait(now, AfterWait::Restart, None).reporting(error)
            }
            _ => {
                self.phase = Phase::Applying { watching, version };
                apply.into()
            }
        }
    }

    pub(super) fn watch_bookmark<O>(
        &mut self,
        now: Instant,
        mut watching: WatchPhase,
        version: ResourceVersion,
    ) -> Decision<O> {
        watching.has_bookmarks = true;
        if self.last.as_ref() == Some(&version) {
            // There is nothing to apply.
            return self.watch_applied(now, watching, version);
        }
        self.watch_event(now, watching, version.clone(), Action::ApplyBookmark(version))
    }

    /// Handles an event that is in the queue. Events that cannot be decoded are requested again, and say
    /// nothing about the health of the watch.
    pub(super) fn watch_applied<O>(
        &mut self,
        now: Instant,
        mut watching: WatchPhase,
        version: ResourceVersion,
    ) -> Decision<O> {
        watching.has_events = true;
        watching.last_event = now;
        self.last = Some(version);
        self.watches.last_version = now;
        self.watches.silent = 0;
        self.watches.fruitless = 0;
        self.watches.has_bookmarks |= watching.has_bookmarks;
        self.read_watch(watching)
    }

    /// Handles a watch that the server closed without an error.
    pub(super) fn watch_closed<O>(&mut self, now: Instant, watching: &WatchPhase) -> Decision<O> {
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
    pub(super) fn watch_stalled<O>(&mut self, now: Instant, watching: &WatchPhase) -> Decision<O> {
        let silence = now.duration_since(watching.last_event);
        if silence < CLOSE_GRACE {
            // The server ignores the requested timeout, and still sends events.
            return self.watch().into();
        }
        let error = Error::new(Problem::StalledWatch(silence));
        self.watches.silent += 1;
        if self.watches.silent > 1 && (self.watches.has_bookmarks || self.is_quiet(now)) {
            // Events are lost on the way, or the server was restored to an older version and has no newer
            // events. A server that sends bookmarks regularly will send one in the next watch.
            self.watches.has_bookmarks = false;
            self.set_relist_cause(RelistCause::Silent);
            return self.wait(now, AfterWait::Restart, None).reporting(error);
        }
        Decision::from(self.watch()).reporting(error)
    }

    /// Handles a failed watch request, or a failed open watch.
    pub(super) fn watch_failed<O>(&mut self, now: Instant, was_open: bool, error: &Error) -> Decision<O> {
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
