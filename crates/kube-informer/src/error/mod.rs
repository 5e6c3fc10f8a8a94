//! The error of this crate.

mod discovery;
mod words;

use std::error::Error as StdError;
use std::sync::Arc;
use std::time::Duration;

use crate::types::{ConsistencyReport, Key, ResourceVersion, WatchedResource};
use crate::util::truncate;

pub(crate) use self::discovery::DiscoveryProblem;
pub(crate) use self::words::ErrorChain;
pub use crate::types::ParseKeyError;
pub use kube_wire::ParsePathError;
pub use kube_wire::selector::ParseSelectorError;

/// What went wrong: while listing or watching, or in a call to this library.
///
/// The text says what happened, to which kind and namespace, and where it helps, what to do. `{error}` prints this error alone
/// and leaves its causes to [`source`](StdError::source); `{error:#}` prints it with all causes. Ask the `is_…` questions
/// instead of matching text. Errors are cheap to clone, because one error may be told to several listeners.
///
/// ```no_run
/// # async fn example(factory: kube_informer::SharedInformerFactory) {
/// # use std::time::Duration;
/// if let Err(error) = factory.wait_for_sync(Duration::from_secs(30)).await {
///     for error in error.errors() {
///         match error.resource() {
///             Some(resource) if error.is_not_served() => eprintln!("{resource} is not installed here"),
///             _ => eprintln!("{error:#}"),
///         }
///     }
/// }
/// # }
/// ```
#[derive(Clone)]
pub struct Error {
    inner: Arc<Inner>,
}

struct Inner {
    problem: Problem,
    place: Option<(Operation, WatchedResource)>,
    source: Option<Arc<dyn StdError + Send + Sync>>,
}

/// What an informer was doing when an error came up.
///
/// See [`Error::operation`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Operation {
    /// A list request, or one page of it.
    List,
    /// A watch that also sends the initial objects.
    StreamingList,
    /// A watch.
    Watch,
    /// Work on the cache: transforms and indexes.
    Cache,
    /// A check of the cache against the server.
    ConsistencyCheck,
}

/// The finite set of things that go wrong.
#[derive(Debug, Clone)]
pub(crate) enum Problem {
    /// The server answered a failure, or sent one in the stream.
    Status(StatusError),
    /// No connection could be made.
    Connect,
    /// A connection was there and broke, or never answered.
    Transport(String),
    /// What came cannot be used.
    BadData(String),
    /// A watch ended at once and without an event.
    VeryShortWatch,
    /// A watch was silent for longer than it may be.
    StalledWatch(Duration),
    /// The streaming list cannot be had; the reason.
    NoStreamingList(String),
    /// The server is at an older version than the informer.
    WentBack {
        from: ResourceVersion,
        to: ResourceVersion,
    },
    /// What came is older than what was seen before, and may be a replica's that lags.
    Behind {
        seen: ResourceVersion,
        at: ResourceVersion,
    },
    /// The server does not serve the kind, and says so in discovery, too.
    NotServed {
        stage: UnservedStage,
        status: StatusError,
    },
    /// A user's function failed or panicked.
    UserCode(String),
    /// A bug in this crate.
    Internal(String),
    InvalidKey(ParseKeyError),
    /// A configuration of which no client can be made.
    NoClient(String),
    AlreadyStarted,
    Stopped,
    IndexConflict(String),
    /// A factory has an informer of the kind already.
    InformerConflict,
    /// An index was to be added by an index function.
    IndexInIndex(String),
    UnknownIndex(String),
    NotFound(Key),
    /// A parameter of requests that informers set themselves, and the builder's method that changes it.
    ReservedParameter {
        name: String,
        setting: Option<&'static str>,
    },
    NotSynced {
        why: NotSynced,
        last: Option<Error>,
    },
    /// Several informers were waited for.
    NotAllSynced {
        errors: Vec<Error>,
        of: usize,
    },
    NothingStarted,
    HandlerNotSynced {
        handler: String,
        backlog: usize,
        why: NotSynced,
    },
    /// Of discovery, and of names that are looked for in it.
    Discovery(DiscoveryProblem),
    NotReached {
        version: ResourceVersion,
        at: Option<ResourceVersion>,
        why: VersionNotReached,
    },
    /// The cache is not what the server has.
    Inconsistent {
        found: Arc<ConsistencyReport>,
        relist: bool,
    },
    /// The cache could not be compared with the server.
    NotChecked(CheckFailure),
}

/// How far it is known that a kind is not served.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum UnservedStage {
    /// It was just found.
    Found,
    /// It is not served for long enough to be gone, and so are its objects.
    Gone,
    /// Nothing has changed since the last time.
    Still,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NotSynced {
    TimedOut(Duration),
    Stopped,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum VersionNotReached {
    TimedOut(Duration),
    Stopped,
    NotComparable,
}

/// Why a cache was not compared with the server.
#[derive(Debug, Clone)]
pub(crate) enum CheckFailure {
    /// There is nothing in it yet.
    NotListed,
    /// The kind is not served any more, and the version at which its objects were removed is unknown.
    KindRemoved,
    /// The source has no lists at an exact version.
    NoExactLists,
    /// The server listed another version than it was asked for.
    OtherVersion {
        asked: ResourceVersion,
        listed: ResourceVersion,
    },
    /// It took longer than a version is remembered.
    TooLong(Duration),
    Failed(Error),
}

/// A failure as the server tells it: Kubernetes' `Status`, or as much of it as came.
///
/// See [`Error::server_status`]; a [`ListWatch`](crate::source::ListWatch) of one's own makes one with [`Error::status`].
#[doc(alias("metav1.Status", "StatusReason"))]
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StatusError {
    /// The HTTP code; 0 if none was told.
    pub code: u16,
    /// The machine-readable reason, as in `Expired`.
    pub reason: String,
    /// The text for people.
    pub message: String,
    /// The reasons of the causes in the details, as in `ResourceVersionTooLarge`.
    pub causes: Vec<String>,
    /// How long the server wants to be left alone.
    pub retry_after: Option<Duration>,
}

/// Maximum length of a server's text in an error: a hostile server could send any amount.
const MAX_TEXT: usize = 4_096;

/// Truncates long text for error messages.
pub(crate) fn shortened(mut text: String) -> String {
    if text.len() > MAX_TEXT {
        truncate(&mut text, MAX_TEXT);
        text.push('…');
    }
    text
}

impl From<ParseKeyError> for Error {
    fn from(error: ParseKeyError) -> Error {
        Error::new(Problem::InvalidKey(error))
    }
}

impl StatusError {
    pub(crate) fn is_expired(&self) -> bool {
        self.code == 410 || self.reason == "Expired" || self.reason == "Gone"
    }

    /// The version asked for is newer than what the server has. Servers have said so in three ways.
    pub(crate) fn is_too_large_version(&self) -> bool {
        self.causes.iter().any(|cause| cause == "ResourceVersionTooLarge")
            || (self.reason == "Timeout" || self.code == 504)
                && self.message.contains("Too large resource version")
            || self.code == 500 && self.message.contains("Too large resource version")
    }

    pub(crate) fn is_too_many_requests(&self) -> bool {
        self.code == 429 || self.reason == "TooManyRequests"
    }
}

impl Error {
    pub(crate) fn new(problem: Problem) -> Error {
        Error::whole(problem, None, None)
    }

    fn whole(
        problem: Problem,
        place: Option<(Operation, WatchedResource)>,
        source: Option<Arc<dyn StdError + Send + Sync>>,
    ) -> Error {
        Error {
            inner: Arc::new(Inner {
                problem,
                place,
                source,
            }),
        }
    }

    /// The server answered a failure, or sent one in a watch.
    #[must_use]
    pub fn status(status: StatusError) -> Error {
        Error::new(Problem::Status(status))
    }

    /// The server cannot be reached.
    pub fn connect(source: impl Into<Box<dyn StdError + Send + Sync>>) -> Error {
        Error::whole(Problem::Connect, None, Some(source.into().into()))
    }

    /// The connection broke; `what` says at what point.
    pub fn transport(what: impl Into<String>, source: impl Into<Box<dyn StdError + Send + Sync>>) -> Error {
        Error::whole(Problem::Transport(what.into()), None, Some(source.into().into()))
    }

    /// The server has no streaming lists; it said so in its own words.
    pub(crate) fn streaming_refused(refusal: &Error) -> Error {
        Error::new(Problem::NoStreamingList(refusal.to_string()))
    }

    /// What the server sent cannot be used; `what` says why.
    pub fn bad_data(what: impl Into<String>) -> Error {
        Error::new(Problem::BadData(shortened(what.into())))
    }

    pub(crate) fn bad_data_from(
        what: impl Into<String>,
        source: impl Into<Box<dyn StdError + Send + Sync>>,
    ) -> Error {
        Error::whole(
            Problem::BadData(shortened(what.into())),
            None,
            Some(source.into().into()),
        )
    }

    pub(crate) fn no_client(what: impl Into<String>) -> Error {
        Error::new(Problem::NoClient(what.into()))
    }

    pub(crate) fn no_client_because(
        what: impl Into<String>,
        source: impl Into<Box<dyn StdError + Send + Sync>>,
    ) -> Error {
        Error::whole(Problem::NoClient(what.into()), None, Some(source.into().into()))
    }

    pub(crate) fn user_code(what: impl Into<String>) -> Error {
        Error::new(Problem::UserCode(what.into()))
    }

    pub(crate) fn internal(what: impl Into<String>) -> Error {
        Error::new(Problem::Internal(format!(
            "internal error, please report it: {}",
            what.into()
        )))
    }

    /// The same error, said of a place. The first place that is told stays.
    pub(crate) fn with_context(self, doing: Operation, resource: &WatchedResource) -> Error {
        if self.inner.place.is_some() {
            return self;
        }
        let place = Some((doing, resource.clone()));
        match Arc::try_unwrap(self.inner) {
            Ok(inner) => Error::whole(inner.problem, place, inner.source),
            Err(shared) => Error::whole(shared.problem.clone(), place, shared.source.clone()),
        }
    }

    pub(crate) fn problem(&self) -> &Problem {
        &self.inner.problem
    }

    /// What was being done, if the error came up in the informer's own work.
    #[must_use]
    pub fn operation(&self) -> Option<Operation> {
        self.inner.place.as_ref().map(|(doing, _)| *doing)
    }

    /// The kind and namespace in question, if there is one.
    #[must_use]
    pub fn resource(&self) -> Option<&WatchedResource> {
        self.inner.place.as_ref().map(|(_, resource)| resource)
    }

    /// The server's own words, if it answered.
    #[must_use]
    pub fn server_status(&self) -> Option<&StatusError> {
        match self.problem() {
            Problem::Status(status) | Problem::NotServed { status, .. } => Some(status),
            _ => self.cause().and_then(Error::server_status),
        }
    }

    /// The errors that this one is made of: one for each kind that has not synced, if several were waited for.
    #[must_use]
    pub fn errors(&self) -> &[Error] {
        match self.problem() {
            Problem::NotAllSynced { errors, .. } => errors,
            _ => &[],
        }
    }

    /// The error behind this one, if there is just one.
    fn cause(&self) -> Option<&Error> {
        match self.problem() {
            Problem::NotSynced { last, .. } => last.as_ref(),
            Problem::NotAllSynced { errors, .. } => match &errors[..] {
                [only] => Some(only),
                _ => None,
            },
            Problem::Discovery(problem) => problem.cause(),
            Problem::NotChecked(CheckFailure::Failed(error)) => Some(error),
            _ => None,
        }
    }

    /// The version asked for has left the server's history (410); the informer lists again.
    pub fn is_expired(&self) -> bool {
        self.server_status().is_some_and(StatusError::is_expired)
    }

    /// The server asks for fewer requests (429).
    pub fn is_too_many_requests(&self) -> bool {
        self.server_status()
            .is_some_and(StatusError::is_too_many_requests)
    }

    /// The account may not do this (403).
    #[must_use]
    pub fn is_forbidden(&self) -> bool {
        self.server_status().is_some_and(|status| status.code == 403)
    }

    /// The server does not accept the credentials (401).
    #[must_use]
    pub fn is_unauthorized(&self) -> bool {
        self.server_status().is_some_and(|status| status.code == 401)
    }

    /// An object, or the whole kind, does not exist.
    #[doc(alias = "IsNotFound")]
    #[must_use]
    pub fn is_not_found(&self) -> bool {
        matches!(self.problem(), Problem::NotFound(_))
            || self.is_unknown_resource()
            || self.server_status().is_some_and(|status| status.code == 404)
    }

    /// The server does not serve this version of the kind, and its discovery says so, too: the definition of a custom
    /// kind is not there yet, or not any more. The informer waits for it.
    #[must_use]
    pub fn is_not_served(&self) -> bool {
        match self.problem() {
            Problem::NotServed { .. } | Problem::NotChecked(CheckFailure::KindRemoved) => true,
            _ => self.cause().is_some_and(Error::is_not_served),
        }
    }

    /// It was told before, and nothing has changed since.
    pub(crate) fn is_old_news(&self) -> bool {
        matches!(
            self.problem(),
            Problem::NotServed {
                stage: UnservedStage::Still,
                ..
            }
        )
    }

    /// The server could not be reached, or the connection broke.
    #[must_use]
    pub fn is_connection(&self) -> bool {
        match self.problem() {
            Problem::Connect | Problem::Transport(_) | Problem::StalledWatch(_) => true,
            _ => self.cause().is_some_and(Error::is_connection),
        }
    }

    /// The server sent something that cannot be used.
    #[must_use]
    pub fn is_bad_data(&self) -> bool {
        match self.problem() {
            Problem::BadData(_) => true,
            _ => self.cause().is_some_and(Error::is_bad_data),
        }
    }

    /// The server does not do streaming lists, or not well; the informer lists instead.
    #[must_use]
    pub fn is_no_streaming_list(&self) -> bool {
        matches!(self.problem(), Problem::NoStreamingList(_))
    }

    /// What the server sent is older than what the informer has seen, as from a replica that lags. It was not used.
    pub fn is_behind(&self) -> bool {
        matches!(self.problem(), Problem::Behind { .. })
    }

    /// The server itself is at an older version than the informer has seen, as after a restored backup. The cache was
    /// rebuilt.
    #[must_use]
    pub fn is_going_back(&self) -> bool {
        matches!(self.problem(), Problem::WentBack { .. })
    }

    /// The cache is not what the server has, as a check has found. [`Error::consistency`] says how they differ.
    #[must_use]
    pub fn is_inconsistent(&self) -> bool {
        self.consistency().is_some()
    }

    /// How the cache differs from what the server has, if that is what is wrong.
    #[must_use]
    pub fn consistency(&self) -> Option<&ConsistencyReport> {
        match self.problem() {
            Problem::Inconsistent { found, .. } => Some(found),
            _ => None,
        }
    }

    /// The cache could not be compared with the server. That says nothing about the cache.
    #[must_use]
    pub fn is_not_checked(&self) -> bool {
        matches!(self.problem(), Problem::NotChecked(_))
    }

    /// No client can be made of a configuration.
    #[must_use]
    pub fn is_no_client(&self) -> bool {
        matches!(self.problem(), Problem::NoClient(_))
    }

    /// A transform, index function or handler of the user failed.
    #[must_use]
    pub fn is_user_code(&self) -> bool {
        matches!(self.problem(), Problem::UserCode(_))
    }

    /// The parameter of requests is one that informers set themselves.
    #[must_use]
    pub fn is_reserved_parameter(&self) -> bool {
        matches!(self.problem(), Problem::ReservedParameter { .. })
    }

    /// The call must come before the start, or the informer was started already.
    #[must_use]
    pub fn is_already_started(&self) -> bool {
        matches!(self.problem(), Problem::AlreadyStarted)
    }

    /// The informer has stopped; a stopped informer never starts again.
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        match self.problem() {
            Problem::Stopped => true,
            Problem::NotSynced { why, .. } | Problem::HandlerNotSynced { why, .. } => {
                *why == NotSynced::Stopped
            }
            Problem::NotReached { why, .. } => *why == VersionNotReached::Stopped,
            Problem::NotAllSynced { errors, .. } => errors.iter().any(Error::is_stopped),
            _ => false,
        }
    }

    /// A wait ended before what was waited for.
    pub fn is_timeout(&self) -> bool {
        match self.problem() {
            Problem::NotSynced { why, .. } | Problem::HandlerNotSynced { why, .. } => {
                matches!(why, NotSynced::TimedOut(_))
            }
            Problem::NotReached { why, .. } => matches!(why, VersionNotReached::TimedOut(_)),
            Problem::NotAllSynced { errors, .. } => errors.iter().any(Error::is_timeout),
            _ => false,
        }
    }

    /// An index of that name exists already.
    #[must_use]
    pub fn is_conflict(&self) -> bool {
        matches!(self.problem(), Problem::IndexConflict(_))
    }

    /// Whether a factory has an informer of this kind already.
    #[must_use]
    pub fn is_informer_conflict(&self) -> bool {
        matches!(self.problem(), Problem::InformerConflict)
    }

    /// There is no index of that name.
    #[must_use]
    pub fn is_unknown_index(&self) -> bool {
        matches!(self.problem(), Problem::UnknownIndex(_))
    }

    /// The server serves no resource of that name; the text tells what is spelt almost like it.
    #[must_use]
    pub fn is_unknown_resource(&self) -> bool {
        matches!(
            self.problem(),
            Problem::Discovery(DiscoveryProblem::Unknown { .. })
        )
    }

    /// The server serves the resource, but it cannot be listed and watched, so that no informer can hold it.
    #[must_use]
    pub fn is_not_watchable(&self) -> bool {
        matches!(
            self.problem(),
            Problem::Discovery(DiscoveryProblem::NotWatchable { .. })
        )
    }

    /// The versions have no known order, so waiting for one makes no sense.
    #[must_use]
    pub fn is_not_comparable(&self) -> bool {
        matches!(
            self.problem(),
            Problem::NotReached {
                why: VersionNotReached::NotComparable,
                ..
            }
        )
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        match (&self.inner.source, self.problem()) {
            (Some(source), _) => Some(&**source),
            // Its only error is displayed in its place.
            (None, Problem::NotAllSynced { errors, of: 1 }) => errors.first().and_then(StdError::source),
            (None, _) => self.cause().map(|cause| cause as &(dyn StdError + 'static)),
        }
    }
}
