//! What to do next: the reflector's decisions, without IO and without a clock of its own.

mod lists;
mod served;
mod streams;
mod watches;

use self::served::Absence;
pub(super) use self::served::DISCOVERY_ANSWER;
pub(crate) use self::served::{Checked, Failed};
use self::streams::refuses_streaming;

use std::collections::HashSet;
use std::time::Duration;

use tokio::time::Instant;

use super::backoff::{Backoff, Waits};
use super::cause::Cause;
use crate::error::{Error, Problem, StatusError};
use crate::object::ResourceVersion;
use crate::pipeline::wire::{ListRequest, WatchRequest};

/// client-go's page size.
pub(crate) const PAGE_SIZE: u32 = 500;
/// A watch that ends sooner is not healthy, and the next one has to wait.
const VERY_SHORT: Duration = Duration::from_secs(1);
/// How long a streaming list may be silent before its end, once it was answered.
const INITIAL_EVENTS_SILENCE: Duration = Duration::from_secs(10);
/// How long a streaming list may take in all: a server that goes on for ever without the bookmark ends here.
const INITIAL_EVENTS_LIMIT: Duration = Duration::from_mins(5);
/// For how long a server that does streaming lists badly is asked for plain ones.
const STREAMING_PAUSE: Duration = Duration::from_mins(10);
/// How long a watch may take to be answered.
const WATCH_ANSWER: Duration = Duration::from_secs(30);
/// How much later than asked for the server may close a watch.
const WATCH_CLOSE_GRACE: Duration = Duration::from_secs(10);
/// Servers send a bookmark about every minute. From one that does, a silence of this length is a dead connection.
const BOOKMARK_SILENCE: Duration = Duration::from_secs(210);
/// After this time without any word of its version the server is asked for a list.
const QUIET: Duration = Duration::from_mins(10);
/// Relist after this many watches in a row that failed without an event, so that a broken watch path cannot hide changes.
const FRUITLESS: u32 = 5;
/// How long a page of a list may be silent.
pub(crate) const LIST_SILENCE: Duration = Duration::from_mins(1);
/// How long one page of a list may take in all. kube-apiserver itself ends a list after one minute, so only a connection that
/// trickles gets here.
const PAGE_LIMIT: Duration = Duration::from_mins(30);
/// How long all pages of a list may take together.
const LIST_LIMIT: Duration = Duration::from_hours(2);
/// A page may be empty where a selector fits nothing in it. The next is not asked for at once, since a list of empty pages
/// need never end.
pub(crate) const EMPTY_PAGE_PAUSE: Duration = Duration::from_secs(1);
/// Nor is the next after so many pages that hold less than a tenth of what they may: the server makes many requests of few.
const SPARSE_PAGES: u32 = 20;
/// The shortest time a watch is asked for, and the one that nobody chose.
const SHORTEST_WATCH: Duration = Duration::from_mins(5);
/// The longest time a watch is asked for.
const LONGEST_WATCH: Duration = Duration::from_hours(24);
/// How often in a row another request may take the place of one that failed, before there is a wait.
const FALLBACKS: u32 = 2;
/// The longest `Retry-After` that is believed.
const LONGEST_RETRY_AFTER: Duration = Duration::from_mins(2);

/// What users choose about requests.
#[derive(Debug, Clone)]
pub(crate) struct Settings {
    /// The size of pages; none leaves it to the rules of [`Machine::list`].
    pub(crate) page_size: Option<u32>,
    pub(crate) streaming: bool,
    /// Watches end after a random time between this and twice as much.
    pub(crate) watch_timeout: Duration,
    pub(crate) backoff: Backoff,
    pub(crate) seed: u64,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            page_size: None,
            streaming: true,
            watch_timeout: SHORTEST_WATCH,
            backoff: Backoff::default(),
            seed: fastrand::u64(..),
        }
    }
}

impl Settings {
    /// A page of nothing leaves it to the rules.
    pub(crate) fn page_size(&mut self, objects: u32) {
        self.page_size = (objects > 0).then_some(objects);
    }

    pub(crate) fn watch_timeout(&mut self, least: Duration) {
        self.watch_timeout = least.max(SHORTEST_WATCH);
    }
}

/// The next thing to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Action {
    /// Ask for a list, or the next page of it. A `fresh` list begins anew: what was collected is dropped.
    List { request: ListRequest, fresh: bool },
    /// Open a watch. What was collected is dropped if it asks for initial events.
    Watch(WatchRequest),
    /// Wait, then say [`Machine::waited`].
    Wait(Duration),
}

/// What to do after a page of a list.
#[derive(Debug)]
pub(crate) enum Listed {
    /// Go on; there is more to come, or it was of no use.
    Continue(Next),
    /// The list is whole: replace everything by what was collected, then go on.
    Whole { version: ResourceVersion, next: Next },
}

/// What to do with an event of a watch.
#[derive(Debug)]
pub(crate) enum Verdict {
    /// Hand it on.
    Apply,
    /// It is one of the initial events: collect it.
    Collect,
    /// The initial events are whole: replace everything by what was collected. The watch goes on.
    Whole(ResourceVersion),
    /// It says nothing new.
    Skip,
    /// Drop the watch and go on with this.
    Leave(Next),
}

/// The next thing to do, and what to tell the watch-error handler before.
#[derive(Debug)]
pub(crate) struct Next {
    pub(crate) action: Action,
    pub(crate) complaint: Option<Error>,
}

impl From<Action> for Next {
    fn from(action: Action) -> Next {
        Next {
            action,
            complaint: None,
        }
    }
}

/// What the machine needs to know of an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Seen {
    Change(ResourceVersion),
    Bookmark {
        version: ResourceVersion,
        initial_events_end: bool,
    },
}

/// The reflector's state.
#[derive(Debug)]
pub(crate) struct Machine {
    settings: Settings,
    random: fastrand::Rng,
    waits: Waits,
    phase: Phase,
    /// The version of what was handed on so far.
    last: Option<ResourceVersion>,
    /// The server does not have `last`, or not yet: ask for its newest version instead.
    last_unusable: bool,
    trust: Trust,
    /// The first list at any version came in pages, so the server has no watch cache: go on asking for pages.
    paged: bool,
    /// No streaming list before this time.
    no_streaming_before: Option<Instant>,
    /// Streaming lists that broke off since the last good one.
    broken_streams: u32,
    /// This server sends bookmarks.
    has_bookmarks: bool,
    /// Watches in a row that stayed silent.
    silent_watches: u32,
    /// Watches in a row that failed without an event.
    fruitless_watches: u32,
    /// When the server last told its version: by a list, an event or a bookmark.
    heard: Instant,
    /// Requests since the last wait that took the place of one that failed.
    fallbacks: u32,
    /// The kind is not served.
    absence: Option<Absence>,
    /// Why a list takes the place of a watch.
    cause: Option<Cause>,
}

/// Whether an object of a list is the cached one if uid and version are the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Trust {
    Versions,
    /// The server showed a version older than `last`. Most likely a replica lags, and versions stay trusted. But a server that
    /// was restored from a backup looks the same, and gives out versions again: see [`Machine::contradicts`].
    Doubted,
    /// The server went back, and this was reported: every object of the next list replaces the cached one.
    Nothing,
}

#[derive(Debug)]
enum Phase {
    Streaming(Streaming),
    Listing(Listing),
    Watching(Watching),
    Waiting { then: Then },
}

#[derive(Debug)]
struct Streaming {
    /// The newest version was asked for, not one at least as new as `last`.
    newest: bool,
    since: Instant,
    /// Since it was answered.
    last_event: Option<Instant>,
    timeout: Duration,
}

#[derive(Debug)]
struct Listing {
    at: At,
    /// When the first page was requested.
    began: Instant,
    /// When the current page was requested.
    requested: Instant,
    limit: Option<u32>,
    /// The continue tokens so far, one per page: one that comes again means that the list would never end.
    tokens: HashSet<String>,
    /// Pages with little in them.
    sparse: u32,
    /// After an expired page everything is asked for at once.
    at_once: bool,
}

/// The version a list is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum At {
    Any,
    Last,
    Newest,
}

#[derive(Debug)]
struct Watching {
    asked: Instant,
    opened: Option<Instant>,
    last_event: Instant,
    events: u64,
    timeout: Duration,
}

#[derive(Debug)]
enum Then {
    Cycle,
    Watch,
    /// List at this version, without trying a streaming list.
    List(At),
    /// Go on with a list.
    Page(Listing, ListRequest),
}

impl Machine {
    pub(crate) fn new(settings: Settings, now: Instant) -> (Machine, Action) {
        let mut machine = Machine {
            random: fastrand::Rng::with_seed(settings.seed),
            waits: Waits::new(settings.backoff),
            settings,
            phase: Phase::Waiting { then: Then::Cycle },
            last: None,
            last_unusable: false,
            trust: Trust::Versions,
            paged: false,
            no_streaming_before: None,
            broken_streams: 0,
            has_bookmarks: false,
            silent_watches: 0,
            fruitless_watches: 0,
            heard: now,
            fallbacks: 0,
            absence: None,
            cause: None,
        };
        let first = machine.cycle(now);
        (machine, first)
    }

    /// A wait is over.
    pub(crate) fn waited(&mut self, now: Instant) -> Action {
        let done = Phase::Waiting { then: Then::Cycle };
        match std::mem::replace(&mut self.phase, done) {
            Phase::Waiting { then: Then::Watch } => self.watch(now),
            Phase::Waiting { then: Then::List(at) } => self.list_from(now, at),
            Phase::Waiting {
                then: Then::Page(listing, request),
            } => {
                self.phase = Phase::Listing(Listing {
                    requested: now,
                    ..listing
                });
                Action::List {
                    request,
                    fresh: false,
                }
            }
            _ => self.cycle(now),
        }
    }

    /// A page of a list ended after this many items. The contradiction is the version of an item that contradicts the cache.
    pub(crate) fn listed(
        &mut self,
        now: Instant,
        version: ResourceVersion,
        continue_token: Option<String>,
        items: usize,
        contradiction: Option<&ResourceVersion>,
    ) -> Listed {
        let Phase::Listing(listing) = &mut self.phase else {
            return Listed::Continue(self.cycle(now).into());
        };
        self.absence = None;
        if let Some(token) = continue_token {
            return Listed::Continue(self.next_page(now, token, items));
        }
        let newest = listing.at == At::Newest;
        match self.accept(now, &version, newest, contradiction) {
            Ok(()) => Listed::Whole {
                version,
                next: self.watch(now).into(),
            },
            Err(complaint) => Listed::Continue(self.fall_back(now, Some(complaint), None, Machine::list)),
        }
    }

    /// A watch was answered.
    pub(crate) fn opened(&mut self, now: Instant) {
        self.absence = None;
        match &mut self.phase {
            Phase::Streaming(streaming) => streaming.last_event = Some(now),
            Phase::Watching(watching) => {
                self.waits.succeeded(now);
                watching.opened = Some(now);
                watching.last_event = now;
            }
            Phase::Listing(_) | Phase::Waiting { .. } => {}
        }
    }

    /// An event of a watch arrived. The contradiction is the version of an initial event that contradicts the cache.
    pub(crate) fn event(
        &mut self,
        now: Instant,
        seen: Seen,
        contradiction: Option<&ResourceVersion>,
    ) -> Verdict {
        match &mut self.phase {
            Phase::Streaming(streaming) => {
                streaming.last_event = Some(now);
                match seen {
                    Seen::Change(_) => Verdict::Collect,
                    Seen::Bookmark {
                        initial_events_end: false,
                        ..
                    } => Verdict::Skip,
                    Seen::Bookmark {
                        version,
                        initial_events_end: true,
                    } => self.streamed(now, version, contradiction),
                }
            }
            Phase::Watching(watching) => {
                watching.events += 1;
                watching.last_event = now;
                self.heard = now;
                self.silent_watches = 0;
                self.fruitless_watches = 0;
                self.has_bookmarks |= matches!(seen, Seen::Bookmark { .. });
                self.watched(now, seen)
            }
            Phase::Listing(_) | Phase::Waiting { .. } => Verdict::Skip,
        }
    }

    /// Whether an object of a list that has uid and version of a cached one can be taken for that.
    pub(crate) fn is_trusting(&self) -> bool {
        self.trust != Trust::Nothing
    }

    /// The version that the cache must have reached before a list can contradict it; none if the list need not be checked.
    pub(crate) fn doubted(&self) -> Option<&ResourceVersion> {
        self.last.as_ref().filter(|_| self.trust == Trust::Doubted)
    }

    /// Whether an object that is not in the cache in this version contradicts it: the cache holds every object as it was at
    /// `last`, so one with an older version belongs to another history. Then the server was restored from a backup.
    pub(crate) fn contradicts(&self, version: &ResourceVersion) -> bool {
        self.doubted()
            .is_some_and(|last| version == last || version.is_before(last))
    }

    /// Whether what comes is part of a list.
    pub(crate) fn is_streaming(&self) -> bool {
        matches!(self.phase, Phase::Streaming(_))
    }

    /// The server closed a watch without an error.
    pub(crate) fn closed(&mut self, now: Instant) -> Next {
        match &self.phase {
            Phase::Streaming(_) => {
                self.no_streaming(now, "the server closed the stream before the end of the objects")
            }
            Phase::Watching(watching) => {
                let lived = watching
                    .opened
                    .map_or(Duration::ZERO, |opened| now.duration_since(opened));
                let events = watching.events;
                if lived < VERY_SHORT {
                    let complaint = (events == 0).then(|| Error::new(Problem::VeryShortWatch));
                    let then = self.after_fruitless_watch();
                    return self.wait(now, then, complaint, None);
                }
                if now.duration_since(self.heard) > QUIET {
                    self.list_because(Cause::Silent);
                    // Nothing, not even a bookmark, tells a quiet server from one that was restored to an older version.
                    // A list does, and costs little at this distance.
                    return self.cycle(now).into();
                }
                self.watch(now).into()
            }
            Phase::Listing(_) | Phase::Waiting { .. } => self.wait(now, Then::Cycle, None, None),
        }
    }

    /// When to stop waiting for the server; then say [`Machine::timed_out`]. For a list it moves on with each item.
    pub(crate) fn deadline(&self, now: Instant) -> Instant {
        match &self.phase {
            Phase::Streaming(streaming) => match streaming.last_event {
                None => streaming.since + WATCH_ANSWER,
                Some(last) => (last + INITIAL_EVENTS_SILENCE).min(streaming.since + INITIAL_EVENTS_LIMIT),
            },
            Phase::Watching(watching) => match watching.opened {
                None => watching.asked + WATCH_ANSWER,
                Some(opened) => {
                    let close = opened + watching.timeout + WATCH_CLOSE_GRACE;
                    if self.has_bookmarks {
                        close.min(watching.last_event + BOOKMARK_SILENCE)
                    } else {
                        close
                    }
                }
            },
            Phase::Listing(listing) => (now + LIST_SILENCE)
                .min(listing.requested + PAGE_LIMIT)
                .min(listing.began + LIST_LIMIT),
            Phase::Waiting { .. } => now + LIST_SILENCE,
        }
    }

    /// The server did not do in time what was asked.
    pub(crate) fn timed_out(&mut self, now: Instant) -> Next {
        match &self.phase {
            Phase::Streaming(_) => self.no_streaming(now, "the bookmark that ends the objects did not come"),
            Phase::Watching(Watching {
                opened: Some(_),
                last_event,
                ..
            }) => {
                let complaint = Error::new(Problem::StalledWatch(now.duration_since(*last_event)));
                self.silent_watches += 1;
                let is_quiet = self.has_bookmarks || now.duration_since(self.heard) > QUIET;
                if self.silent_watches > 1 && is_quiet {
                    // Something swallows events, or the server was restored to an older version and has none after ours.
                    self.list_because(Cause::Silent);
                    return self.wait(now, Then::Cycle, Some(complaint), None);
                }
                Next {
                    action: self.watch(now),
                    complaint: Some(complaint),
                }
            }
            _ => {
                let error = Error::new(Problem::Transport("the server did not answer in time".to_owned()));
                self.after(now, error)
            }
        }
    }

    /// The source of lists and watches panicked, or the type of its objects did.
    pub(crate) fn panicked(&mut self, now: Instant, error: Error) -> Next {
        self.after(now, error)
    }

    /// What follows a failure.
    fn after(&mut self, now: Instant, failure: Error) -> Next {
        let is_stream = matches!(self.phase, Phase::Streaming(_));
        let next = match &self.phase {
            Phase::Listing(_) => self.list_failed(now, &failure),
            Phase::Streaming(_) => self.stream_failed(now, &failure),
            Phase::Watching(_) => self.watch_failed(now, &failure),
            Phase::Waiting { .. } => self.wait(now, Then::Cycle, None, None),
        };
        // An old server is no failure, so it is told as what it is.
        let told = if is_stream && refuses_streaming(&failure) {
            Error::streaming_refused(&failure)
        } else {
            failure
        };
        Next {
            action: next.action,
            complaint: Some(told),
        }
    }

    /// A new beginning: the objects as a stream if the server can, else as a list.
    fn cycle(&mut self, now: Instant) -> Action {
        if self.settings.streaming && self.no_streaming_before.is_none_or(|time| now >= time) {
            self.stream(now)
        } else {
            self.list(now)
        }
    }

    fn wait(
        &mut self,
        now: Instant,
        then: Then,
        complaint: Option<Error>,
        status: Option<&StatusError>,
    ) -> Next {
        let wait = self.waits.failed(now, &mut self.random);
        let asked = status.and_then(|status| status.retry_after).unwrap_or_default();
        self.phase = Phase::Waiting { then };
        self.fallbacks = 0;
        Next {
            action: Action::Wait(wait.max(asked.min(LONGEST_RETRY_AFTER))),
            complaint,
        }
    }

    /// Another request instead of the one that failed: at once, but not again and again (contract 9).
    fn fall_back(
        &mut self,
        now: Instant,
        complaint: Option<Error>,
        status: Option<&StatusError>,
        to: impl FnOnce(&mut Machine, Instant) -> Action,
    ) -> Next {
        if self.fallbacks == FALLBACKS {
            return self.wait(now, Then::Cycle, complaint, status);
        }
        self.fallbacks += 1;
        let action = to(self, now);
        Next { action, complaint }
    }

    /// Accepts the objects at a version in place of the cached ones, or says why not (contract 2).
    ///
    /// An older version is accepted only if the server was asked for its newest: then the server itself went back. This is
    /// reported, and as objects of that list were taken for known by their versions, it is requested once more.
    fn accept(
        &mut self,
        now: Instant,
        version: &ResourceVersion,
        newest: bool,
        contradiction: Option<&ResourceVersion>,
    ) -> Result<(), Error> {
        if let Some(last) = self.last.clone() {
            let is_older = version.is_before(&last);
            if is_older && !newest {
                self.lags();
                return Err(behind(&last, version));
            }
            let evidence = if is_older { Some(version) } else { contradiction };
            if let Some(to) = evidence.filter(|_| self.is_trusting()) {
                self.last_unusable = true;
                self.trust = Trust::Nothing;
                let to = to.clone();
                return Err(Error::new(Problem::WentBack { from: last, to }));
            }
        }
        self.waits.succeeded(now);
        self.heard = now;
        self.silent_watches = 0;
        self.last = Some(version.clone());
        self.last_unusable = false;
        self.trust = Trust::Versions;
        Ok(())
    }

    /// Notes why the next list is made. If it fails, the reason is the same for those that take its place.
    fn list_because(&mut self, cause: Cause) {
        if self.last.is_some() {
            self.cause.get_or_insert(cause);
        }
    }

    /// Why the list was made that is whole now; none if it was the first.
    pub(crate) fn take_cause(&mut self) -> Option<Cause> {
        self.cause.take()
    }

    /// The server does not have the last version: its newest is requested instead.
    fn lags(&mut self) {
        self.last_unusable = true;
        if self.trust == Trust::Versions {
            self.trust = Trust::Doubted;
        }
    }

    fn usable_version(&self) -> Option<String> {
        let usable = self.last.as_ref().filter(|_| !self.last_unusable);
        usable.map(ToString::to_string)
    }
}

fn behind(seen: &ResourceVersion, at: &ResourceVersion) -> Error {
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
