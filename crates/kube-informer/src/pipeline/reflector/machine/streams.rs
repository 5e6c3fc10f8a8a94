//! Streaming lists: what follows their end, and what follows a server that cannot do them.

use tokio::time::Instant;

use super::{
    Action, At, Machine, Next, Phase, STREAMING_PAUSE, Streaming, Then, Verdict, Watching, status_of,
};
use crate::error::{Error, Problem, StatusError};
use crate::object::ResourceVersion;
use crate::pipeline::wire::WatchRequest;

impl Machine {
    pub(super) fn stream_failed(&mut self, now: Instant, error: &Error) -> Next {
        let Phase::Streaming(Streaming { newest, .. }) = self.phase else {
            return self.wait(now, Then::Cycle, None, None);
        };
        let status = status_of(error);
        let ahead = status.is_some_and(StatusError::is_too_large_version);
        if (ahead || status.is_some_and(StatusError::is_expired)) && !newest {
            self.last_unusable = true;
            if ahead {
                self.lags();
            }
            return self.fall_back(now, None, status, Machine::stream);
        }
        let throttled = status.is_some_and(StatusError::is_too_many_requests);
        if throttled && newest {
            // While its watch cache lags behind etcd, a server answers every streaming list at the newest version like this.
            // A list from that cache does not wait for etcd.
            let at = if self.last.is_some() { At::Last } else { At::Any };
            return self.wait(now, Then::List(at), None, status);
        }
        // None of these says anything about streams, and a list would fare no better.
        let is_not_found = status.is_some_and(|status| status.code == 404);
        if matches!(error.problem(), Problem::Connect) || is_not_found || throttled {
            return self.wait(now, Then::Cycle, None, status);
        }
        self.broken_streams += 1;
        if refuses_streaming(error) || self.broken_streams > 1 {
            self.no_streaming_before = Some(now + STREAMING_PAUSE);
        }
        if status.is_some_and(|status| status.retry_after.is_some()) {
            let at = self.list_version();
            return self.wait(now, Then::List(at), None, status);
        }
        self.fall_back(now, None, status, Machine::list)
    }

    pub(super) fn stream(&mut self, now: Instant) -> Action {
        let version = self.usable_version();
        let timeout = self.watch_timeout();
        self.phase = Phase::Streaming(Streaming {
            newest: version.is_none(),
            since: now,
            last_event: None,
            timeout,
        });
        Action::Watch(WatchRequest {
            resource_version: version,
            timeout,
            initial_events: true,
        })
    }

    /// The server does streaming lists badly: a list now, and for a while no more streams.
    pub(super) fn no_streaming(&mut self, now: Instant, why: &str) -> Next {
        self.no_streaming_before = Some(now + STREAMING_PAUSE);
        let complaint = Error::new(Problem::NoStreamingList(why.to_owned()));
        self.fall_back(now, Some(complaint), None, Machine::list)
    }

    pub(super) fn streamed(
        &mut self,
        now: Instant,
        version: ResourceVersion,
        contradiction: Option<&ResourceVersion>,
    ) -> Verdict {
        let Phase::Streaming(Streaming {
            newest,
            timeout,
            since,
            ..
        }) = self.phase
        else {
            return Verdict::Skip;
        };
        match self.accept(now, &version, newest, contradiction) {
            Ok(()) => {
                self.broken_streams = 0;
                self.phase = Phase::Watching(Watching {
                    asked: since,
                    opened: Some(since),
                    last_event: now,
                    events: 1,
                    timeout,
                });
                Verdict::Whole(version)
            }
            Err(complaint) => Verdict::Leave(self.fall_back(now, Some(complaint), None, Machine::stream)),
        }
    }
}

/// Whether the server does not know the parameters of a streaming list, as those before Kubernetes 1.32.
pub(super) fn refuses_streaming(error: &Error) -> bool {
    status_of(error).is_some_and(|status| matches!(status.code, 400 | 405 | 406 | 415 | 422 | 501))
}
