//! Errors of discovery and of resolving names to resources.

use std::fmt;

use super::Error;

#[derive(Debug, Clone)]
pub(crate) enum DiscoveryProblem {
    /// A discovery document could not be fetched.
    RequestFailed { path: String, cause: Error },
    /// The server's own information about a group-version is out of date, because its aggregated API server is unreachable.
    Stale(String),
    /// No resource has this name. Contains similar names, and the group-versions that could not be read.
    Unknown {
        asked: String,
        near: Vec<String>,
        unavailable: Vec<String>,
    },
    /// The resource does not support both list and watch. Contains the verbs that it supports.
    NotWatchable { resource: String, verbs: Vec<String> },
}

impl DiscoveryProblem {
    /// Returns the error of the request.
    pub(super) fn cause(&self) -> Option<&Error> {
        match self {
            DiscoveryProblem::RequestFailed { cause, .. } => Some(cause),
            _ => None,
        }
    }

    /// Writes what failed and why.
    pub(super) fn fmt_message(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            // The cause is the source.
            DiscoveryProblem::RequestFailed { path, .. } => write!(f, "discovery request to {path} failed"),
            DiscoveryProblem::Stale(group_version) => write!(
                f,
                "discovery of {group_version} is stale: its API server is unreachable"
            ),
            DiscoveryProblem::Unknown {
                asked, unavailable, ..
            } => {
                write!(f, "unknown resource {asked:?}")?;
                match unavailable.as_slice() {
                    [] => Ok(()),
                    _ => write!(f, ": discovery of {} failed", Alternatives(unavailable, "and")),
                }
            }
            DiscoveryProblem::NotWatchable { resource, verbs } => {
                write!(f, "cannot watch {resource}: ")?;
                match verbs.as_slice() {
                    [] => f.write_str("the server supports no verbs for it"),
                    _ => write!(f, "the server supports only {}", Alternatives(verbs, "and")),
                }
            }
        }
    }

    /// Returns the hint.
    pub(super) fn hint(&self) -> Option<String> {
        match self {
            DiscoveryProblem::Unknown { near, .. } if !near.is_empty() => {
                Some(format!("did you mean {}?", Alternatives(near, "or")))
            }
            _ => None,
        }
    }
}

/// Prints names as `a, b or c`.
struct Alternatives<'a>(&'a [String], &'static str);

impl fmt::Display for Alternatives<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            [] => Ok(()),
            [one] => f.write_str(one),
            [several @ .., last] => write!(f, "{} {} {last}", several.join(", "), self.1),
        }
    }
}
