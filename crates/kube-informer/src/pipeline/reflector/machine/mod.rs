//! The decisions of the reflector, without IO and without a clock.

mod list;
mod served;
mod stream;
mod watch;

use std::fmt::Debug;
use std::num::NonZeroU32;
use std::time::Duration;

use tokio::time::Instant;

use self::list::{ListPhase, ListVersion};
use self::served::UnservedKind;
use self::stream::StreamPhase;
use self::watch::WatchPhase;
use super::backoff::{Backoff, BackoffState};
use crate::error::{Error, Problem, StatusError};
use crate::measures::RelistCause;
use crate::object::ResourceVersion;
use crate::pipeline::wire::{ListRequest, WatchRequest};

pub(crate) use self::list::{EMPTY_PAGE_PAUSE, LIST_IDLE_TIMEOUT, PAGE_SIZE};

/// Maximum time until the server responds to a watch request.
const WATCH_RESPONSE_TIMEOUT: Duration = Duration::from_secs(30);
/// Maximum number of consecutive requests that replace a failed one without a delay.
const MAX_FALLBACKS: u32 = 2;
/// Maximum `Retry-After` that is honoured.
const MAX_RETRY_AFTER: Duration = Duration::from_secs(2 * 60);
/// After this time without a version from the server, the next failure causes a list.
const MAX_VERSION_AGE: Duration = Duration::from_secs(10 * 60);
/// Default and minimum of [`Settings::watch_timeout`].
const MIN_WATCH_TIMEOUT: Duration = Duration::from_secs(5 * 60);

/// User settings for requests.
#[derive(Debug, Clone)]
pub(crate) struct Settings {
    pub(crate) page_size: PageSize,
    pub(crate) streaming: bool,
    /// The server closes each watch after a random time between this and twice this value.
    pub(crate) watch_timeout: Duration,
    pub(crate) backoff: Backoff,
    pub(crate) seed: u64,
}

/// Maximum number of objects in a page of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PageSize {
    /// [`PAGE_SIZE`], or no limit if the server reads the list from its watch cache.
    Default,
    Objects(NonZeroU32),
    /// Lists have no pages.
    Unlimited,
}

impl PageSize {
    /// Creates a page size. Zero means the default.
    pub(crate) fn objects(objects: u32) -> PageSize {
        NonZeroU32::new(objects).map_or(PageSize::Default, PageSize::Objects)
    }

    /// Returns the page size of consistency checks, which always use pages.
    pub(crate) fn for_checks(self) -> u32 {
        match self {
            PageSize::Objects(objects) => objects.get(),
            PageSize::Default | PageSize::Unlimited => PAGE_SIZE,
        }
    }
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            page_size: PageSize::Default,
            streaming: true,
            watch_timeout: MIN_WATCH_TIMEOUT,
            backoff: Backoff::default(),
            seed: fastrand::u64(..),
        }
    }
}

impl Settings {
    pub(crate) fn watch_timeout(&mut self, least: Duration) {
        self.watch_timeout = least.max(MIN_WATCH_TIMEOUT);
    }
}

/// The next action of the driver. `O` is an object of a watch event, which is still encoded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Action<O> {
    /// Request a page of a list and read it. Result: `Page`, `Failed` or `TimedOut`.
    List {
        request: ListRequest,
        /// Drop collected objects and start a new list, with this trust in versions. `None` for further
        /// pages.
        begin: Option<Trust>,
        /// Maximum time between two parts of the page.
        silence: Duration,
        /// When to stop reading the page, even if it is still arriving.
        deadline: Instant,
    },
    /// Open a watch. Result: `Opened`, `Failed`, `TimedOut` or `StartOver`.
    Watch {
        request: WatchRequest,
        /// Collect the initial events as a new list, with this trust in versions.
        begin: Option<Trust>,
        /// Maximum time until the server responds.
        timeout: Duration,
    },
    /// Read the next event of the open watch. Result: `Event`, `Bookmark`, `Closed`, `Failed`, `TimedOut` or
    /// `StartOver`.
    Read { deadline: Instant },
    /// Decode the object of an initial event and add it to the collected list, or remove it. Result:
    /// `Collected` or `Failed`.
    Collect { object: O, is_deleted: bool },
    /// Decode the object of an event and send it to the queue. Result: `Applied` or `Failed`.
    Apply { object: O, is_deleted: bool },
    /// Send a bookmark to the queue. Result: `Applied`.
    ApplyBookmark(ResourceVersion),
    /// Replace the cached objects by the collected list. Result: `Applied`.
    Replace {
        version: ResourceVersion,
        /// `None` for the first list.
        cause: Option<RelistCause>,
    },
    /// Empty the cache because the kind is no longer served. Result: `Applied`.
    ///
    /// The server does not report the version of the removal, so the cache keeps this version, the last one
    /// before.
    RemoveKind { version: ResourceVersion },
    /// Ask discovery whether the kind is served. Result: `Served`.
    CheckServed { timeout: Duration },
    /// Send no request for this duration. Result: `Waited`.
    Wait(Duration),
    /// Wait like this before the next page of a list. Result: `Waited`.
    WaitForPage(Duration),
}

impl<O> Action<O> {
    /// Returns whether an open watch stays open during this action.
    pub(super) fn continues_watch(&self) -> bool {
        matches!(
            self,
            Action::Read { .. }
                | Action::Collect { .. }
                | Action::Apply { .. }
                | Action::ApplyBookmark(_)
                | Action::Replace { .. }
        )
    }

    /// Returns whether the collected list is still needed.
    pub(super) fn continues_list(&self) -> bool {
        let is_next_page = matches!(self, Action::WaitForPage(_) | Action::List { begin: None, .. });
        is_next_page || self.continues_watch()
    }
}

/// The result of an action.
#[derive(Debug)]
pub(crate) enum Input<O> {
    /// A page was read to its end.
    Page {
        version: ResourceVersion,
        continue_token: Option<String>,
        objects: usize,
        /// Only of the last page, for the whole list.
        contradiction: Contradiction,
    },
    /// The server accepted the watch.
    Opened,
    Event {
        version: ResourceVersion,
        object: O,
        is_deleted: bool,
    },
    Bookmark {
        version: ResourceVersion,
        ends_initial_events: bool,
        /// Only of the end of initial events, for all of them.
        contradiction: Contradiction,
    },
    /// An initial event was added to the list.
    Collected,
    /// The delta is in the queue.
    Applied,
    /// The server closed the watch without an error.
    Closed,
    /// The request failed, its response was invalid, or user code failed or panicked.
    Failed(Error),
    /// The deadline of the action has passed.
    TimedOut,
    /// Whether discovery lists the kind, or `None` if discovery failed.
    Served(Option<bool>),
    Waited,
    /// A consistency check found that the cache differs from the server.
    StartOver,
}

/// The version of a listed object that the cache should contain, found under [`Trust::Doubted`].
pub(crate) type Contradiction = Option<ResourceVersion>;

/// Whether a listed object is equal to the cached one if uid and version are equal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Trust {
    Versions,
    /// The server returned a version older than that of the cache, given here.
    ///
    /// Most likely a replica lags, and versions stay trusted. But a server that was restored from a backup
    /// looks the same and assigns versions again. The cache contains every object as of its version, so a
    /// listed object that is neither cached nor newer proves a restore.
    Doubted(ResourceVersion),
    /// A restore of the server was reported: every object of the next list replaces the cached one.
    Nothing,
}

impl Trust {
    /// Returns whether an uncached object at this version proves that the server was restored from a backup.
    pub(crate) fn is_contradicted_by(&self, version: &ResourceVersion) -> bool {
        match self {
            Trust::Doubted(cached) => version == cached || version.is_before(cached),
            Trust::Versions | Trust::Nothing => false,
        }
    }
}

/// The next action, and an error to report before it.
#[derive(Debug)]
pub(crate) struct Decision<O> {
    pub(crate) action: Action<O>,
    pub(crate) report: Option<Error>,
}

impl<O> From<Action<O>> for Decision<O> {
    fn from(action: Action<O>) -> Decision<O> {
        Decision { action, report: None }
    }
}

impl<O> Decision<O> {
    fn reporting(self, error: Error) -> Decision<O> {
        Decision {
            report: Some(error),
            ..self
        }
    }
}

/// The state machine of the reflector.
#[derive(Debug)]
pub(crate) struct Machine {
    settings: Settings,
    random: fastrand::Rng,
    backoff: BackoffState,
    phase: Phase,
    /// The version of the last delta in the queue.
    last: Option<ResourceVersion>,
    /// The server does not have `last`, or not yet: request its most recent version instead.
    last_unusable: bool,
    trust: Trust,
    /// The first list at any version had pages, so the server has no watch cache: keep requesting pages.
    paged: bool,
    /// No streaming list is requested before this time.
    streaming_disabled_until: Option<Instant>,
    /// Number of failed streaming lists since the last success.
    failed_streams: u32,
    watches: WatchHealth,
    /// Number of requests without a delay that replaced a failed one, since the last delay.
    fallbacks: u32,
    /// Set while the kind is not served.
    unserved: Option<UnservedKind>,
    /// Why the next list is requested, or `None` for the first list.
    cause: Option<RelistCause>,
}

/// Observations about recent watches.
#[derive(Debug)]
struct WatchHealth {
    /// Whether this server sends bookmarks.
    has_bookmarks: bool,
    /// Number of consecutive watches without events that timed out.
    silent: u32,
    /// Number of consecutive watches that failed without an event.
    fruitless: u32,
    /// When the server last returned a version, in a list, an event or a bookmark.
    last_version: Instant,
}

/// The current phase, with its data.
#[derive(Debug)]
enum Phase {
    Listing(ListPhase),
    Streaming(StreamPhase),
    /// A watch was requested with this timeout.
    OpeningWatch(Duration),
    Watching(WatchPhase),
    /// An event of the watch is being sent to the queue.
    Applying {
        watching: WatchPhase,
        version: ResourceVersion,
    },
    /// A delta that replaces or empties the cache is being sent to the queue.
    Replacing(AfterReplace),
    /// Discovery checks whether the kind is served, after a request of this phase failed.
    CheckingServed {
        failed: Box<Phase>,
        error: Error,
    },
    Waiting(AfterWait),
}

/// The next step after the cache was replaced.
#[derive(Debug)]
enum AfterReplace {
    /// Open a watch.
    Watch,
    /// Continue the watch that sent the initial events.
    Read(WatchPhase),
    Wait(Duration),
}

/// The next step after a delay.
#[derive(Debug)]
enum AfterWait {
    /// A new list, streaming if possible.
    Restart,
    Watch,
    /// A list at this version, not streaming.
    List(ListVersion),
    /// The next page of a list.
    Page(ListPhase, ListRequest),
}

impl Machine {
    pub(crate) fn new<O>(settings: Settings, now: Instant) -> (Machine, Action<O>) {
        let mut machine = Machine {
            random: fastrand::Rng::with_seed(settings.seed),
            backoff: BackoffState::new(settings.backoff),
            settings,
            phase: Phase::Waiting(AfterWait::Restart),
            last: None,
            last_unusable: false,
            trust: Trust::Versions,
            paged: false,
            streaming_disabled_until: None,
            failed_streams: 0,
            watches: WatchHealth {
                has_bookmarks: false,
                silent: 0,
                fruitless: 0,
                last_version: now,
            },
            fallbacks: 0,
            unserved: None,
            cause: None,
        };
        let first = machine.restart(now);
        (machine, first)
    }

    /// Decides the next action after the result of the last one.
    pub(crate) fn handle<O: Debug>(&mut self, now: Instant, input: Input<O>) -> Decision<O> {
        match (self.take_phase(), input) {
            (
                Phase::Listing(listing),
                Input::Page {
                    version,
                    continue_token,
                    objects,
                    contradiction,
                },
            ) => self.page(now, listing, version, continue_token, objects, contradiction),

            (Phase::Streaming(streaming), Input::Opened) => self.stream_opened(now, streaming),
            (
                Phase::Streaming(streaming),
                Input::Event {
                    object, is_deleted, ..
                },
            ) => self.stream_event(now, streaming, object, is_deleted),
            (
                Phase::Streaming(streaming),
                Input::Bookmark {
                    version,
                    ends_initial_events,
                    contradiction,
                },
            ) => self.stream_bookmark(now, streaming, version, ends_initial_events, contradiction),
            (Phase::Streaming(streaming), Input::Collected) => self.read_stream(streaming),
            (Phase::Streaming(_), Input::Closed) => {
                self.disable_streaming(now, "stream closed before the end of the initial events")
            }
            (Phase::Streaming(streaming), Input::TimedOut) if streaming.is_open() => self.disable_streaming(
                now,
                "timeout waiting for the bookmark that ends the initial events",
            ),

            (Phase::OpeningWatch(timeout), Input::Opened) => self.watch_opened(now, timeout),
            (
                Phase::Watching(watching),
                Input::Event {
                    version,
                    object,
                    is_deleted,
                },
            ) => self.watch_event(now, watching, version, Action::Apply { object, is_deleted }),
            (Phase::Watching(watching), Input::Bookmark { version, .. }) => {
                self.watch_bookmark(now, watching, version)
            }
            (Phase::Applying { watching, version }, Input::Applied) => {
                self.watch_applied(now, watching, version)
            }
            (Phase::Watching(watching), Input::Closed) => self.watch_closed(now, &watching),
            (Phase::Watching(watching), Input::TimedOut) => self.watch_stalled(now, &watching),

            (Phase::Streaming(_) | Phase::OpeningWatch(_) | Phase::Watching(_), Input::StartOver) => {
                self.start_over(now).into()
            }
            (Phase::Replacing(next), Input::Applied) => self.replaced(next),
            (Phase::Waiting(then), Input::Waited) => self.resume(now, then).into(),
            (Phase::CheckingServed { failed, error }, Input::Served(served)) => {
                self.checked_served(now, *failed, error, served)
            }
            (phase, Input::Failed(error)) => self.failed(now, phase, error),
            (phase, Input::TimedOut) => {
                let timeout = Problem::Transport("timeout: no response from the server".to_owned());
                self.after_failure(now, phase, Error::new(timeout))
            }
            // The driver returns only the documented results of an action. For any other, the reflector
            // restarts and reports an internal error.
            (phase, input) => {
                let error = format!("unexpected reflector input {input:?} in {phase:?}");
                self.wait(now, AfterWait::Restart, None)
                    .reporting(Error::internal(error))
            }
        }
    }

    /// Takes the phase. The caller sets the next one.
    fn take_phase(&mut self) -> Phase {
        std::mem::replace(&mut self.phase, Phase::Waiting(AfterWait::Restart))
    }

    /// Handles a failed request or failed user code.
    fn failed<O>(&mut self, now: Instant, phase: Phase, error: Error) -> Decision<O> {
        match status_of(&error).filter(|status| status.code == 404) {
            Some(status) => self.not_found(now, phase, &error, status),
            None => self.after_failure(now, phase, error),
        }
    }

    fn after_failure<O>(&mut self, now: Instant, phase: Phase, failure: Error) -> Decision<O> {
        let (next, report) = match phase {
            Phase::Listing(listing) => (self.list_failed(now, &listing, &failure), failure),
            Phase::Streaming(streaming) => {
                let next = self.stream_failed(now, &streaming, &failure);
                (next, stream::as_reported(failure))
            }
            Phase::OpeningWatch(_) => (self.watch_failed(now, false, &failure), failure),
            Phase::Watching(_) | Phase::Applying { .. } => (self.watch_failed(now, true, &failure), failure),
            Phase::Replacing(_) | Phase::CheckingServed { .. } | Phase::Waiting(_) => {
                (self.wait(now, AfterWait::Restart, None), failure)
            }
        };
        next.reporting(report)
    }

    /// Starts a new list, streaming if the server supports it.
    fn restart<O>(&mut self, now: Instant) -> Action<O> {
        if self.settings.streaming && self.streaming_disabled_until.is_none_or(|time| now >= time) {
            self.stream(now)
        } else {
            self.list(now)
        }
    }

    /// Lists the most recent version, which replaces objects that differ.
    fn start_over<O>(&mut self, now: Instant) -> Action<O> {
        self.last_unusable = true;
        self.set_relist_cause(RelistCause::Inconsistent);
        self.restart(now)
    }

    fn replaced<O>(&mut self, next: AfterReplace) -> Decision<O> {
        match next {
            AfterReplace::Watch => self.watch().into(),
            AfterReplace::Read(watching) => self.read_watch(watching),
            AfterReplace::Wait(wait) => {
                self.phase = Phase::Waiting(AfterWait::Restart);
                Action::Wait(wait).into()
            }
        }
    }

    fn resume<O>(&mut self, now: Instant, then: AfterWait) -> Action<O> {
        match then {
            AfterWait::Restart => self.restart(now),
            AfterWait::Watch => self.watch(),
            AfterWait::List(version) => self.list_from(now, version),
            AfterWait::Page(listing, request) => self.request_page(now, listing, request, None),
        }
    }

    /// Waits for the backoff, and at least for the server's `Retry-After`.
    fn wait<O>(&mut self, now: Instant, then: AfterWait, status: Option<&StatusError>) -> Decision<O> {
        let wait = self.next_wait(now, status);
        self.phase = Phase::Waiting(then);
        Action::Wait(wait).into()
    }

    fn next_wait(&mut self, now: Instant, status: Option<&StatusError>) -> Duration {
        let wait = self.backoff.failed(now, &mut self.random);
        let requested = status.and_then(|status| status.retry_after).unwrap_or_default();
        self.fallbacks = 0;
        wait.max(requested.min(MAX_RETRY_AFTER))
    }

    /// Sends another request instead of the failed one without a delay, but only a few times in a row
    /// (contract 9).
    fn fall_back<O>(
        &mut self,
        now: Instant,
        status: Option<&StatusError>,
        to: impl FnOnce(&mut Machine, Instant) -> Action<O>,
    ) -> Decision<O> {
        if self.fallbacks == MAX_FALLBACKS {
            return self.wait(now, AfterWait::Restart, status);
        }
        self.fallbacks += 1;
        to(self, now).into()
    }

    /// Accepts the version of a list, or returns why it is rejected (contract 2).
    ///
    /// An older version is accepted only if the most recent one was requested: then the server itself went
    /// back. This is reported, and the list is requested once more, because it was merged with cached objects
    /// by version.
    fn accept(
        &mut self,
        now: Instant,
        version: &ResourceVersion,
        most_recent: bool,
        contradiction: Contradiction,
    ) -> Result<(), Error> {
        if let Some(last) = self.last.clone() {
            let is_older = version.is_before(&last);
            if is_older && !most_recent {
                self.mark_last_unusable();
                return Err(behind_error(&last, version));
            }
            let evidence = if is_older {
                Some(version.clone())
            } else {
                contradiction
            };
            if let Some(to) = evidence.filter(|_| self.trust != Trust::Nothing) {
                self.last_unusable = true;
                self.trust = Trust::Nothing;
                return Err(Error::new(Problem::WentBack { from: last, to }));
            }
        }
        self.backoff.succeeded(now);
        self.watches.last_version = now;
        self.watches.silent = 0;
        self.last = Some(version.clone());
        self.last_unusable = false;
        self.trust = Trust::Versions;
        Ok(())
    }

    /// Replaces the cache by an accepted list.
    fn replace<O>(&mut self, version: ResourceVersion, next: AfterReplace) -> Decision<O> {
        self.phase = Phase::Replacing(next);
        let cause = self.cause.take();
        Action::Replace { version, cause }.into()
    }

    /// Sets the cause of the next list. If that list fails, the cause is kept for the following ones.
    fn set_relist_cause(&mut self, cause: RelistCause) {
        if self.last.is_some() {
            self.cause.get_or_insert(cause);
        }
    }

    /// Records that the server does not have the last version, so that its most recent version is requested
    /// instead.
    fn mark_last_unusable(&mut self) {
        self.last_unusable = true;
        if let (Trust::Versions, Some(last)) = (&self.trust, &self.last) {
            self.trust = Trust::Doubted(last.clone());
        }
    }
}

fn behind_error(seen: &ResourceVersion, at: &ResourceVersion) -> Error {
    Error::new(Problem::Behind {
        seen: seen.clone(),
        at: at.clone(),
    })
}

fn status_of(error: &Error) -> Option<&StatusError> {
    match error.problem() {
        Problem::Status(status) => Some(status),
        _ => None,
    }
}
