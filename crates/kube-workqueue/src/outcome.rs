//! Results of processing an item.

use std::error::Error;
use std::fmt;
use std::time::Duration;

/// What a worker's function returns for an item.
///
/// # Examples
/// ```
/// use kube_workqueue::{Outcome, Task};
/// use std::time::Duration;
///
/// async fn reconcile(name: Task<String>) -> Result<Outcome, std::io::Error> {
///     if name.starts_with("draft/") {
///         return Ok(Outcome::Done);
///     }
///     if name.attempt() > 5 {
///         return Ok(Outcome::GiveUp("failed five times".to_owned()));
///     }
///     std::fs::metadata(&**name)?; // after an error the item is retried with backoff
///     Ok(Outcome::RequeueAfter(Duration::from_secs(3_600)))
/// }
/// ```
#[doc(alias("reconcile.Result", "Action", "TerminalError"))]
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The item succeeded. Its failures are forgotten.
    Done,
    /// The item succeeded, and is queued again after this time. Its failures are forgotten.
    RequeueAfter(Duration),
    /// The item is retried with backoff, as after an error.
    Requeue,
    /// The item failed and is not retried, for this reason. Its failures are forgotten. Adding it again queues it again.
    GiveUp(String),
}

/// Return types of workers' functions: nothing, an [`Outcome`], or a `Result` of them. After an error the item is retried
/// with backoff.
///
/// See [`Outcome`] for an example.
pub trait IntoOutcome {
    /// Returns the outcome.
    ///
    /// # Errors
    /// The message of the error that the function returned.
    fn into_outcome(self) -> Result<Outcome, String>;
}

impl IntoOutcome for () {
    fn into_outcome(self) -> Result<Outcome, String> {
        Ok(Outcome::Done)
    }
}

impl IntoOutcome for Outcome {
    fn into_outcome(self) -> Result<Outcome, String> {
        Ok(self)
    }
}

/// The message of an error contains the messages of its sources.
impl<O: IntoOutcome, E: Into<Box<dyn Error + Send + Sync>>> IntoOutcome for Result<O, E> {
    fn into_outcome(self) -> Result<Outcome, String> {
        match self {
            Ok(outcome) => outcome.into_outcome(),
            Err(error) => Err(with_sources(&*error.into())),
        }
    }
}

fn with_sources(error: &dyn Error) -> String {
    let mut message = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        message = format!("{message}: {error}");
        source = error.source();
    }
    message
}

/// Result of one attempt: the outcome of the function, or the reason why there is none. Logs, statistics,
/// metrics and retries all depend on this.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum AttemptResult {
    Returned(Outcome),
    Error(String),
    Panic(String),
    /// The attempt exceeded its deadline.
    Timeout(Duration),
}

impl AttemptResult {
    /// Values of the metric label `result`, in the order of [`AttemptResult::label_index`].
    #[cfg_attr(not(feature = "metrics"), expect(dead_code, reason = "only metrics use it"))]
    pub(crate) const LABELS: [&str; 7] = [
        "done",
        "requeue_after",
        "requeue",
        "give_up",
        "error",
        "panic",
        "timeout",
    ];

    /// Returns the index of this result's label.
    #[cfg_attr(not(feature = "metrics"), expect(dead_code, reason = "only metrics use it"))]
    pub(crate) fn label_index(&self) -> usize {
        match self {
            AttemptResult::Returned(Outcome::Done) => 0,
            AttemptResult::Returned(Outcome::RequeueAfter(_)) => 1,
            AttemptResult::Returned(Outcome::Requeue) => 2,
            AttemptResult::Returned(Outcome::GiveUp(_)) => 3,
            AttemptResult::Error(_) => 4,
            AttemptResult::Panic(_) => 5,
            AttemptResult::Timeout(_) => 6,
        }
    }
}

impl fmt::Display for AttemptResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AttemptResult::Returned(outcome) => write!(f, "{outcome:?}"),
            AttemptResult::Error(message) => f.write_str(message),
            AttemptResult::Panic(message) => write!(f, "panicked: {message}"),
            AttemptResult::Timeout(deadline) => write!(f, "exceeded the deadline of {deadline:?}"),
        }
    }
}
