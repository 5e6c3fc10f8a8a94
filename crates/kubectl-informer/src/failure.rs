//! What went wrong, for the person at the terminal: what, and what to do about it.

use std::error::Error as StdError;
use std::fmt;
use std::io;

use crate::stop::Signal;

/// How a command ends.
pub(crate) type Outcome<T = ()> = Result<T, Failure>;

/// Why a command could not do its work.
#[derive(Debug)]
pub(crate) struct Failure {
    what: String,
    advice: Option<String>,
    kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Failed,
    /// The command was not asked in the right way.
    Usage,
    /// Nobody reads what is printed any more. That is how `head` ends the programs before it, and no failure.
    ReaderGone,
    /// It was told to end before it had its answer. Shells have a code for that.
    Stopped(Signal),
}

impl Failure {
    pub(crate) fn new(what: impl Into<String>) -> Failure {
        Failure {
            what: what.into(),
            advice: None,
            kind: Kind::Failed,
        }
    }

    pub(crate) fn usage(what: impl Into<String>) -> Failure {
        Failure {
            kind: Kind::Usage,
            ..Failure::new(what)
        }
    }

    pub(crate) fn stopped(signal: Signal) -> Failure {
        Failure {
            kind: Kind::Stopped(signal),
            ..Failure::new("stopped before there was an answer")
        }
    }

    /// Says what to do.
    pub(crate) fn advise(self, advice: impl Into<String>) -> Failure {
        Failure {
            advice: Some(advice.into()),
            ..self
        }
    }

    /// The code that the process ends with.
    pub(crate) fn exit_code(&self) -> u8 {
        match self.kind {
            Kind::ReaderGone => 0,
            Kind::Failed => 1,
            Kind::Usage => 2,
            Kind::Stopped(Signal::Interrupt) => 130,
            Kind::Stopped(Signal::Terminate) => 143,
        }
    }

    pub(crate) fn is_silent(&self) -> bool {
        matches!(self.kind, Kind::ReaderGone | Kind::Stopped(_))
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)?;
        match &self.advice {
            Some(advice) => write!(f, "\n{advice}"),
            None => Ok(()),
        }
    }
}

impl StdError for Failure {}

impl From<kube_informer::Error> for Failure {
    fn from(error: kube_informer::Error) -> Failure {
        let failure = Failure::new(chain(&error));
        match advice(&error) {
            Some(advice) => failure.advise(advice),
            None => failure,
        }
    }
}

impl From<kube_embedded::Error> for Failure {
    fn from(error: kube_embedded::Error) -> Failure {
        let failure = Failure::new(chain(&error));
        match error.hint() {
            Some(hint) => failure.advise(format!("hint: {hint}")),
            None => failure,
        }
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Failure {
        let kind = match error.kind() {
            io::ErrorKind::BrokenPipe => Kind::ReaderGone,
            _ => Kind::Failed,
        };
        Failure {
            kind,
            ..Failure::new(chain(&error))
        }
    }
}

impl From<Box<dyn StdError>> for Failure {
    fn from(error: Box<dyn StdError>) -> Failure {
        Failure::new(chain(&*error))
    }
}

fn advice(error: &kube_informer::Error) -> Option<&'static str> {
    if error.is_connection() {
        Some(
            "Is the cluster up, and is this the context you meant (--context, --kubeconfig)?\n\
             `kubectl-informer demo` needs no cluster: it brings its own.",
        )
    } else if error.is_unknown_resource() {
        Some("`kubectl api-resources` lists everything that the server serves.")
    } else {
        None
    }
}

/// An error with its causes, on one line. What an error has said already is not said again as its cause.
pub(crate) fn chain(error: &dyn StdError) -> String {
    let mut said = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        let words = cause.to_string();
        if !said.contains(&words) {
            said.push_str(": ");
            said.push_str(&words);
        }
        next = cause.source();
    }
    said
}
