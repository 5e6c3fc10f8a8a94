//! What errors say.

use std::error::Error as StdError;
use std::fmt;
use std::time::Duration;

use super::{
    CheckFailure, Error, NotSynced, Operation, Problem, StatusError, UnservedStage, VersionNotReached,
};
use crate::types::WatchedResource;

/// `{}` prints this error without its causes, which [`source`](StdError::source) returns; `{:#}` prints them all on one line.
impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if f.alternate() {
            return write!(f, "{}", ErrorChain(self));
        }
        self.place(f)?;
        self.words(f)
    }
}

impl Error {
    /// What was being done.
    fn place(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.inner.place {
            Some((Operation::List, resource)) => write!(f, "listing {resource}: ")?,
            Some((Operation::StreamingList, resource)) => write!(f, "listing {resource} as a stream: ")?,
            Some((Operation::Watch, resource)) => write!(f, "watching {resource}: ")?,
            Some((Operation::ConsistencyCheck, resource)) => write!(f, "checking the cache of {resource}: ")?,
            Some((Operation::Cache, resource))
                if !matches!(
                    self.problem(),
                    Problem::NotFound(_) | Problem::NotSynced { .. } | Problem::NotReached { .. }
                ) =>
            {
                write!(f, "the cache of {resource}: ")?;
            }
            _ => {}
        }
        Ok(())
    }

    /// What went wrong.
    fn words(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let resource = self.resource();
        match self.problem() {
            Problem::Status(status) => status.describe(f, resource),
            Problem::Connect => f.write_str("cannot reach the server"),
            Problem::Behind { seen, at } => write!(
                f,
                "the server told of version {at}, but {seen} was seen before; it is not used, and the newest is asked for"
            ),
            Problem::Transport(what)
            | Problem::UserCode(what)
            | Problem::Internal(what)
            | Problem::NoClient(what) => f.write_str(what),
            Problem::BadData(what) => write!(f, "the server sent what cannot be used: {what}"),
            Problem::VeryShortWatch => f.write_str(
                "the watch ended within a second and without an event; \
                 a proxy between here and the server may be cutting it",
            ),
            Problem::StalledWatch(silence) => {
                write!(
                    f,
                    "nothing came for {}, the watch is renewed",
                    HumanDuration(*silence)
                )
            }
            Problem::NoStreamingList(why) => write!(f, "{why}; a plain list is used instead"),
            Problem::WentBack { from, to } => write!(
                f,
                "the server went back from version {from} to {to}, as after a restored backup; the cache is rebuilt"
            ),
            Problem::NotServed { stage, status } => not_served(f, *stage, status, resource),
            Problem::AlreadyStarted => {
                f.write_str("the informer has been started already; do this before the start")
            }
            Problem::Stopped => {
                f.write_str("the informer has stopped, and a stopped informer never starts again")
            }
            Problem::InvalidKey(error) => write!(f, "{error}"),
            Problem::InformerConflict => f.write_str("the factory has an informer of this kind already"),
            Problem::IndexConflict(name) => write!(f, "there is an index named {name:?} already"),
            Problem::IndexInIndex(name) => write!(
                f,
                "an index function cannot add an index, as {name:?}: the cache is being written while it is asked"
            ),
            Problem::UnknownIndex(name) => write!(f, "there is no index named {name:?}"),
            Problem::ReservedParameter { name, setting } => {
                write!(f, "invalid parameter {name:?}: informers set it themselves")?;
                match setting {
                    Some(setting) => write!(f, "; use {setting}() of the builder instead"),
                    None => Ok(()),
                }
            }
            Problem::NotFound(key) => match resource {
                Some(resource) => write!(
                    f,
                    "{} {:?} not found in the cache",
                    resource.group_resource(),
                    key.as_str()
                ),
                None => write!(f, "{:?} not found in the cache", key.as_str()),
            },
            Problem::Discovery(problem) => write!(f, "{problem}"),
            Problem::Inconsistent { found, relist } => {
                write!(f, "{found}")?;
                f.write_str(if *relist {
                    "; everything is listed anew"
                } else {
                    "; list anew with relist_if_inconsistent(), and please report this"
                })
            }
            Problem::NotChecked(why) => not_checked(f, why),
            Problem::NotSynced { .. }
            | Problem::NotAllSynced { .. }
            | Problem::NothingStarted
            | Problem::HandlerNotSynced { .. }
            | Problem::NotReached { .. } => self.words_of_a_wait(f),
        }
    }

    /// What was waited for in vain.
    fn words_of_a_wait(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let resource = self.resource();
        match self.problem() {
            Problem::NotSynced { why, last } => {
                match resource {
                    Some(resource) => write!(f, "{resource} did not sync")?,
                    None => f.write_str("did not sync")?,
                }
                match why {
                    NotSynced::TimedOut(after) => write!(f, " within {}", HumanDuration(*after))?,
                    NotSynced::Stopped => f.write_str(" before the informer was stopped")?,
                }
                match last {
                    // It is the source.
                    Some(_) => Ok(()),
                    None => f.write_str("; no error was seen"),
                }
            }
            Problem::NotAllSynced { errors, of } => {
                match &errors[..] {
                    [only] if *of == 1 => write!(f, "{only}"),
                    // It is the source.
                    [_] => write!(f, "1 of {of} caches did not sync"),
                    // An error has one source at most, so these are all told here.
                    several => {
                        write!(f, "{} of {of} caches did not sync", several.len())?;
                        for (at, error) in several.iter().enumerate() {
                            let separator = if at == 0 { ": " } else { "; and " };
                            write!(f, "{separator}{}", ErrorChain(error))?;
                        }
                        Ok(())
                    }
                }
            }
            Problem::NothingStarted => {
                f.write_str("no informer of the factory was started; call start() before waiting")
            }
            Problem::HandlerNotSynced {
                handler,
                backlog,
                why,
            } => {
                write!(
                    f,
                    "the handler {handler} has not handled every object of the beginning"
                )?;
                match why {
                    NotSynced::TimedOut(after) => {
                        write!(f, " within {}; it has {backlog} to go", HumanDuration(*after))
                    }
                    NotSynced::Stopped => f.write_str(" before it was removed or the informer stopped"),
                }
            }
            Problem::NotReached { version, at, why } => {
                match resource {
                    Some(resource) => write!(f, "the cache of {resource}")?,
                    None => f.write_str("the cache")?,
                }
                match at {
                    Some(at) => write!(f, " is at version {at}")?,
                    None => f.write_str(" has no version yet")?,
                }
                match why {
                    VersionNotReached::TimedOut(after) => {
                        write!(f, " and did not reach {version} within {}", HumanDuration(*after))
                    }
                    VersionNotReached::Stopped => write!(f, " and stopped before {version}"),
                    VersionNotReached::NotComparable => {
                        write!(f, ", which cannot be compared with {version:?}")
                    }
                }
            }
            _ => Ok(()),
        }
    }
}

impl StatusError {
    fn describe(&self, f: &mut fmt::Formatter<'_>, resource: Option<&WatchedResource>) -> fmt::Result {
        f.write_str("the server answered")?;
        if self.code != 0 {
            write!(f, " {}", self.code)?;
        }
        if !self.reason.is_empty() {
            write!(f, " {}", self.reason)?;
        }
        if !self.message.is_empty() {
            write!(f, ": {}", self.message)?;
        }
        match (self.code, resource) {
            (403, Some(resource)) => {
                write!(
                    f,
                    "; the account needs the verbs list and watch on {}",
                    resource.group_resource()
                )
            }
            (401, _) => f.write_str("; check the credentials"),
            (404, Some(resource)) => write!(
                f,
                "; is {} {} served here?",
                resource.api_version(),
                resource.kind()
            ),
            _ => Ok(()),
        }
    }
}

fn not_checked(f: &mut fmt::Formatter<'_>, why: &CheckFailure) -> fmt::Result {
    f.write_str("it was not compared with the server")?;
    match why {
        CheckFailure::NotListed => f.write_str(", as there is nothing in it before the first list"),
        CheckFailure::KindRemoved => {
            f.write_str(", because the server stopped serving the kind and no list has succeeded since")
        }
        CheckFailure::NoExactLists => {
            f.write_str(", as its source has no lists at an exact version; see ListWatch::list_exactly")
        }
        CheckFailure::OtherVersion { asked, listed } => write!(
            f,
            ", as it listed version {listed} where exactly {asked} was asked for"
        ),
        CheckFailure::TooLong(limit) => write!(f, ", as that took longer than {}", HumanDuration(*limit)),
        // What failed is told as the cause.
        CheckFailure::Failed(_) => Ok(()),
    }
}

fn not_served(
    f: &mut fmt::Formatter<'_>,
    stage: UnservedStage,
    status: &StatusError,
    resource: Option<&WatchedResource>,
) -> fmt::Result {
    f.write_str(match stage {
        UnservedStage::Found | UnservedStage::Still => "the server does not serve ",
        UnservedStage::Gone => "the server no longer serves ",
    })?;
    match resource {
        Some(resource) => write!(f, "{} {}", resource.api_version(), resource.kind())?,
        None => f.write_str("the kind")?,
    }
    write!(f, " ({})", status.code)?;
    if stage == UnservedStage::Gone {
        return f.write_str("; the cache is emptied, and the informer waits until it is served again");
    }
    f.write_str("; the informer waits until it does")?;
    match resource {
        Some(resource) if resource.may_be_custom() => {
            let name = resource.group_resource();
            write!(f, "; is the CustomResourceDefinition {name} installed?")
        }
        _ => f.write_str("; is it switched off here, or of another Kubernetes version?"),
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Error({})", ErrorChain(self))
    }
}

/// An error and what caused it, on one line.
pub(crate) struct ErrorChain<'a>(pub(crate) &'a Error);

impl fmt::Display for ErrorChain<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)?;
        let mut next = StdError::source(self.0);
        while let Some(source) = next {
            write!(f, ": {source}")?;
            next = source.source();
        }
        Ok(())
    }
}

/// A duration as people say it.
struct HumanDuration(Duration);

impl fmt::Display for HumanDuration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.0)
    }
}

#[cfg(test)]
mod tests;
