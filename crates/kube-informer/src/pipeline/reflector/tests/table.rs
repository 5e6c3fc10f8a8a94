//! Tables of what a server does and what the machine does next.
//!
//! A row is a pair: what the server did, and the machine's answer in words. `list 0 by 500` is a list at any version in
//! pages of 500, `list newest` one without a version, `page t1` the next page, `stream 10` a streaming list not older
//! than version 10, `watch 10` a watch from there, `wait 800ms` a pause. `check` asks whether the kind is served, and
//! `gone at 10` empties the cache. What is told to the watch-error handler stands behind a `!`, unless it is the failure
//! itself.

use std::fmt::Write as _;
use std::time::Duration;

use tokio::time::Instant;

use crate::error::{Absent, Error, Problem, StatusError};
use crate::object::ResourceVersion;
use crate::pipeline::reflector::Backoff;
use crate::pipeline::reflector::machine::{
    Action, Checked, Failed, Listed, Machine, Next, Seen, Settings, Verdict,
};

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

/// A machine, the time, and what the machine wants next.
pub(super) struct Play {
    pub(super) machine: Machine,
    pub(super) now: Instant,
    pub(super) action: Action,
    /// The failure after which the machine wants to know whether the kind is served.
    pub(super) checking: Option<Error>,
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
        checking: None,
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
                self.machine.opened(self.now);
                "good".to_owned()
            }
            Did::Changed(version) => self.event(Seen::Change(version.into())),
            Did::Bookmark(version) => self.event(bookmark(version, false)),
            Did::InitialEnd(version) => self.event(bookmark(version, true)),
            Did::InitialEndOfAnother(version) => self.event_after(bookmark(version, true), true),
            Did::Closed => {
                let next = self.machine.closed(self.now);
                self.take(next)
            }
            Did::Failed(error) => match self.machine.failed(self.now, error) {
                Failed::Next(next) => self.take_failure(next),
                Failed::Check(failure) => {
                    self.checking = Some(failure);
                    "check".to_owned()
                }
            },
            Did::Discovered(served) => {
                let Some(failure) = self.checking.take() else {
                    return "nobody asked".to_owned();
                };
                let Checked { gone, next } = self.machine.checked(self.now, failure, served);
                let gone = gone.map_or(String::new(), |version| format!("gone at {version}, "));
                format!("{gone}{}", self.take_failure(next))
            }
            Did::Nothing => {
                let deadline = self.machine.deadline(self.now);
                let silence = deadline - self.now;
                self.now = deadline;
                let next = self.machine.timed_out(self.now);
                format!("{silence:?}: {}", self.take(next))
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
                self.action = self.machine.waited(self.now);
                describe(&self.action)
            }
        }
    }

    pub(super) fn page(
        &mut self,
        version: &str,
        token: Option<&str>,
        items: usize,
        contradicted: bool,
    ) -> String {
        let version = ResourceVersion::from(version);
        match self.machine.listed(
            self.now,
            version,
            token.map(str::to_owned),
            items,
            contradiction(contradicted).as_ref(),
        ) {
            Listed::Continue(next) => self.take(next),
            Listed::Whole { version, next } => format!("whole at {version}, {}", self.take(next)),
        }
    }

    fn event(&mut self, seen: Seen) -> String {
        self.event_after(seen, false)
    }

    fn event_after(&mut self, seen: Seen, contradicted: bool) -> String {
        match self
            .machine
            .event(self.now, seen, contradiction(contradicted).as_ref())
        {
            Verdict::Apply => "apply".to_owned(),
            Verdict::Collect => "collect".to_owned(),
            Verdict::Skip => "skip".to_owned(),
            Verdict::Whole(version) => format!("whole at {version}"),
            Verdict::Leave(next) => format!("leave, {}", self.take(next)),
        }
    }

    fn take_failure(&mut self, next: Next) -> String {
        self.action = next.action;
        let complaint = next.complaint.expect("a failure is told");
        let served = complained(Some(&complaint).filter(|complaint| complaint.is_not_served()));
        format!("{}{served}", describe(&self.action))
    }

    fn take(&mut self, next: Next) -> String {
        self.action = next.action;
        format!(
            "{}{}",
            describe(&self.action),
            complained(next.complaint.as_ref())
        )
    }
}

/// An object of any version.
fn contradiction(is_there: bool) -> Option<ResourceVersion> {
    is_there.then(|| ResourceVersion::from("1"))
}

fn bookmark(version: &str, initial_events_end: bool) -> Seen {
    Seen::Bookmark {
        version: version.into(),
        initial_events_end,
    }
}

pub(super) fn describe(action: &Action) -> String {
    match action {
        Action::Wait(wait) => format!("wait {wait:?}"),
        Action::Watch(request) => {
            let verb = if request.initial_events { "stream" } else { "watch" };
            format!(
                "{verb} {}",
                request.resource_version.as_deref().unwrap_or("newest")
            )
        }
        Action::List { request, fresh } => {
            let version = request.resource_version.as_deref().unwrap_or("newest");
            let mut text = match (&request.continue_token, fresh) {
                (None, true) => format!("list {version}"),
                (Some(token), false) if request.resource_version.is_none() => format!("page {token}"),
                _ => format!("{request:?}, fresh {fresh}"),
            };
            if let Some(limit) = request.limit {
                write!(text, " by {limit}").expect("a String takes everything");
            }
            text
        }
    }
}

fn complained(complaint: Option<&Error>) -> &'static str {
    match complaint.map(Error::problem) {
        None => "",
        Some(Problem::VeryShortWatch) => " !very short",
        Some(Problem::StalledWatch(_)) => " !stalled",
        Some(Problem::NoStreamingList(_)) => " !no streaming",
        Some(Problem::WentBack { .. }) => " !went back",
        Some(Problem::Behind { .. }) => " !behind",
        Some(Problem::BadData(_)) => " !bad data",
        Some(Problem::Transport(_)) => " !transport",
        Some(Problem::NotServed { absent, .. }) => match absent {
            Absent::Found => " !not served",
            Absent::Still => " !still not served",
            Absent::Gone => " !no longer served",
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
