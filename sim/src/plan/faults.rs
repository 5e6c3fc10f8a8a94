//! Faults of a plan.

use kube_embedded::{Fault, On, Request};

/// A fault, and the requests that it affects.
#[derive(Debug, Clone)]
pub struct FaultPlan {
    pub(super) target: Target,
    pub(super) fault: Fault,
    /// Maximum number of affected requests; none for all.
    pub(super) times: Option<usize>,
    /// Number of requests that are not affected before.
    pub(super) after: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Target {
    Lists,
    LaterPages,
    Watches,
    Streams,
    ListsAndWatches,
    Everything,
}

impl FaultPlan {
    pub(super) fn new(target: Target, fault: Fault, times: Option<usize>) -> FaultPlan {
        FaultPlan {
            target,
            fault,
            times,
            after: 0,
        }
    }

    /// Returns whether objects in responses can be older than before.
    pub(crate) fn is_lagging(&self) -> bool {
        matches!(self.fault, Fault::StaleList(_))
    }

    /// Returns whether watches repeat events.
    pub(crate) fn repeats_events(&self) -> bool {
        matches!(self.fault, Fault::DuplicateEvents)
    }

    /// Returns whether watches omit events.
    pub(crate) fn loses_events(&self) -> bool {
        matches!(self.fault, Fault::LoseEvent(_))
    }

    /// Returns the rule for the server.
    #[must_use]
    pub fn rule(&self, resource: &str) -> (On, Fault) {
        let on = match self.target {
            Target::Lists => On::list(resource),
            Target::LaterPages if self.is_lagging() => On::list(resource),
            Target::LaterPages => On::list(resource).when(|request| request.param("continue").is_some()),
            Target::Watches => On::watch(resource),
            Target::Streams if self.is_lagging() => On::watch(resource),
            Target::Streams => On::streaming_list(resource),
            Target::ListsAndWatches => On::list_or_watch(resource),
            Target::Everything => On::any(),
        };
        let on = if self.is_lagging() {
            // The newest version is read from etcd, which is never stale.
            on.when(|request| !asks_for_newest(request))
        } else {
            on
        };
        let on = on.after(self.after);
        let on = match self.times {
            Some(times) => on.times(times),
            None => on,
        };
        (on, self.fault.clone())
    }
}

fn asks_for_newest(request: &Request) -> bool {
    request.param("resourceVersion").is_none_or(str::is_empty)
}

/// A fault that lasts for a whole run. The cache must follow the server nevertheless.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LastingFault {
    /// Every watch is refused; lists work.
    WatchesFail,
    /// Every watch ends at once; lists work.
    WatchesClose,
    /// Every watch stays silent; lists work.
    WatchesSilent,
    /// No watch gets a response; lists work.
    WatchesUnanswered,
    /// Streaming lists are refused.
    StreamsRefused,
    /// Streaming lists never end.
    StreamsSilent,
    /// Streaming lists get no response.
    StreamsUnanswered,
    /// Streaming lists of the most recent version get 429, as from a server with a stale watch cache.
    StreamsThrottled,
}

impl LastingFault {
    /// All lasting faults.
    pub const ALL: [LastingFault; 8] = [
        LastingFault::WatchesFail,
        LastingFault::WatchesClose,
        LastingFault::WatchesSilent,
        LastingFault::WatchesUnanswered,
        LastingFault::StreamsRefused,
        LastingFault::StreamsSilent,
        LastingFault::StreamsUnanswered,
        LastingFault::StreamsThrottled,
    ];

    /// Returns the rule for the server.
    #[must_use]
    pub fn rule(self, resource: &str) -> (On, Fault) {
        let (watches, streams) = (On::watch(resource), On::streaming_list(resource));
        match self {
            LastingFault::WatchesFail => (watches, Fault::internal_error()),
            LastingFault::WatchesClose => (watches, Fault::CloseAfterEvents(0)),
            LastingFault::WatchesSilent => (watches, Fault::SilenceAfterEvents(0)),
            LastingFault::WatchesUnanswered => (watches, Fault::NoAnswer),
            LastingFault::StreamsRefused => (streams, Fault::NoStreamingList),
            LastingFault::StreamsSilent => (streams, Fault::SilenceAfterEvents(0)),
            LastingFault::StreamsUnanswered => (streams, Fault::NoAnswer),
            LastingFault::StreamsThrottled => {
                let newest = |request: &Request| request.is_streaming_list() && asks_for_newest(request);
                (watches.when(newest), Fault::too_many_requests(1))
            }
        }
    }
}
