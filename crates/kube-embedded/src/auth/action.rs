//! The actions that requests perform, for authorization.

use std::fmt;

use http::Method;

use crate::status::Subject;

/// A verb and its target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Action {
    pub(crate) verb: String,
    pub(crate) target: ActionTarget,
}

/// The target of an action.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ActionTarget {
    /// A resource, served or not. Empty names mean all.
    Resource {
        group: String,
        resource: String,
        subresource: String,
        namespace: String,
        name: String,
    },
    /// A path that is not of a resource.
    Path(String),
}

impl Action {
    /// Creates an action on a cluster-scoped resource, or on all of its objects.
    pub(crate) fn on_resource(verb: impl Into<String>, group: &str, resource: &str) -> Action {
        Action {
            verb: verb.into(),
            target: ActionTarget::Resource {
                group: group.to_owned(),
                resource: resource.to_owned(),
                subresource: String::new(),
                namespace: String::new(),
                name: String::new(),
            },
        }
    }

    /// Restricts an action on a resource to a namespace.
    pub(crate) fn within(mut self, wanted: &str) -> Action {
        if let ActionTarget::Resource { namespace, .. } = &mut self.target {
            wanted.clone_into(namespace);
        }
        self
    }

    /// Restricts an action on a resource to an object.
    pub(crate) fn named(mut self, wanted: &str) -> Action {
        if let ActionTarget::Resource { name, .. } = &mut self.target {
            wanted.clone_into(name);
        }
        self
    }

    /// Restricts an action on a resource to a subresource.
    pub(crate) fn part(mut self, wanted: &str) -> Action {
        if let ActionTarget::Resource { subresource, .. } = &mut self.target {
            wanted.clone_into(subresource);
        }
        self
    }

    /// Returns the same action with another verb.
    pub(super) fn with_verb(&self, verb: String) -> Action {
        Action {
            verb,
            target: self.target.clone(),
        }
    }

    /// Derives the action of a request from its path only, like kube-apiserver.
    ///
    /// `watch` and `field_selector` are query parameters.
    pub(crate) fn of_request(method: &Method, path: &str, watch: bool, field_selector: &str) -> Action {
        let decoded = percent_encoding::percent_decode_str(path).decode_utf8_lossy();
        let parts: Vec<&str> = decoded.trim_matches('/').split('/').collect();
        let (group, below) = match parts.as_slice() {
            ["api", _version, below @ ..] if !below.is_empty() => ("", below),
            ["apis", group, _version, below @ ..] if !below.is_empty() => (*group, below),
            _ => {
                return Action {
                    verb: method.as_str().to_ascii_lowercase(),
                    target: ActionTarget::Path(decoded.into_owned()),
                };
            }
        };
        let (watch_prefix, below) = match below {
            ["watch", below @ ..] if !below.is_empty() => (true, below),
            below => (false, below),
        };
        // These two are subresources of a namespace. Other names are resources in the namespace.
        let (namespace, below) = match below {
            ["namespaces", namespace, resource, ..] if !matches!(*resource, "status" | "finalize") => {
                (*namespace, &below[2..])
            }
            ["namespaces", namespace, ..] => (*namespace, below),
            below => ("", below),
        };
        let at = |index: usize| below.get(index).copied().unwrap_or_default();
        let mut name = at(1);
        let verb = match *method {
            _ if watch_prefix => "watch",
            Method::GET | Method::HEAD if !name.is_empty() => "get",
            Method::GET | Method::HEAD => {
                name = named_by(field_selector);
                if watch { "watch" } else { "list" }
            }
            Method::POST => "create",
            Method::PUT => "update",
            Method::PATCH => "patch",
            Method::DELETE if name.is_empty() => "deletecollection",
            Method::DELETE => "delete",
            _ => "",
        };
        Action::on_resource(verb, group, at(0))
            .part(at(2))
            .within(namespace)
            .named(name)
    }

    /// Returns the namespace, which is empty for the cluster scope and for paths.
    pub(super) fn namespace(&self) -> &str {
        match &self.target {
            ActionTarget::Resource { namespace, .. } => namespace,
            ActionTarget::Path(_) => "",
        }
    }

    /// Returns the subject of a 403; `None` for paths.
    pub(super) fn subject(&self) -> Option<Subject<'_>> {
        match &self.target {
            ActionTarget::Resource {
                group,
                resource,
                name,
                ..
            } => Some(Subject {
                group,
                resource,
                name,
            }),
            ActionTarget::Path(_) => None,
        }
    }
}

/// Returns the only name that a field selector allows, if there is one.
fn named_by(field_selector: &str) -> &str {
    let name = field_selector.split(',').find_map(|term| {
        let value = term.trim().strip_prefix("metadata.name")?.strip_prefix('=')?;
        Some(value.strip_prefix('=').unwrap_or(value))
    });
    // Text that cannot be part of a path is not a name.
    name.filter(|name| !matches!(*name, "." | "..") && !name.contains(['/', '%']))
        .unwrap_or_default()
}

/// Formats the text after `User "jane" cannot` in a 403.
impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verb = &self.verb;
        match &self.target {
            ActionTarget::Path(path) => write!(f, "{verb} path {path:?}"),
            ActionTarget::Resource {
                group,
                resource,
                subresource,
                namespace,
                ..
            } => {
                write!(f, "{verb} resource \"{resource}")?;
                if !subresource.is_empty() {
                    write!(f, "/{subresource}")?;
                }
                write!(f, "\" in API group {group:?} ")?;
                if namespace.is_empty() {
                    f.write_str("at the cluster scope")
                } else {
                    write!(f, "in the namespace {namespace:?}")
                }
            }
        }
    }
}
