//! The error type of this crate.

mod discovery;
mod display;

use std::error::Error as StdError;
use std::sync::Arc;
use std::time::Duration;

use crate::types::{ConsistencyReport, Key, ResourceVersion, WatchedResource};
use crate::util::truncate;

pub(crate) use self::discovery::DiscoveryProblem;
pub(crate) use self::display::ErrorChain;
pub use crate::types::ParseKeyError;
pub use kube_wire::ParsePathError;
pub use kube_wire::selector::ParseSelectorError;

/// An error of a list or watch, or of a call to this library.
///
/// The message contains the operation and the resource, and for some errors a hint on a second line. `{error}` prints
/// this error only, and leaves its causes to [`source`](StdError::source). `{error:#}` prints it with all causes on one
/// line, followed by the hints. Use the `is_…` methods instead of matching text. Cloning an error increments a counter.
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
    context: Option<(Operation, WatchedResource)>,
    source: Option<Arc<dyn StdError + Send + Sync>>,
}

/// The operation of an informer that failed.
///
/// See [`Error::operation`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Operation {
    /// A list request, or one page of a list.
    List,
    /// A watch that also sends the initial objects.
    StreamingList,
    /// A watch.
    Watch,
    /// Work on the cache, for example transforms and indexes.
    Cache,
    /// A check of the cache against the server.
    ConsistencyCheck,
}

/// The kinds of errors.
#[derive(Debug, Clone)]
pub(crate) enum Problem {
    /// The server returned an error, or sent one in a watch.
    Status(StatusError),
    /// The connection could not be established.
    Connect,
    /// The connection broke, or a request timed out.
    Transport(String),
    /// The response is invalid.
    BadData(String),
    /// A watch was closed immediately and without an event.
    VeryShortWatch,
    /// A watch received no data for too long.
    StalledWatch(Duration),
    /// The server does not support streaming lists. Contains the reason.
    NoStreamingList(String),
    /// The server is at an older version than the cache.
    WentBack {
        from: ResourceVersion,
        to: ResourceVersion,
    },
    /// The response is older than a previous one, for example because it is from a replica that lags behind.
    Behind {
        seen: ResourceVersion,
        at: ResourceVersion,
    },
    /// The server does not serve the kind, as discovery confirms.
    NotServed {
        stage: UnservedStage,
        status: StatusError,
    },
    /// A function of the user failed or panicked.
    UserCode(String),
    /// A bug in this crate.
    Internal(String),
    InvalidKey(ParseKeyError),
    /// The configuration is invalid, so no client can be created.
    NoClient(String),
    AlreadyStarted,
    Stopped,
    IndexConflict(String),
    /// The factory already has an informer of this kind.
    InformerConflict,
    /// An index function tried to add an index.
    NestedIndex(String),
    UnknownIndex(String),
    NotFound(Key),
    /// The informer sets this request parameter itself. Contains the method of the builder that configures it.
    ReservedParameter {
        name: String,
        setting: Option<&'static str>,
    },
    NotSynced {
        why: NotSynced,
        last: Option<Error>,
    },
    /// Some of several informers did not sync.
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
    /// Discovery failed, or a name could not be resolved.
    Discovery(DiscoveryProblem),
    NotReached {
        version: ResourceVersion,
        at: Option<ResourceVersion>,
        why: VersionNotReached,
    },
    /// The cache differs from the server.
    Inconsistent {
        found: Arc<ConsistencyReport>,
        relist: bool,
    },
    /// The cache could not be compared with the server.
    NotChecked(CheckFailure),
}

/// How the state of an unserved kind has changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum UnservedStage {
    /// The kind was served before.
    New,
    /// The kind has not been served for so long that its objects were removed.
    Removed,
    /// The kind was not served at the last check either.
    Unchanged,
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

/// The reason why a cache was not compared with the server.
#[derive(Debug, Clone)]
pub(crate) enum CheckFailure {
    /// No list has succeeded yet.
    NotListed,
    /// The kind is no longer served, and the version at which its objects were removed is unknown.
    KindRemoved,
    /// The source does not support lists at an exact version.
    NoExactLists,
    /// The list is at another version than requested.
    OtherVersion {
        asked: ResourceVersion,
        listed: ResourceVersion,
    },
    /// The check took longer than the server keeps a version.
    TooLong(Duration),
    Failed(Error),
}

/// A failure that the server returned: Kubernetes' `Status`. Fields that the response lacks are empty.
///
/// Returned by [`Error::server_status`]. An implementation of [`ListWatch`](crate::source::ListWatch) passes it to
/// [`Error::status`].
#[doc(alias("metav1.Status", "StatusReason"))]
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StatusError {
    /// The HTTP status code; 0 if it is unknown.
    pub code: u16,
    /// The machine-readable reason, for example `Expired`.
    pub reason: String,
    /// The human-readable message.
    pub message: String,
    /// The reasons of the causes in the details, for example `ResourceVersionTooLarge`.
    pub causes: Vec<String>,
    /// The time to wait before the next request.
    pub retry_after: Option<Duration>,
}

/// Maximum length of a server's text in an error, in bytes, because a hostile server could send any amount.
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

    /// Returns whether the requested version is newer than the server's. Servers have reported this in three ways.
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
        Error::build(problem, None, None)
    }

    fn build(
        problem: Problem,
        context: Option<(Operation, WatchedResource)>,
        source: Option<Arc<dyn StdError + Send + Sync>>,
    ) -> Error {
        Error {
            inner: Arc::new(Inner {
                problem,
                context,
                source,
            }),
        }
    }

    /// Creates the error of a request that failed on the server, or of a failure in a watch.
    #[must_use]
    pub fn status(status: StatusError) -> Error {
        Error::new(Problem::Status(status))
    }

    /// Creates the error of a server that cannot be reached.
    pub fn connect(source: impl Into<Box<dyn StdError + Send + Sync>>) -> Error {
        Error::build(Problem::Connect, None, Some(source.into().into()))
    }

    /// Creates the error of a connection that broke. `what` is the message, for example "the watch broke".
    pub fn transport(what: impl Into<String>, source: impl Into<Box<dyn StdError + Send + Sync>>) -> Error {
        Error::build(Problem::Transport(what.into()), None, Some(source.into().into()))
    }

    /// Creates the error of a server that refused a streaming list.
    pub(crate) fn streaming_refused(refusal: &Error) -> Error {
        Error::new(Problem::NoStreamingList(refusal.message()))
    }

    /// Creates the error of an invalid response. `what` is the message, for example "list has no items".
    pub fn bad_data(what: impl Into<String>) -> Error {
        Error::new(Problem::BadData(shortened(what.into())))
    }

    pub(crate) fn bad_data_from(
        what: impl Into<String>,
        source: impl Into<Box<dyn StdError + Send + Sync>>,
    ) -> Error {
        Error::build(
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
        Error::build(Problem::NoClient(what.into()), None, Some(source.into().into()))
    }

    pub(crate) fn user_code(what: impl Into<String>) -> Error {
        Error::new(Problem::UserCode(what.into()))
    }

    pub(crate) fn internal(what: impl Into<String>) -> Error {
        Error::new(Problem::Internal(what.into()))
    }

    /// Attaches the operation and resource unless already set.
    pub(crate) fn with_context(self, operation: Operation, resource: &WatchedResource) -> Error {
        if self.inner.context.is_some() {
            return self;
        }
        let context = Some((operation, resource.clone()));
        match Arc::try_unwrap(self.inner) {
            Ok(inner) => Error::build(inner.problem, context, inner.source),
            Err(shared) => Error::build(shared.problem.clone(), context, shared.source.clone()),
        }
    }

    pub(crate) fn problem(&self) -> &Problem {
        &self.inner.problem
    }

    /// Returns the operation that failed, if the informer itself performed it.
    #[must_use]
    pub fn operation(&self) -> Option<Operation> {
        self.inner.context.as_ref().map(|(operation, _)| *operation)
    }

    /// Returns the kind and the namespaces, if the error is about some.
    #[must_use]
    pub fn resource(&self) -> Option<&WatchedResource> {
        self.inner.context.as_ref().map(|(_, resource)| resource)
    }

    /// Returns the status that the server returned, if it responded.
    #[must_use]
    pub fn server_status(&self) -> Option<&StatusError> {
        match self.problem() {
            Problem::Status(status) | Problem::NotServed { status, .. } => Some(status),
            _ => self.cause().and_then(Error::server_status),
        }
    }

    /// Returns the errors of several informers, one for each kind that has not synced. Empty for other errors.
    #[must_use]
    pub fn errors(&self) -> &[Error] {
        match self.problem() {
            Problem::NotAllSynced { errors, .. } => errors,
            _ => &[],
        }
    }

    /// Returns the error that caused this one, if there is exactly one.
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

    /// Returns whether the requested version has left the server's history (410). The informer relists.
    pub fn is_expired(&self) -> bool {
        self.server_status().is_some_and(StatusError::is_expired)
    }

    /// Returns whether the server asks for fewer requests (429).
    pub fn is_too_many_requests(&self) -> bool {
        self.server_status()
            .is_some_and(StatusError::is_too_many_requests)
    }

    /// Returns whether the account lacks a permission (403).
    #[must_use]
    pub fn is_forbidden(&self) -> bool {
        self.server_status().is_some_and(|status| status.code == 403)
    }

    /// Returns whether the server does not accept the credentials (401).
    #[must_use]
    pub fn is_unauthorized(&self) -> bool {
        self.server_status().is_some_and(|status| status.code == 401)
    }

    /// Returns whether an object, or the whole kind, does not exist.
    #[doc(alias = "IsNotFound")]
    #[must_use]
    pub fn is_not_found(&self) -> bool {
        matches!(self.problem(), Problem::NotFound(_))
            || self.is_unknown_resource()
            || self.server_status().is_some_and(|status| status.code == 404)
    }

    /// Returns whether the server does not serve this version of the kind, as discovery confirms: the definition of a
    /// custom resource is not installed yet, or was deleted. The informer waits for it.
    #[must_use]
    pub fn is_not_served(&self) -> bool {
        match self.problem() {
            Problem::NotServed { .. } | Problem::NotChecked(CheckFailure::KindRemoved) => true,
            _ => self.cause().is_some_and(Error::is_not_served),
        }
    }

    /// Returns whether the same error was reported before, and nothing has changed since.
    pub(crate) fn is_repeated(&self) -> bool {
        matches!(
            self.problem(),
            Problem::NotServed {
                stage: UnservedStage::Unchanged,
                ..
            }
        )
    }

    /// Returns whether the server could not be reached, or the connection broke.
    #[must_use]
    pub fn is_connection(&self) -> bool {
        match self.problem() {
            Problem::Connect | Problem::Transport(_) | Problem::StalledWatch(_) => true,
            _ => self.cause().is_some_and(Error::is_connection),
        }
    }

    /// Returns whether the server sent an invalid response.
    #[must_use]
    pub fn is_bad_data(&self) -> bool {
        match self.problem() {
            Problem::BadData(_) => true,
            _ => self.cause().is_some_and(Error::is_bad_data),
        }
    }

    /// Returns whether the server does not support streaming lists well. The informer uses plain lists instead.
    #[must_use]
    pub fn is_no_streaming_list(&self) -> bool {
        matches!(self.problem(), Problem::NoStreamingList(_))
    }

    /// Returns whether the server sent a response that is older than a previous one, for example from a replica that
    /// lags behind. The response was ignored.
    pub fn is_behind(&self) -> bool {
        matches!(self.problem(), Problem::Behind { .. })
    }

    /// Returns whether the server itself is at an older version than the cache, for example after a backup was
    /// restored. The informer rebuilds the cache.
    #[must_use]
    pub fn is_going_back(&self) -> bool {
        matches!(self.problem(), Problem::WentBack { .. })
    }

    /// Returns whether a check found that the cache differs from the server. [`Error::consistency`] returns the
    /// differences.
    #[must_use]
    pub fn is_inconsistent(&self) -> bool {
        self.consistency().is_some()
    }

    /// Returns the differences between the cache and the server, if a check found some.
    #[must_use]
    pub fn consistency(&self) -> Option<&ConsistencyReport> {
        match self.problem() {
            Problem::Inconsistent { found, .. } => Some(found),
            _ => None,
        }
    }

    /// Returns whether the cache could not be compared with the server. The cache may still be correct.
    #[must_use]
    pub fn is_not_checked(&self) -> bool {
        matches!(self.problem(), Problem::NotChecked(_))
    }

    /// Returns whether no client can be created, because the configuration is invalid.
    #[must_use]
    pub fn is_no_client(&self) -> bool {
        matches!(self.problem(), Problem::NoClient(_))
    }

    /// Returns whether a transform, index function or handler of the user failed.
    #[must_use]
    pub fn is_user_code(&self) -> bool {
        matches!(self.problem(), Problem::UserCode(_))
    }

    /// Returns whether a request parameter is one that informers set themselves.
    #[must_use]
    pub fn is_reserved_parameter(&self) -> bool {
        matches!(self.problem(), Problem::ReservedParameter { .. })
    }

    /// Returns whether the informer has already been started.
    #[must_use]
    pub fn is_already_started(&self) -> bool {
        matches!(self.problem(), Problem::AlreadyStarted)
    }

    /// Returns whether the informer has stopped. A stopped informer cannot be restarted.
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

    /// Returns whether a wait timed out.
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

    /// Returns whether an index of that name already exists, or the factory already has an informer of this kind.
    #[must_use]
    pub fn is_conflict(&self) -> bool {
        matches!(
            self.problem(),
            Problem::IndexConflict(_) | Problem::InformerConflict
        )
    }

    /// Returns whether no index has that name.
    #[must_use]
    pub fn is_unknown_index(&self) -> bool {
        matches!(self.problem(), Problem::UnknownIndex(_))
    }

    /// Returns whether the server serves no resource of that name. The message suggests similar names.
    #[must_use]
    pub fn is_unknown_resource(&self) -> bool {
        matches!(
            self.problem(),
            Problem::Discovery(DiscoveryProblem::Unknown { .. })
        )
    }

    /// Returns whether the server serves the resource, but it does not support both list and watch, so an informer
    /// cannot cache it.
    #[must_use]
    pub fn is_not_watchable(&self) -> bool {
        matches!(
            self.problem(),
            Problem::Discovery(DiscoveryProblem::NotWatchable { .. })
        )
    }

    /// Returns whether the versions cannot be compared, so a wait for one cannot end.
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
            // The only error is displayed in place of this one.
            (None, Problem::NotAllSynced { errors, of: 1 }) => errors.first().and_then(StdError::source),
            (None, _) => self.cause().map(|cause| cause as &(dyn StdError + 'static)),
        }
    }
}
