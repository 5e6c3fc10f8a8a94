//! Tables of what a server does and what the machine does next.
//!
//! A row is a pair: what the server did, and the machine's next action as text. `list 0 by 500` is a list at any version in
//! pages of 500, `list newest` one without a version, `page t1` the next page, `stream 10` a streaming list not older
//! than version 10, `watch 10` a watch from there, `wait 800ms` a pause. `check` asks whether the kind is served, and
//! `gone at 10` empties the cache. A report to the watch-error handler follows a `!`, unless it is the failure itself.

use std::fmt::Write as _;
use std::time::Duration;

use tokio::time::Instant;

use crate::error::{Error, Problem, StatusError, UnservedStage};
use crate::measures::RelistCause;
use crate::object::ResourceVersion;
use crate::pipeline::reflector::Backoff;
use crate::pipeline::reflector::machine::{
    self, Contradiction, Decision, EventKind, Input, Machine, Settings,
};

/// Events have no content here.
pub(super) type Action = machine::Action<()>;

/// What a server does.
#[derive(Debug, Clone)]
pub(super) enum Did {
    /// A page of a list that brought objects, and the token of the next.
    Page(&'static str, &'static str),
    /// A page that brought no objects, and the token of the next.
    EmptyPage(&'static str, &'static str),
    /// The last page of a list, or the only one.
    Listed(&'static str),
    /// The same, of a list with an object that the cache should have had.
    ListedAnother(&'static str),
    /// The watch is answered.
    Opened,
    /// An object changed.
    Changed(&'static str),
    Bookmark(&'static str),
    /// The bookmark that ends the initial events.
    InitialEnd(&'static str),
    /// The same, after an object that the cache should have had.
    InitialEndOfAnother(&'static str),
    /// The watch ends without an error.
    Closed,
    /// The request fails, or the watch ends with an error.
    Failed(Error),
    /// Discovery says whether the kind is served, or does not say.
    Discovered(Option<bool>),
    /// Nothing, until the machine's patience ends.
    Nothing,
    /// Nothing, for this long.
    Passed(Duration),
    /// The machine has waited for as long as it said.
    Waited,
}

/// A machine, the time, and the machine's next action.
pub(super) struct Play {
    machine: Machine,
    pub(super) now: Instant,
    pub(super) action: Action,
    /// When the action began.
    began: Instant,
    /// Why the cache was replaced last; none for the first list.
    pub(super) cause: Option<RelistCause>,
}

/// No chance in the waits, so that tables can name them.
pub(super) fn steady() -> Settings {
    Settings {
        backoff: Backoff {
            jitter: 0.0,
            ..Backoff::default()
        },
        seed: 1,
        ..Settings::default()
    }
}

/// Plain lists only.
pub(super) fn plain() -> Settings {
    Settings {
        streaming: false,
        ..steady()
    }
}

/// Plays a table from the machine's birth.
#[track_caller]
pub(super) fn play(settings: Settings, first: &str, rows: &[(Did, &str)]) -> Play {
    let now = Instant::now();
    let (machine, action) = Machine::new(settings, now);
    assert_eq!(describe(&action), first, "the first request");
    let mut play = Play {
        machine,
        now,
        action,
        began: now,
        cause: None,
    };
    play.go_on(rows);
    play
}

impl Play {
    #[track_caller]
    pub(super) fn go_on(&mut self, rows: &[(Did, &str)]) {
        for (row, (did, expected)) in rows.iter().enumerate() {
            let answer = self.tell(did.clone());
            assert_eq!(&answer, expected, "row {row}: the server did {did:?}");
        }
    }

    pub(super) fn tell(&mut self, did: Did) -> String {
        match did {
            Did::Page(version, token) => self.page(version, Some(token), 1, false),
            Did::EmptyPage(version, token) => self.page(version, Some(token), 0, false),
            Did::Listed(version) => self.page(version, None, 1, false),
            Did::ListedAnother(version) => self.page(version, None, 1, true),
            Did::Opened => {
                self.handle(Input::Opened);
                assert!(matches!(self.action, Action::Read { .. }), "{:?}", self.action);
                "good".to_owned()
            }
            Did::Changed(version) => self.event(EventKind::Change, version),
            Did::Bookmark(version) => self.event(EventKind::Bookmark, version),
            Did::InitialEnd(version) => self.event(EventKind::InitialEventsEnd, version),
            Did::InitialEndOfAnother(version) => {
                self.handle_event(EventKind::Change, "1");
                self.handle(Input::Collected(contradiction(true)));
                self.event(EventKind::InitialEventsEnd, version)
            }
            Did::Closed => {
                let report = self.handle(Input::Closed);
                format!("{}{}", describe(&self.action), reported(report.as_ref()))
            }
            Did::Failed(error) => {
                let report = self.handle(Input::Failed(error));
                if self.is_checking() {
                    assert!(report.is_none(), "{report:?}");
                    return "check".to_owned();
                }
                format!("{}{}", describe(&self.action), absence(report))
            }
            Did::Discovered(served) => {
                if !self.is_checking() {
                    return format!("no check, but {}", describe(&self.action));
                }
                let report = self.handle(Input::Served(served));
                let mut removed = String::new();
                if let Action::RemoveKind { version } = &self.action {
                    removed = format!("gone at {version}, ");
                    self.handle(Input::Applied);
                }
                format!("{removed}{}{}", describe(&self.action), absence(report))
            }
            Did::Nothing => {
                let deadline = self.deadline();
                let silence = deadline - self.now;
                self.now = deadline;
                let report = self.handle(Input::TimedOut);
                format!(
                    "{silence:?}: {}{}",
                    describe(&self.action),
                    reported(report.as_ref())
                )
            }
            Did::Passed(time) => {
                self.now += time;
                "good".to_owned()
            }
            Did::Waited => {
                let Action::Wait(wait) = self.action else {
                    return format!("there is no wait, but {}", describe(&self.action));
                };
                self.now += wait;
                let report = self.handle(Input::Waited);
                assert!(report.is_none(), "{report:?}");
                describe(&self.action)
            }
        }
    }

    pub(super) fn page(
        &mut self,
        version: &str,
        token: Option<&str>,
        objects: usize,
        contradicted: bool,
    ) -> String {
        let report = self.handle(Input::Page {
            version: version.into(),
            continue_token: token.map(str::to_owned),
            objects,
            contradiction: contradiction(contradicted),
        });
        let replaced = self.replaced().map_or(String::new(), |at| format!("{at}, "));
        format!(
            "{replaced}{}{}",
            describe(&self.action),
            reported(report.as_ref())
        )
    }

    fn event(&mut self, kind: EventKind, version: &str) -> String {
        let report = self.handle_event(kind, version);
        match self.action {
            Action::Apply(()) => {
                self.handle(Input::Applied);
                "apply".to_owned()
            }
            Action::Collect(()) => {
                self.handle(Input::Collected(None));
                "collect".to_owned()
            }
            Action::Read { .. } => "skip".to_owned(),
            Action::Replace { .. } => self.replaced().unwrap_or_default(),
            _ => format!("leave, {}{}", describe(&self.action), reported(report.as_ref())),
        }
    }

    fn handle_event(&mut self, kind: EventKind, version: &str) -> Option<Error> {
        self.handle(Input::Event {
            kind,
            version: version.into(),
            event: (),
        })
    }

    /// The cache is replaced, if that is the next action.
    fn replaced(&mut self) -> Option<String> {
        let Action::Replace { version, cause } = &self.action else {
            return None;
        };
        let text = format!("whole at {version}");
        self.cause = *cause;
        self.handle(Input::Applied);
        Some(text)
    }

    /// Gives the machine the result of its action, and returns what it reports.
    fn handle(&mut self, input: Input<()>) -> Option<Error> {
        let Decision { action, report } = self.machine.handle(self.now, input);
        self.action = action;
        self.began = self.now;
        report
    }

    pub(super) fn start_over(&mut self) {
        let report = self.handle(Input::StartOver);
        assert!(report.is_none(), "{report:?}");
    }

    pub(super) fn is_checking(&self) -> bool {
        matches!(self.action, Action::CheckServed { .. })
    }

    /// Whether a listed object of this version would contradict the cache.
    pub(super) fn contradicts(&self, version: &str) -> bool {
        match &self.action {
            Action::List {
                begin: Some(trust), ..
            }
            | Action::Watch {
                begin: Some(trust), ..
            } => trust.is_contradicted_by(&version.into()),
            _ => false,
        }
    }

    /// When the driver gives up the action.
    pub(super) fn deadline(&self) -> Instant {
        match &self.action {
            Action::List {
                silence, deadline, ..
            } => (self.now + *silence).min(*deadline),
            Action::Watch { timeout, .. } | Action::CheckServed { timeout } => self.began + *timeout,
            Action::Read { deadline } => *deadline,
            other => panic!("{other:?} has no deadline"),
        }
    }
}

/// An object of any version.
fn contradiction(is_there: bool) -> Contradiction {
    is_there.then(|| ResourceVersion::from("1"))
}

pub(super) fn describe(action: &Action) -> String {
    match action {
        Action::Wait(wait) => format!("wait {wait:?}"),
        Action::Watch { request, begin, .. } => {
            let verb = match (request.initial_events, begin.is_some()) {
                (true, true) => "stream",
                (false, false) => "watch",
                _ => return format!("{action:?}"),
            };
            format!(
                "{verb} {}",
                request.resource_version.as_deref().unwrap_or("newest")
            )
        }
        Action::List { request, begin, .. } => {
            let version = request.resource_version.as_deref().unwrap_or("newest");
            let mut text = match (&request.continue_token, begin.is_some()) {
                (None, true) => format!("list {version}"),
                (Some(token), false) if request.resource_version.is_none() => format!("page {token}"),
                _ => format!("{action:?}"),
            };
            if let Some(limit) = request.limit {
                write!(text, " by {limit}").expect("a String takes everything");
            }
            text
        }
        Action::CheckServed { .. } => "check".to_owned(),
        other => format!("{other:?}"),
    }
}

/// A failure is always reported; the text names the report only if it is about a kind that is not served.
fn absence(report: Option<Error>) -> &'static str {
    let report = report.expect("a failure is reported");
    reported(Some(&report).filter(|report| report.is_not_served()))
}

fn reported(report: Option<&Error>) -> &'static str {
    match report.map(Error::problem) {
        None => "",
        Some(Problem::VeryShortWatch) => " !very short",
        Some(Problem::StalledWatch(_)) => " !stalled",
        Some(Problem::NoStreamingList(_)) => " !no streaming",
        Some(Problem::WentBack { .. }) => " !went back",
        Some(Problem::Behind { .. }) => " !behind",
        Some(Problem::BadData(_)) => " !bad data",
        Some(Problem::Transport(_)) => " !transport",
        Some(Problem::NotServed { stage, .. }) => match stage {
            UnservedStage::Found => " !not served",
            UnservedStage::Still => " !still not served",
            UnservedStage::Gone => " !no longer served",
        },
        Some(_) => " !something else",
    }
}

pub(super) fn seconds(seconds: u64) -> Did {
    Did::Passed(Duration::from_secs(seconds))
}

pub(super) fn millis(millis: u64) -> Did {
    Did::Passed(Duration::from_millis(millis))
}

fn status(code: u16, reason: &str, message: &str) -> StatusError {
    StatusError {
        code,
        reason: reason.to_owned(),
        message: message.to_owned(),
        ..StatusError::default()
    }
}

/// The server answers this code.
pub(super) fn answers(code: u16) -> Did {
    Did::Failed(Error::status(status(code, "", "")))
}

/// The server answers this code and wants to be left alone.
pub(super) fn answers_later(code: u16, retry_after: u64) -> Did {
    Did::Failed(Error::status(StatusError {
        retry_after: Some(Duration::from_secs(retry_after)),
        ..status(code, "", "")
    }))
}

pub(super) fn expired() -> Did {
    Did::Failed(Error::status(status(410, "Expired", "too old resource version")))
}

pub(super) fn refused() -> Did {
    Did::Failed(Error::connect("connection refused"))
}

pub(super) fn broke() -> Did {
    Did::Failed(Error::transport("the connection broke", "reset"))
}

pub(super) fn bad_data() -> Did {
    Did::Failed(Error::bad_data("rubbish"))
}

/// The three ways in which servers have said that a version is ahead of them.
pub(super) fn too_large() -> [Did; 3] {
    let cause = StatusError {
        causes: vec!["ResourceVersionTooLarge".to_owned()],
        ..status(504, "Timeout", "Too large resource version: 20, current: 10")
    };
    [
        cause,
        status(504, "Timeout", "Too large resource version: 20, current: 10"),
        status(
            500,
            "InternalError",
            "Too large resource version: 20, current: 10",
        ),
    ]
    .map(|status| Did::Failed(Error::status(status)))
}

/// The driver never returns a result that its action does not document, but a bug there must not stop the informer.
#[test]
fn contract_12_an_unexpected_result_is_reported_and_the_list_starts_again() {
    let mut play = play(plain(), "list 0 by 500", &[]);
    let report = play.handle(Input::Waited).expect("it is reported").to_string();
    assert!(
        report.contains("internal error") && report.contains("the end of a wait in Listing"),
        "{report}"
    );
    assert_eq!(describe(&play.action), "wait 800ms");
    play.go_on(&[(Did::Waited, "list 0 by 500")]);
}
