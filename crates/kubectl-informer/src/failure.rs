//! Failures of commands, with advice for the user.

use std::error::Error as StdError;
use std::fmt;
use std::io;

use crate::stop::Signal;

/// Another line of advice where no cluster is available; empty without the demo.
pub(crate) const DEMO_HINT: &str = if cfg!(feature = "demo") {
    "\n`kubectl-informer demo` needs no cluster: it brings its own."
} else {
    ""
};

/// The result of a command.
pub(crate) type Outcome<T = ()> = Result<T, Failure>;

/// The failure of a command.
#[derive(Debug)]
pub(crate) struct Failure {
    what: String,
    advice: Option<String>,
    kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Failed,
    /// The arguments were invalid.
    Usage,
    /// The reader of the output is gone, for example `head`. This is not an error.
    ReaderGone,
    /// A signal ended the command before its result. Shells have an exit code for that.
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

    /// Adds advice.
    pub(crate) fn advise(self, advice: impl Into<String>) -> Failure {
        Failure {
            advice: Some(advice.into()),
            ..self
        }
    }

    /// Returns the exit code of the process.
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

#[cfg(feature = "demo")]
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

#[cfg(feature = "demo")]
impl From<Box<dyn StdError>> for Failure {
    fn from(error: Box<dyn StdError>) -> Failure {
        Failure::new(chain(&*error))
    }
}

fn advice(error: &kube_informer::Error) -> Option<String> {
    if error.is_connection() {
        Some(format!(
            "Is the cluster up, and is this the context you meant (--context, --kubeconfig)?{DEMO_HINT}"
        ))
    } else if error.is_unknown_resource() {
        Some("`kubectl api-resources` lists everything that the server serves.".to_owned())
    } else {
        None
    }
}

/// Returns an error with its causes on one line, without repeating causes whose text is included already.
pub(crate) fn chain(error: &dyn StdError) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        let message = cause.to_string();
        if !text.contains(&message) {
            text.push_str(": ");
            text.push_str(&message);
        }
        next = cause.source();
    }
    text
}
