//! What goes wrong when a server is asked what it serves, and when a name is looked for in its answer.

use std::fmt;

use super::Error;

#[derive(Debug, Clone)]
pub(crate) enum DiscoveryProblem {
    /// The server did not tell what it serves.
    NotTold { path: String, cause: Error },
    /// The server itself does not know what it serves of a group-version.
    Stale(String),
    /// No resource has this name; those that are spelt almost like it, and the group-versions that are not known.
    Unknown {
        asked: String,
        near: Vec<String>,
        untold: Vec<String>,
    },
    /// A resource that no informer can hold; what can be done with it instead.
    NotWatchable { resource: String, verbs: Vec<String> },
}

impl DiscoveryProblem {
    /// What stopped the server from telling.
    pub(super) fn cause(&self) -> Option<&Error> {
        match self {
            DiscoveryProblem::NotTold { cause, .. } => Some(cause),
            _ => None,
        }
    }
}

impl fmt::Display for DiscoveryProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            // The cause is the source.
            DiscoveryProblem::NotTold { path, .. } => {
                write!(f, "asking the server at {path} what it serves")
            }
            DiscoveryProblem::Stale(place) => write!(
                f,
                "the server has lost touch with the API server behind {place} and does not know what it serves"
            ),
            DiscoveryProblem::Unknown { asked, near, untold } => {
                write!(f, "the server serves no {asked:?}")?;
                if !near.is_empty() {
                    write!(f, "; did you mean {}?", Alternatives(near, "or"))?;
                }
                match untold.as_slice() {
                    [] => Ok(()),
                    _ => write!(
                        f,
                        "; it could not tell what there is in {}",
                        Alternatives(untold, "and")
                    ),
                }
            }
            DiscoveryProblem::NotWatchable { resource, verbs } => {
                write!(f, "{resource} cannot be watched: ")?;
                match verbs.as_slice() {
                    [] => f.write_str("the server offers nothing to do with it"),
                    _ => write!(f, "the server offers only {}", Alternatives(verbs, "and")),
                }
            }
        }
    }
}

/// Names as people list them: `a, b or c`.
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
