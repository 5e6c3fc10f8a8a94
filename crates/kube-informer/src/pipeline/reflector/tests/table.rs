//! Tables of server actions and the machine's next actions.
//!
//! A row is a pair: the server action, and the machine's next action as text. `list 0 by 500` is a list at
//! any version in pages of 500, `list newest` one without a version, `page t1` the next page, `stream 10` a
//! streaming list at version 10 or later, `watch 10` a watch from there, `wait 800ms` a pause. `check` asks
//! discovery whether the kind is served, and `remove at 10` empties the cache. A report to the watch-error
//! handler follows a `!`, unless it is the failure itself.

use std::fmt::Write as _;
use std::time::Duration;

use tokio::time::Instant;

use crate::error::{Error, Problem, StatusError, UnservedStage};
use crate::measures::RelistCause;
use crate::object::ResourceVersion;
use crate::pipeline::reflector::Backoff;
use crate::pipeline::reflector::machine::{self, Contradiction, Decision, Input, Machine, Settings};

/// Events have no content in these tests.
pub(super) type Action = machine::Action<()>;

/// An action of the server.
#[derive(Debug, Clone)]
pub(super) enum ServerAction {
    /// A page of a list with objects, and the token of the next page.
    Page(&'static str, &'static str),
    /// A page without objects, and the token of the next page.
    EmptyPage(&'static str, &'static str),
    /// The last or only page of a list.
    Listed(&'static str),
    /// The last page of a list with an object that contradicts the cache.
    ListedAnother(&'static str),
    /// The server responds to the watch.
    Opened,
    /// An object changed.
    Changed(&'static str),
    Bookmark(&'static str),
    /// The bookmark that ends the initial events.
    InitialEnd(&'static str),
    /// The bookmark that ends the initial events, after an object that contradicts the cache.
    InitialEndOfAnother(&'static str),
    /// The watch ends without an error.
    Closed,
    /// The request fails, or the watch ends with an error.
    Failed(Error),
    /// Discovery returns whether the kind is served, or fails.
    Discovered(Option<bool>),
    /// No response until the deadline of the action.
    Nothing,
    /// No response for this duration.
    Passed(Duration),
    /// The wait of the machine is over.
    Waited,
}

/// A machine, the time, and the machine's next action.
pub(super) struct MachineTest {
    machine: Machine,
    pub(super) now: Instant,
    pub(super) action: Action,
    /// When the action began.
    began: Instant,
    /// The cause of the last replaced cache, or `None` for the first list.
    pub(super) cause: Option<RelistCause>,
}

/// Returns settings without random waits, so that tables can contain them.
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

/// Returns settings without streaming lists.
pub(super) fn plain() -> Settings {
    Settings {
        streaming: false,
        ..steady()
    }
}

/// Runs a table from the start of the machine.
#[track_caller]
pub(super) fn play(settings: Settings, first: &str, rows: &[(ServerAction, &str)]) -> MachineTest {
    let now = Instant::now();
    let (machine, action) = Machine::new(settings, now);
    assert_eq!(describe(&action), first, "the first request");
    let mut play = MachineTest {
        machine,
        now,
        action,
        began: now,
        cause: None,
    };
    play.run(rows);
    play
}

impl MachineTest {
    #[track_caller]
    pub(super) fn run(&mut self, rows: &[(ServerAction, &str)]) {
        for (row, (step, expected)) in rows.iter().enumerate() {
            let answer = self.apply(step.clone());
            assert_eq!(&answer, expected, "row {row}: after {step:?}");
        }
    }

    pub(super) fn apply(&mut self, step: ServerAction) -> String {
        match step {
            ServerAction::Page(version, token) => self.page(version, Some(token), 1, false),
            ServerAction::EmptyPage(version, token) => self.page(version, Some(token), 0, false),
            ServerAction::Listed(version) => self.page(version, None, 1, false),
            ServerAction::ListedAnother(version) => self.page(version, None, 1, true),
            ServerAction::Opened => {
                self.handle(Input::Opened);
                assert!(matches!(self.action, Action::Read { .. }), "{:?}", self.action);
                "good".to_owned()
            }
            ServerAction::Changed(version) => self.event(changed(version)),
            ServerAction::Bookmark(version) => self.event(bookmark(version, false, false)),
            ServerAction::InitialEnd(version) => self.event(bookmark(version, true, false)),
            ServerAction::InitialEndOfAnother(version) => {
                self.handle(changed("1"));
                self.handle(Input::Collected);
                self.event(bookmark(version, true, true))
            }
            ServerAction::Closed => {
                let report = self.handle(Input::Closed);
                format!("{}{}", describe(&self.action), reported(report.as_ref()))
            }
            ServerAction::Failed(error) => {
                let report = self.handle(Input::Failed(error));
                if self.is_checking() {
                    assert!(report.is_none(), "{report:?}");
                    return "check".to_owned();
                }
                format!("{}{}", describe(&self.action), absence(report))
            }
            ServerAction::Discovered(served) => {
                if !self.is_checking() {
                    return format!("no check, but {}", describe(&self.action));
                }
                let report = self.handle(Input::Served(served));
                let mut removed = String::new();
                if let Action::RemoveKind { version } = &self.action {
                    removed = format!("remove at {version}, ");
                    self.handle(Input::Applied);
                }
                format!("{removed}{}{}", describe(&self.action), absence(report))
            }
            ServerAction::Nothing => {
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
            ServerAction::Passed(time) => {
                self.now += time;
                "good".to_owned()
            }
            ServerAction::Waited => {
                let (Action::Wait(wait) | Action::WaitForPage(wait)) = self.action else {
                    return format!("expected a wait, but got {}", describe(&self.action));
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

    fn event(&mut self, input: Input<()>) -> String {
        let report = self.handle(input);
        match self.action {
            Action::Apply { .. } | Action::ApplyBookmark(_) => {
                self.handle(Input::Applied);
                "apply".to_owned()
            }
            Action::Collect { .. } => {
                self.handle(Input::Collected);
                "collect".to_owned()
            }
            Action::Read { .. } => "skip".to_owned(),
            Action::Replace { .. } => self.replaced().unwrap_or_default(),
            _ => format!("leave, {}{}", describe(&self.action), reported(report.as_ref())),
        }
    }

    /// Replaces the cache, if that is the next action.
    fn replaced(&mut self) -> Option<String> {
        let Action::Replace { version, cause } = &self.action else {
            return None;
        };
        let text = format!("replace at {version}");
        self.cause = *cause;
        self.handle(Input::Applied);
        Some(text)
    }

    /// Passes the result of an action to the machine and returns the error that it reports.
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

    /// Returns whether a listed object of this version would contradict the cache.
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

    /// Returns the deadline of the action.
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

fn changed(version: &str) -> Input<()> {
    Input::Event {
        version: version.into(),
        object: (),
        is_deleted: false,
    }
}

fn bookmark(version: &str, ends_initial_events: bool, contradicted: bool) -> Input<()> {
    Input::Bookmark {
        version: version.into(),
        ends_initial_events,
        contradiction: contradiction(contradicted),
    }
}

/// Returns a contradiction by an object of any version.
fn contradiction(exists: bool) -> Contradiction {
    exists.then(|| ResourceVersion::from("1"))
}

pub(super) fn describe(action: &Action) -> String {
    match action {
        Action::Wait(wait) | Action::WaitForPage(wait) => format!("wait {wait:?}"),
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

/// Failures are always reported; the text contains the report only for a kind that is not served.
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
            UnservedStage::New => " !not served",
            UnservedStage::Unchanged => " !still not served",
            UnservedStage::Removed => " !no longer served",
        },
        Some(_) => " !something else",
    }
}

pub(super) fn seconds(seconds: u64) -> ServerAction {
    ServerAction::Passed(Duration::from_secs(seconds))
}

pub(super) fn millis(millis: u64) -> ServerAction {
    ServerAction::Passed(Duration::from_millis(millis))
}

fn status(code: u16, reason: &str, message: &str) -> StatusError {
    StatusError {
        code,
        reason: reason.to_owned(),
        message: message.to_owned(),
        ..StatusError::default()
    }
}

/// The server responds with this code.
pub(super) fn answers(code: u16) -> ServerAction {
    ServerAction::Failed(Error::status(status(code, "", "")))
}

/// The server responds with this code and a `Retry-After`.
pub(super) fn answers_later(code: u16, retry_after: u64) -> ServerAction {
    ServerAction::Failed(Error::status(StatusError {
        retry_after: Some(Duration::from_secs(retry_after)),
        ..status(code, "", "")
    }))
}

pub(super) fn expired() -> ServerAction {
    ServerAction::Failed(Error::status(status(410, "Expired", "too old resource version")))
}

pub(super) fn refused() -> ServerAction {
    ServerAction::Failed(Error::connect("connection refused"))
}

pub(super) fn broke() -> ServerAction {
    ServerAction::Failed(Error::transport("the connection broke", "reset"))
}

pub(super) fn bad_data() -> ServerAction {
    ServerAction::Failed(Error::bad_data("rubbish"))
}

/// The three ways in which servers report that a version is ahead of them.
pub(super) fn too_large() -> [ServerAction; 3] {
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
    .map(|status| ServerAction::Failed(Error::status(status)))
}

/// The driver returns only documented results, but a bug there must not stop the informer.
#[test]
fn contract_12_an_unexpected_result_is_reported_and_the_list_starts_again() {
    let mut play = play(plain(), "list 0 by 500", &[]);
    let report = play.handle(Input::Waited).expect("it is reported").to_string();
    assert!(
        report.contains("internal error") && report.contains("Waited in Listing"),
        "{report}"
    );
    assert_eq!(describe(&play.action), "wait 800ms");
    play.run(&[(ServerAction::Waited, "list 0 by 500")]);
}
