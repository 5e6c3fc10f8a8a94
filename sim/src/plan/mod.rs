//! What is to happen in a run: all of it is drawn from a seed before anything does, so that a run can be repeated, and
//! repeated without some of its steps.

mod draw;
mod words;

use std::time::Duration;

use kube_embedded::{Fault, On};

use crate::truth::Selection;

/// Namespaces that objects are in.
pub(crate) const NAMESPACES: [&str; 3] = ["east", "north", "west"];
/// Names that objects have.
pub(crate) const NAMES: [&str; 4] = ["ash", "birch", "cedar", "elm"];
/// The kind that is written and watched.
pub(crate) const RESOURCE: &str = "configmaps";

/// A run.
#[derive(Debug, Clone)]
pub struct Plan {
    /// What it was drawn from.
    pub seed: u64,
    /// How many changes the server remembers.
    pub history: usize,
    /// How often it sends bookmarks.
    pub bookmarks: Duration,
    /// The informers.
    pub informers: Vec<InformerPlan>,
    /// What happens.
    pub steps: Vec<Step>,
}

/// What an informer takes objects as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// `ConfigMap`, decoded and kept.
    Typed,
    /// `ConfigMap`, kept as bytes.
    Packed,
    /// Only its metadata.
    Metadata,
    /// A `DynamicObject`.
    Dynamic,
}

/// An informer.
#[derive(Debug, Clone)]
pub struct InformerPlan {
    /// What it takes objects as.
    pub kind: Kind,
    /// Which objects.
    pub selection: Selection,
    /// Whether it asks for JSON.
    pub json: bool,
    /// Whether it asks for streaming lists.
    pub streams: bool,
    /// Objects in a page.
    pub page: u32,
    /// Resyncs.
    pub resync: Duration,
    /// Whether a queue with workers is behind it.
    pub works: bool,
}

/// A handler.
#[derive(Debug, Clone)]
pub struct HandlerPlan {
    /// How it is called.
    pub manner: Manner,
    /// Whether it wants every single event.
    pub every: bool,
    /// A resync of its own.
    pub resync: Option<Duration>,
    /// How long it takes for an event.
    pub pace: Pace,
    /// It panics once in so many events.
    pub panics: Option<u32>,
    /// It removes itself after so many events.
    pub leaves_after: Option<u32>,
}

/// How a handler is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Manner {
    /// In its listener's task.
    Inline,
    /// It is a future.
    Async,
    /// It is a stream.
    Stream,
}

/// How long a handler takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pace {
    /// No time.
    Quick,
    /// So long for each event.
    Slow(Duration),
    /// It hangs in its first event until everything else is over.
    Stuck,
}

/// One thing that happens.
#[derive(Debug, Clone)]
pub enum Step {
    /// An object is created or replaced.
    Write {
        /// Which: a number of namespace and name.
        key: usize,
        /// With the label or without.
        is_chosen: bool,
    },
    /// An object is deleted, if it is there.
    Delete {
        /// Which.
        key: usize,
    },
    /// An object is deleted and created anew at once.
    Recreate {
        /// Which.
        key: usize,
    },
    /// Other kinds change.
    Advance(u64),
    /// Time passes.
    Pause(Duration),
    /// Tasks get so many turns, and no time passes.
    Turns(u32),
    /// Requests meet a fault.
    Fault(FaultPlan),
    /// No faults any more.
    Heal,
    /// Connections break.
    Cut,
    /// History is forgotten.
    Compact,
    /// The server goes away.
    Down,
    /// It comes back.
    Up,
    /// This moment is remembered.
    Backup,
    /// The server is restored to the moment that was remembered, with versions that go on as they should.
    Restore,
    /// A handler joins an informer.
    Join {
        /// Which informer.
        informer: usize,
        /// The handler.
        handler: HandlerPlan,
    },
    /// A handler is removed.
    Leave {
        /// Which informer.
        informer: usize,
        /// Which of its handlers.
        handler: usize,
        /// Whether its end is waited for.
        waits: bool,
    },
    /// An informer is stopped, and a new one takes its place.
    Restart {
        /// Which.
        informer: usize,
    },
    /// All faults end, and everything has to come to rest.
    Settle,
}

/// A fault, and the requests that meet it.
#[derive(Debug, Clone)]
pub struct FaultPlan {
    target: Target,
    fault: Fault,
    /// How many requests meet it; none for all.
    times: Option<usize>,
    after: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Target {
    Lists,
    LaterPages,
    Watches,
    Streams,
    Both,
    Everything,
}

impl FaultPlan {
    fn is_stale(&self) -> bool {
        matches!(self.fault, Fault::StaleList(_))
    }

    /// The rule for the server.
    #[must_use]
    pub fn rule(&self) -> (On, Fault) {
        let on = match self.target {
            Target::Lists => On::list(RESOURCE),
            Target::LaterPages if self.is_stale() => On::list(RESOURCE),
            Target::LaterPages => On::list(RESOURCE).when(|request| request.param("continue").is_some()),
            Target::Watches => On::watch(RESOURCE),
            Target::Streams if self.is_stale() => On::watch(RESOURCE),
            Target::Streams => On::streaming_list(RESOURCE),
            Target::Both => On::list_or_watch(RESOURCE),
            Target::Everything => On::any(),
        };
        let on = if self.is_stale() {
            // The newest version comes from etcd, which is never behind itself.
            on.when(|request| {
                request
                    .param("resourceVersion")
                    .is_some_and(|version| !version.is_empty())
            })
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

/// Namespace and name of a number.
pub(crate) fn key_of(number: usize) -> kube_informer::Key {
    let namespace = NAMESPACES[number / NAMES.len() % NAMESPACES.len()];
    kube_informer::Key::namespaced(namespace, NAMES[number % NAMES.len()])
}
