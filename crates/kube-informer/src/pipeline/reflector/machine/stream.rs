//! Decisions about streaming lists, and about servers that do not support them well.

use std::time::Duration;

use tokio::time::Instant;

use super::{
    Action, AfterReplace, AfterWait, Contradiction, Decision, ListVersion, Machine, Phase,
    WATCH_RESPONSE_TIMEOUT, WatchPhase, status_of,
};
use crate::error::{Error, Problem, StatusError};
use crate::object::ResourceVersion;
use crate::pipeline::wire::WatchRequest;

/// Maximum silence of a streaming list after the server has responded.
const STREAM_IDLE_TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum duration of a streaming list, for servers that never send the bookmark at its end.
const STREAM_TIMEOUT: Duration = Duration::from_secs(5 * 60);
/// How long plain lists are used for a server that does not support streaming lists well.
const STREAM_RETRY_PAUSE: Duration = Duration::from_secs(10 * 60);

/// A streaming list that was requested.
#[derive(Debug)]
pub(super) struct StreamPhase {
    /// Whether the most recent version was requested, instead of at least the version of the cache.
    most_recent: bool,
    requested: Instant,
    timeout: Duration,
    /// Time of the last event, or of the response. `None` before the response.
    last_event: Option<Instant>,
}

impl StreamPhase {
    /// Returns whether the server has responded.
    pub(super) fn is_open(&self) -> bool {
        self.last_event.is_some()
    }
}

impl Machine {
    pub(super) fn stream<O>(&mut self, now: Instant) -> Action<O> {
        let version = self.last.as_ref().filter(|_| !self.last_unusable);
        let version = version.map(ToString::to_string);
        let timeout = self.watch_timeout();
        self.phase = Phase::Streaming(StreamPhase {
            most_recent: version.is_none(),
            requested: now,
            timeout,
            last_event: None,
        });
        Action::Watch {
            request: WatchRequest {
                resource_version: version,
                timeout,
                initial_events: true,
            },
            begin: Some(self.trust.clone()),
            timeout: WATCH_RESPONSE_TIMEOUT,
        }
    }

    pub(super) fn stream_opened<O>(&mut self, now: Instant, mut streaming: StreamPhase) -> Decision<O> {
        self.unserved = None;
        streaming.last_event = Some(now);
        self.read_stream(streaming)
    }

    pub(super) fn read_stream<O>(&mut self, streaming: StreamPhase) -> Decision<O> {
        let last_event = streaming.last_event.unwrap_or(streaming.requested);
        let deadline = (last_event + STREAM_IDLE_TIMEOUT).min(streaming.requested + STREAM_TIMEOUT);
        self.phase = Phase::Streaming(streaming);
        Action::Read { deadline }.into()
    }

    pub(super) fn stream_event<O>(
        &mut self,
        now: Instant,
        mut streaming: StreamPhase,
        object: O,
        is_deleted: bool,
    ) -> Decision<O> {
        streaming.last_event = Some(now);
        self.phase = Phase::Streaming(streaming);
        Action::Collect { object, is_deleted }.into()
    }

    pub(super) fn stream_bookmark<O>(
        &mut self,
        now: Instant,
        mut streaming: StreamPhase,
        version: ResourceVersion,
        ends_initial_events: bool,
        contradiction: Contradiction,
    ) -> Decision<O> {
        if ends_initial_events {
            return self.stream_complete(now, &streaming, version, contradiction);
        }
        streaming.last_event = Some(now);
        self.read_stream(streaming)
    }

    fn stream_complete<O>(
        &mut self,
        now: Instant,
        streaming: &StreamPhase,
        version: ResourceVersion,
        contradiction: Contradiction,
    ) -> Decision<O> {
        let StreamPhase {
            most_recent,
            requested,
            timeout,
            ..
        } = *streaming;
        match self.accept(now, &version, most_recent, contradiction) {
            Ok(()) => {
                self.failed_streams = 0;
                self.replace(
                    version,
                    AfterReplace::Read(WatchPhase::of_stream(requested, timeout, now)),
                )
            }
            Err(error) => self.fall_back(now, None, Machine::stream).reporting(error),
        }
    }

    /// Disables streaming lists for a while, because the server does not support them well.
    pub(super) fn disable_streaming<O>(&mut self, now: Instant, why: &str) -> Decision<O> {
        self.streaming_disabled_until = Some(now + STREAM_RETRY_PAUSE);
        let error = Error::new(Problem::NoStreamingList(why.to_owned()));
        self.fall_back(now, None, Machine::list).reporting(error)
    }

    pub(super) fn stream_failed<O>(
        &mut self,
        now: Instant,
        streaming: &StreamPhase,
        error: &Error,
    ) -> Decision<O> {
        let status = status_of(error);
        let ahead = status.is_some_and(StatusError::is_too_large_version);
        if (ahead || status.is_some_and(StatusError::is_expired)) && !streaming.most_recent {
            self.last_unusable = true;
            if ahead {
                self.mark_last_unusable();
            }
            return self.fall_back(now, status, Machine::stream);
        }
        let throttled = status.is_some_and(StatusError::is_too_many_requests);
        if throttled && streaming.most_recent {
            // While its watch cache lags behind etcd, a server rejects every streaming list at the most
            // recent version like this. A list from that cache does not wait for etcd.
            let version = if self.last.is_some() {
                ListVersion::Last
            } else {
                ListVersion::Any
            };
            return self.wait(now, AfterWait::List(version), status);
        }
        // These failures are not about streaming, and a plain list would fail, too.
        let is_not_found = status.is_some_and(|status| status.code == 404);
        if matches!(error.problem(), Problem::Connect) || is_not_found || throttled {
            return self.wait(now, AfterWait::Restart, status);
        }
        self.failed_streams += 1;
        if is_unsupported(error) || self.failed_streams > 1 {
            self.streaming_disabled_until = Some(now + STREAM_RETRY_PAUSE);
        }
        if status.is_some_and(|status| status.retry_after.is_some()) {
            let version = self.list_version();
            return self.wait(now, AfterWait::List(version), status);
        }
        self.fall_back(now, status, Machine::list)
    }
}

/// Replaces the error of a server that is too old for streaming lists by a specific one.
pub(super) fn as_reported(failure: Error) -> Error {
    if is_unsupported(&failure) {
        Error::streaming_refused(&failure)
    } else {
        failure
    }
}

/// Returns whether the server does not know the parameters of a streaming list, as before Kubernetes 1.32.
fn is_unsupported(error: &Error) -> bool {
    status_of(error).is_some_and(|status| matches!(status.code, 400 | 405 | 406 | 415 | 422 | 501))
}
