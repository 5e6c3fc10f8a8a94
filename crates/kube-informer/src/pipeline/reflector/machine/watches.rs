//! Watches: what their events mean, and what follows their end.

use std::time::Duration;

use tokio::time::Instant;

use super::{
    Action, FRUITLESS, LONGEST_WATCH, Machine, Next, Phase, QUIET, Seen, Then, Verdict, Watching, behind,
    status_of,
};
use crate::error::{Error, Problem, StatusError};
use crate::pipeline::reflector::cause::Cause;
use crate::pipeline::wire::WatchRequest;

impl Machine {
    pub(super) fn watch_failed(&mut self, now: Instant, error: &Error) -> Next {
        let Phase::Watching(watching) = &self.phase else {
            return self.wait(now, Then::Cycle, None, None);
        };
        let status = status_of(error);
        // The version is still good, so the watch can go on from it: a list would cost the server more.
        let again = match error.problem() {
            Problem::Connect | Problem::Transport(_) => true,
            Problem::Status(status) if status.is_too_large_version() => false,
            Problem::Status(status) => {
                status.is_too_many_requests()
                    || watching.opened.is_none() && (500..600).contains(&status.code)
            }
            _ => false,
        };
        // A server that asks for fewer requests, or cannot be reached, gets no list instead, unless it has throttled watches
        // for so long that the cache may be far behind.
        let throttled = status.is_some_and(StatusError::is_too_many_requests);
        let unreachable = matches!(error.problem(), Problem::Connect);
        let may_list = watching.opened.is_some() || !(throttled || unreachable);
        let too_long = throttled && now.duration_since(self.heard) > QUIET;
        let ahead = status.is_some_and(StatusError::is_too_large_version);
        if ahead {
            self.lags();
        }
        let then = match (again, may_list) {
            _ if too_long => {
                self.list_because(Cause::Silent);
                Then::Cycle
            }
            (true, true) => self.after_fruitless_watch(),
            (true, false) => Then::Watch,
            (false, _) => {
                self.list_because(match status {
                    _ if ahead => Cause::Behind,
                    Some(status) if status.is_expired() => Cause::Expired,
                    _ => Cause::Failed,
                });
                Then::Cycle
            }
        };
        self.wait(now, then, None, status)
    }

    /// After a watch that failed without an event: another one, or a list after several of them.
    pub(super) fn after_fruitless_watch(&mut self) -> Then {
        self.fruitless_watches += 1;
        if self.fruitless_watches < FRUITLESS {
            return Then::Watch;
        }
        self.fruitless_watches = 0;
        self.list_because(Cause::Fruitless);
        Then::Cycle
    }

    pub(super) fn watch(&mut self, now: Instant) -> Action {
        let timeout = self.watch_timeout();
        self.phase = Phase::Watching(Watching {
            asked: now,
            opened: None,
            last_event: now,
            events: 0,
            timeout,
        });
        Action::Watch(WatchRequest {
            resource_version: self.last.as_ref().map(ToString::to_string),
            timeout,
            initial_events: false,
        })
    }

    pub(super) fn watched(&mut self, now: Instant, seen: Seen) -> Verdict {
        let is_bookmark = matches!(seen, Seen::Bookmark { .. });
        let (Seen::Change(version) | Seen::Bookmark { version, .. }) = seen;
        match &self.last {
            Some(last) if version == *last && is_bookmark => Verdict::Skip,
            // A server that lags or was restored. Its newest version tells which.
            Some(last) if version.is_before(last) => {
                let complaint = behind(last, &version);
                self.lags();
                self.list_because(Cause::Behind);
                Verdict::Leave(self.wait(now, Then::Cycle, Some(complaint), None))
            }
            _ => {
                self.last = Some(version);
                Verdict::Apply
            }
        }
    }

    pub(super) fn watch_timeout(&mut self) -> Duration {
        let least = self.settings.watch_timeout.min(LONGEST_WATCH / 2).as_secs();
        Duration::from_secs(self.random.u64(least..=2 * least))
    }
}
