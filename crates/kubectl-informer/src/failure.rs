//! Failures of commands, with hints for the user.

use std::error::Error as StdError;
use std::fmt;
use std::io;

use crate::stop::Signal;

/// Another hint for commands without a cluster; empty without the demo.
pub(crate) const DEMO_HINT: &str = if cfg!(feature = "demo") {
    "\nhint: `kubectl-informer demo` needs no cluster"
} else {
    ""
};

/// The result of a command.
pub(crate) type Outcome<T = ()> = Result<T, Failure>;

/// The failure of a command.
#[derive(Debug)]
pub(crate) struct Failure {
    message: String,
    hint: Option<String>,
    kind: FailureKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FailureKind {
    Failed,
    /// The arguments were invalid.
    Usage,
    /// The reader of the output is gone, for example `head`. This is not an error.
    ReaderGone,
    /// A signal ended the command before its result. Shells have an exit code for that.
    Stopped(Signal),
}

impl Failure {
    pub(crate) fn new(message: impl Into<String>) -> Failure {
        Failure {
            message: message.into(),
            hint: None,
            kind: FailureKind::Failed,
        }
    }

    pub(crate) fn usage(message: impl Into<String>) -> Failure {
        Failure {
            kind: FailureKind::Usage,
            ..Failure::new(message)
        }
    }

    pub(crate) fn stopped(signal: Signal) -> Failure {
        Failure {
            kind: FailureKind::Stopped(signal),
            ..Failure::new("stopped before the result was complete")
        }
    }

    /// Adds a hint.
    pub(crate) fn with_hint(self, hint: impl Into<String>) -> Failure {
        Failure {
            hint: Some(hint.into()),
            ..self
        }
    }

    /// Returns the exit code of the process.
    pub(crate) fn exit_code(&self) -> u8 {
        match self.kind {
            FailureKind::ReaderGone => 0,
            FailureKind::Failed => 1,
            FailureKind::Usage => 2,
            FailureKind::Stopped(Signal::Interrupt) => 130,
            FailureKind::Stopped(Signal::Terminate) => 143,
        }
    }

    pub(crate) fn is_silent(&self) -> bool {
        matches!(self.kind, FailureKind::ReaderGone | FailureKind::Stopped(_))
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        match &self.hint {
            Some(hint) => write!(f, "\nhint: {hint}"),
            None => Ok(()),
        }
    }
}

impl StdError for Failure {}

impl From<kube_informer::Error> for Failure {
    fn from(error: kube_informer::Error) -> Failure {
        let failure = Failure::new(chain(&error));
        match hint(&error) {
            Some(hint) => failure.with_hint(hint),
            None => failure,
        }
    }
}

#[cfg(feature = "demo")]
impl From<kube_embedded::Error> for Failure {
    fn from(error: kube_embedded::Error) -> Failure {
        let failure = Failure::new(chain(&error));
        match error.hint() {
            Some(hint) => failure.with_hint(hint),
            None => failure,
        }
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Failure {
        let kind = match error.kind() {
            io::ErrorKind::BrokenPipe => FailureKind::ReaderGone,
            _ => FailureKind::Failed,
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

fn hint(error: &kube_informer::Error) -> Option<String> {
    if error.is_connection() {
        Some(format!(
            "check that the cluster is running and the context is correct (--context, --kubeconfig){DEMO_HINT}"
        ))
    } else if error.is_unknown_resource() {
        Some("`kubectl api-resources` lists the resources of the server".to_owned())
    } else {
        None
    }
}

/// Returns an error with its causes on one line, without repeating causes whose text is included already. Hints follow, each on
/// its own line.
pub(crate) fn chain(error: &dyn StdError) -> String {
    const HINT: &str = "\nhint: ";
    let (mut text, mut hints) = (String::new(), String::new());
    let mut next = Some(error);
    while let Some(cause) = next {
        let message = cause.to_string();
        let (message, hint) = message.split_at(message.find(HINT).unwrap_or(message.len()));
        if !text.contains(message) {
            if !text.is_empty() {
                text.push_str(": ");
            }
            text.push_str(message);
        }
        if !hints.contains(hint) {
            hints.push_str(hint);
        }
        next = cause.source();
    }
    text + &hints
}
