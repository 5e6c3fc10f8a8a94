//! The messages of errors.

use std::error::Error as StdError;
use std::fmt;

use super::{
    CheckFailure, Error, NotSynced, Operation, Problem, StatusError, UnservedStage, VersionNotReached,
};
use crate::types::{ResourceVersion, WatchedResource};

/// Separates a message from its hint.
const HINT: &str = "\nhint: ";

/// `{}` prints the message of this error and its hint. `{:#}` prints the messages of this error and its causes on one line, and
/// then their hints, each on its own line.
impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if f.alternate() {
            return fmt_parts(f, &parts(self), HINT);
        }
        self.fmt_context(f)?;
        self.fmt_message(f)?;
        self.fmt_hint(f)
    }
}

impl Error {
    /// Returns the text of this error without its hint.
    pub(super) fn message(&self) -> String {
        Parts::of(self).message
    }

    /// Writes the operation and the resource.
    fn fmt_context(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.inner.context {
            Some((Operation::List, resource)) => write!(f, "listing {resource}: "),
            Some((Operation::StreamingList, resource)) => write!(f, "listing {resource} as a stream: "),
            Some((Operation::Watch, resource)) => write!(f, "watching {resource}: "),
            // These messages name the resource themselves.
            Some(_) if matches!(self.problem(), Problem::NotFound(_) | Problem::NotSynced { .. }) => Ok(()),
            Some((Operation::Cache | Operation::ConsistencyCheck, resource)) => write!(f, "{resource}: "),
            None => Ok(()),
        }
    }

    /// Writes what failed and why.
    fn fmt_message(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.problem() {
            Problem::Status(status) => status.fmt_message(f),
            Problem::Connect => f.write_str("cannot reach the server"),
            Problem::Behind { seen, at } => write!(
                f,
                "server returned version {at}, older than {seen}: requesting the most recent one"
            ),
            Problem::Transport(what) | Problem::UserCode(what) | Problem::NoClient(what) => f.write_str(what),
            Problem::Internal(what) => write!(f, "internal error: {what}"),
            Problem::BadData(what) => write!(f, "invalid response: {what}"),
            Problem::VeryShortWatch => f.write_str("the watch was closed within a second without an event"),
            Problem::StalledWatch(silence) => {
                write!(f, "no data for {silence:?}: reopening the watch")
            }
            Problem::NoStreamingList(why) => write!(f, "{why}: falling back to a plain list"),
            Problem::WentBack { from, to } => write!(
                f,
                "server version went back from {from} to {to}: rebuilding the cache"
            ),
            Problem::NotServed { stage, status } => fmt_not_served(f, *stage, status, self.resource()),
            Problem::AlreadyStarted => f.write_str("the informer has already started"),
            Problem::Stopped => f.write_str("the informer is stopped and cannot be restarted"),
            Problem::InvalidKey(error) => write!(f, "{error}"),
            Problem::InformerConflict => {
                f.write_str("duplicate informer: the factory already has one of this kind")
            }
            Problem::IndexConflict(name) => write!(f, "duplicate index {name:?}"),
            Problem::NestedIndex(name) => write!(f, "cannot add index {name:?} inside an index function"),
            Problem::UnknownIndex(name) => write!(f, "unknown index {name:?}"),
            Problem::ReservedParameter { name, .. } => {
                write!(f, "invalid parameter {name:?}: it is set by the informer")
            }
            Problem::NotFound(key) => {
                if let Some(resource) = self.resource() {
                    write!(f, "{} ", resource.group_resource())?;
                }
                write!(f, "{:?} not found in the cache", key.as_str())
            }
            Problem::Discovery(problem) => problem.fmt_message(f),
            Problem::Inconsistent { found, relist } => {
                write!(f, "{found}")?;
                f.write_str(if *relist { "; relisting" } else { "" })
            }
            Problem::NotChecked(why) => fmt_not_checked(f, why),
            Problem::NotSynced { .. }
            | Problem::NotAllSynced { .. }
            | Problem::NothingStarted
            | Problem::HandlerNotSynced { .. }
            | Problem::NotReached { .. } => self.fmt_wait_failure(f),
        }
    }

    /// Writes the message of a wait that failed.
    fn fmt_wait_failure(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.problem() {
            Problem::NotSynced { why, last } => {
                if let Some(resource) = self.resource() {
                    write!(f, "{resource} ")?;
                }
                f.write_str("did not sync")?;
                match why {
                    NotSynced::TimedOut(after) => write!(f, " within {after:?}")?,
                    NotSynced::Stopped => f.write_str(" before the informer stopped")?,
                }
                // The last error is the source.
                f.write_str(if last.is_some() {
                    ""
                } else {
                    ": no errors were reported"
                })
            }
            Problem::NotAllSynced { errors, of } => match &errors[..] {
                [only] if *of == 1 => f.write_str(&only.message()),
                // The only error is the source.
                [_] => write!(f, "1 of {of} caches did not sync"),
                // An error has at most one source, so the message contains all of them.
                several => {
                    write!(f, "{} of {of} caches did not sync", several.len())?;
                    for (at, error) in several.iter().enumerate() {
                        let separator = if at == 0 { ": " } else { "; " };
                        write!(f, "{separator}{}", join_messages(&parts(error)))?;
                    }
                    Ok(())
                }
            },
            Problem::NothingStarted => f.write_str("no informer of the factory has been started"),
            Problem::HandlerNotSynced {
                handler,
                backlog,
                why,
            } => {
                write!(f, "handler {handler} has not processed all initial objects")?;
                match why {
                    NotSynced::TimedOut(after) => {
                        write!(f, " within {after:?}: {backlog} events remaining")
                    }
                    NotSynced::Stopped => f.write_str(" before it was removed or the informer stopped"),
                }
            }
            Problem::NotReached { version, at, why } => fmt_not_reached(f, version, at.as_ref(), *why),
            _ => Ok(()),
        }
    }

    /// Writes the hint, on its own line.
    fn fmt_hint(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let resource = self.resource();
        match self.problem() {
            Problem::Status(status) => match (status.code, resource) {
                (403, Some(resource)) => write!(
                    f,
                    "{HINT}grant list and watch on {} to this account",
                    resource.group_resource()
                ),
                (401, _) => write!(f, "{HINT}check the credentials"),
                (404, Some(resource)) => write!(
                    f,
                    "{HINT}is {} {} enabled on the server?",
                    resource.api_version(),
                    resource.kind()
                ),
                _ => Ok(()),
            },
            Problem::NotServed { stage, .. } if *stage != UnservedStage::Removed => match resource {
                Some(resource) if resource.may_be_custom() => write!(
                    f,
                    "{HINT}is the CustomResourceDefinition {} installed?",
                    resource.group_resource()
                ),
                _ => write!(f, "{HINT}is this API enabled on the server?"),
            },
            Problem::VeryShortWatch => {
                write!(
                    f,
                    "{HINT}a proxy between this program and the server may close it"
                )
            }
            Problem::WentBack { .. } => write!(f, "{HINT}was the server restored from a backup?"),
            Problem::Internal(_) => write!(f, "{HINT}report this bug"),
            Problem::ReservedParameter {
                setting: Some(setting),
                ..
            } => write!(f, "{HINT}use {setting}() of the builder"),
            Problem::Discovery(problem) => match problem.hint() {
                Some(hint) => write!(f, "{HINT}{hint}"),
                None => Ok(()),
            },
            Problem::Inconsistent { relist: false, .. } => write!(
                f,
                "{HINT}report this bug, and use relist_if_inconsistent() of the builder to relist"
            ),
            Problem::NotChecked(CheckFailure::NoExactLists) => {
                write!(f, "{HINT}implement ListWatch::list_exactly")
            }
            Problem::NothingStarted => write!(f, "{HINT}call start() before waiting"),
            Problem::NotAllSynced { errors, of } => match &errors[..] {
                [only] if *of == 1 => only.fmt_hint(f),
                [_] => Ok(()),
                several => {
                    let parts: Vec<_> = several.iter().flat_map(parts).collect();
                    fmt_hints(f, &parts, HINT)
                }
            },
            _ => Ok(()),
        }
    }
}

impl StatusError {
    fn fmt_message(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("server returned")?;
        if self.code != 0 {
            write!(f, " {}", self.code)?;
        }
        if !self.reason.is_empty() {
            write!(f, " {}", self.reason)?;
        }
        if self.code == 0 && self.reason.is_empty() {
            f.write_str(" an error")?;
        }
        if !self.message.is_empty() {
            write!(f, ": {}", self.message)?;
        }
        Ok(())
    }
}

fn fmt_not_checked(f: &mut fmt::Formatter<'_>, why: &CheckFailure) -> fmt::Result {
    if let CheckFailure::Failed(_) = why {
        // The failure is the source.
        return f.write_str("consistency check failed");
    }
    f.write_str("consistency check skipped: ")?;
    match why {
        CheckFailure::NotListed => f.write_str("no list has succeeded yet"),
        CheckFailure::KindRemoved => {
            f.write_str("the server stopped serving the kind and no list has succeeded since")
        }
        CheckFailure::NoExactLists => f.write_str("the source does not support lists at an exact version"),
        CheckFailure::OtherVersion { asked, listed } => {
            write!(
                f,
                "requested version {asked}, but the list is at version {listed}"
            )
        }
        CheckFailure::TooLong(limit) => write!(f, "it took longer than {limit:?}"),
        CheckFailure::Failed(_) => Ok(()),
    }
}

fn fmt_not_served(
    f: &mut fmt::Formatter<'_>,
    stage: UnservedStage,
    status: &StatusError,
    resource: Option<&WatchedResource>,
) -> fmt::Result {
    f.write_str(match stage {
        UnservedStage::New | UnservedStage::Unchanged => "server does not serve ",
        UnservedStage::Removed => "server no longer serves ",
    })?;
    match resource {
        Some(resource) => write!(f, "{} {}", resource.api_version(), resource.kind())?,
        None => f.write_str("the kind")?,
    }
    write!(f, " ({}): ", status.code)?;
    f.write_str(match stage {
        UnservedStage::New | UnservedStage::Unchanged => "waiting until it does",
        UnservedStage::Removed => "clearing the cache and waiting until it does",
    })
}

fn fmt_not_reached(
    f: &mut fmt::Formatter<'_>,
    version: &ResourceVersion,
    at: Option<&ResourceVersion>,
    why: VersionNotReached,
) -> fmt::Result {
    match why {
        VersionNotReached::TimedOut(after) => {
            write!(f, "version {version} not reached within {after:?}")?;
        }
        VersionNotReached::Stopped => write!(f, "version {version} not reached before the informer stopped")?,
        VersionNotReached::NotComparable => write!(f, "version {version:?} cannot be compared")?,
    }
    match at {
        Some(at) => write!(f, ": the cache is at version {at}"),
        None => f.write_str(": the cache has no version yet"),
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Error({})", ErrorChain(self))
    }
}

/// Prints an error with its causes and hints on one line, for logs.
pub(crate) struct ErrorChain<'a>(pub(crate) &'a Error);

impl fmt::Display for ErrorChain<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt_parts(f, &parts(self.0), "; hint: ")
    }
}

/// The text of one error, without its causes.
struct Parts {
    message: String,
    hints: Vec<String>,
}

impl Parts {
    fn of(error: &dyn StdError) -> Parts {
        let text = error.to_string();
        let mut parts = text.split(HINT).map(str::to_owned);
        Parts {
            message: parts.next().unwrap_or_default(),
            hints: parts.collect(),
        }
    }
}

/// Returns the texts of an error and of its causes.
fn parts(error: &Error) -> Vec<Parts> {
    let mut parts = vec![Parts::of(error)];
    let mut next = StdError::source(error);
    while let Some(source) = next {
        parts.push(Parts::of(source));
        next = source.source();
    }
    parts
}

fn join_messages(parts: &[Parts]) -> String {
    let messages: Vec<&str> = parts.iter().map(|parts| parts.message.as_str()).collect();
    messages.join(": ")
}

fn fmt_parts(f: &mut fmt::Formatter<'_>, parts: &[Parts], separator: &str) -> fmt::Result {
    f.write_str(&join_messages(parts))?;
    fmt_hints(f, parts, separator)
}

/// Writes each different hint once.
fn fmt_hints(f: &mut fmt::Formatter<'_>, parts: &[Parts], separator: &str) -> fmt::Result {
    let mut written: Vec<&str> = Vec::new();
    for hint in parts.iter().flat_map(|parts| &parts.hints) {
        if !written.contains(&hint.as_str()) {
            write!(f, "{separator}{hint}")?;
            written.push(hint);
        }
    }
    Ok(())
}

#[cfg(test)]
mod messages;
#[cfg(test)]
mod tests;
