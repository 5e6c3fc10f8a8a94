//! The path and the verb of a request.

use std::sync::Arc;

use http::Method;

use crate::api::{Registry, Resource};
use crate::status::{Result, Status};

/// The target of a path.
#[derive(Debug, Clone)]
pub(crate) enum Target {
    /// `/`: the list of paths.
    Root,
    Version,
    /// `/healthz`, `/livez`, `/readyz`.
    Health,
    /// `/api`.
    CoreVersions,
    /// `/apis`.
    Groups,
    Group(String),
    GroupVersion {
        group: String,
        version: String,
    },
    OpenApiV2,
    OpenApiV3Index,
    OpenApiV3 {
        group: String,
        version: String,
    },
    Object(ObjectPath),
}

/// A path to a resource, one of its objects, or a part of one.
#[derive(Debug, Clone)]
pub(crate) struct ObjectPath {
    pub(crate) resource: Arc<Resource>,
    pub(crate) namespace: Option<String>,
    pub(crate) name: Option<String>,
    pub(crate) subresource: Option<String>,
    /// The deprecated form `/api/v1/watch/…`.
    pub(crate) watch_prefix: bool,
}

/// The verb of a request, as in Kubernetes' authorization.
///
/// See [`Request::verb`](crate::Request::verb) and [`On::verb`](crate::On::verb).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Verb {
    /// Read one object.
    Get,
    /// Read a collection.
    List,
    /// Watch a collection.
    Watch,
    /// Create an object.
    Create,
    /// Replace an object.
    Update,
    /// Patch an object.
    Patch,
    /// Delete an object.
    Delete,
    /// Delete a collection.
    DeleteCollection,
}

impl Verb {
    /// Returns the verb in lower case, as in RBAC rules.
    pub fn as_str(self) -> &'static str {
        match self {
            Verb::Get => "get",
            Verb::List => "list",
            Verb::Watch => "watch",
            Verb::Create => "create",
            Verb::Update => "update",
            Verb::Patch => "patch",
            Verb::Delete => "delete",
            Verb::DeleteCollection => "deletecollection",
        }
    }
}

impl std::fmt::Display for Verb {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Why a path has no target.
#[derive(Debug)]
pub(crate) enum PathError {
    /// Unknown path: plain text `404 page not found`.
    NotFound,
    /// The group is served, but not this resource.
    Status(Status),
    /// Invalid path: plain text `400 Bad Request`.
    Malformed,
}

impl Target {
    /// Parses a path.
    pub(crate) fn parse(path: &str, registry: &Registry) -> Result<Target, PathError> {
        if has_broken_escape(path) {
            return Err(PathError::Malformed);
        }
        // Decoded before it is split, so an escaped slash is a separator, too.
        let decoded = percent_encoding::percent_decode_str(path).decode_utf8_lossy();
        let inside = decoded.strip_prefix('/').unwrap_or(&decoded);
        let inside = inside.strip_suffix('/').unwrap_or(inside);
        let parts: Vec<&str> = if inside.is_empty() {
            Vec::new()
        } else {
            inside.split('/').collect()
        };
        if parts.contains(&"") {
            return Err(match parts.as_slice() {
                ["api", ..] => PathError::Status(Status::no_such_path()),
                ["apis", group, ..] if !group.is_empty() && registry.group(group).is_some() => {
                    PathError::Status(Status::no_such_path())
                }
                _ => PathError::NotFound,
            });
        }
        match parts.as_slice() {
            [] => Ok(Target::Root),
            ["version"] => Ok(Target::Version),
            ["healthz" | "livez" | "readyz", ..] => Ok(Target::Health),
            ["openapi", "v2"] => Ok(Target::OpenApiV2),
            ["openapi", "v3"] => Ok(Target::OpenApiV3Index),
            ["openapi", "v3", "api", version] => Ok(Target::OpenApiV3 {
                group: String::new(),
                version: (*version).into(),
            }),
            ["openapi", "v3", "apis", group, version] => Ok(Target::OpenApiV3 {
                group: (*group).into(),
                version: (*version).into(),
            }),
            ["api"] => Ok(Target::CoreVersions),
            ["apis"] => Ok(Target::Groups),
            ["api", version, rest @ ..] => group_version("", version, rest, registry),
            ["apis", group] => match registry.group(group) {
                Some(_) => Ok(Target::Group((*group).into())),
                None => Err(PathError::NotFound),
            },
            ["apis", group, version, rest @ ..] => group_version(group, version, rest, registry),
            _ => Err(PathError::NotFound),
        }
    }
}

fn group_version(
    group: &str,
    version: &str,
    rest: &[&str],
    registry: &Registry,
) -> Result<Target, PathError> {
    if registry.group(group).is_none() {
        return Err(PathError::NotFound);
    }
    if registry.resources(group, version).is_empty() {
        return Err(PathError::Status(Status::no_such_path()));
    }
    let (watch_prefix, rest) = match rest {
        [] => {
            return Ok(Target::GroupVersion {
                group: group.into(),
                version: version.into(),
            });
        }
        ["watch", rest @ ..] if !rest.is_empty() => (true, rest),
        rest => (false, rest),
    };
    let find = |plural: &str| registry.find(group, version, plural).cloned();
    let named = |resource: Arc<Resource>, namespace: Option<&str>, rest: &[&str]| {
        let (name, subresource) = match rest {
            [] => (None, None),
            [name] => (Some((*name).to_owned()), None),
            [name, sub] => (Some((*name).to_owned()), Some((*sub).to_owned())),
            // Only `proxy` has deeper paths.
            [name, sub, ..] if *sub == "proxy" => (Some((*name).to_owned()), Some((*sub).to_owned())),
            _ => return None,
        };
        if let Some(sub) = &subresource {
            resource.subresource(sub)?;
        }
        let namespace = namespace.map(str::to_owned);
        Some(Target::Object(ObjectPath {
            resource,
            namespace,
            name,
            subresource,
            watch_prefix,
        }))
    };
    let found = match rest {
        // A namespaced resource in its namespace, or a subresource of the namespace itself.
        ["namespaces", namespace, plural, below @ ..] => match find(plural) {
            Some(resource) if resource.namespaced => named(resource, Some(namespace), below),
            Some(_) => None,
            None => find("namespaces").and_then(|r| named(r, None, &rest[1..])),
        },
        [plural, below @ ..] => find(plural).and_then(|resource| {
            // The path of a namespaced object contains its namespace.
            if resource.namespaced && !below.is_empty() {
                None
            } else {
                named(resource, None, below)
            }
        }),
        [] => None,
    };
    found.ok_or_else(|| PathError::Status(Status::no_such_path()))
}

/// Returns whether a `%` is not followed by two hexadecimal digits.
pub(super) fn has_broken_escape(text: &str) -> bool {
    let is_hex = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_hexdigit);
    let bytes = text.as_bytes();
    let escapes = bytes.iter().enumerate().filter(|(_, b)| **b == b'%');
    escapes
        .into_iter()
        .any(|(at, _)| !(is_hex(bytes.get(at + 1)) && is_hex(bytes.get(at + 2))))
}

impl ObjectPath {
    /// Checks the name in the path.
    pub(crate) fn check_name(&self) -> Result<()> {
        let name = self.name.as_deref().unwrap_or_default();
        let why = match name {
            "." | ".." => format!("may not be '{name}'"),
            _ if name.contains('%') => "may not contain '%'".into(),
            _ => return Ok(()),
        };
        Err(Status::bad_request(format!(
            "Name parameter invalid: {name:?}: {why}"
        )))
    }

    /// Returns the verb of an HTTP method on this path. `watch` is whether the query asks for a watch.
    pub(crate) fn verb(&self, method: &Method, watch: bool) -> Result<Verb> {
        let verb = match (method, &self.name) {
            (&Method::GET, _) if self.watch_prefix && self.subresource.is_none() => Verb::Watch,
            (&Method::GET, None) if watch => Verb::Watch,
            (&Method::GET, Some(_)) => Verb::Get,
            (&Method::GET, None) => Verb::List,
            (&Method::POST, None) => Verb::Create,
            (&Method::POST, Some(_)) if self.subresource.is_some() => Verb::Create,
            (&Method::PUT, Some(_)) => Verb::Update,
            (&Method::PATCH, Some(_)) => Verb::Patch,
            (&Method::DELETE, Some(_)) => Verb::Delete,
            (&Method::DELETE, None) => Verb::DeleteCollection,
            _ => return Err(Status::method_not_allowed()),
        };
        let allowed = match self
            .subresource
            .as_deref()
            .and_then(|s| self.resource.subresource(s))
        {
            Some(sub) => sub.verbs.iter().any(|v| v == verb.as_str()),
            None => self.resource.allows(verb.as_str()),
        };
        // A namespaced object can only be created in a namespace.
        let misplaced = verb == Verb::Create && self.resource.namespaced && self.namespace.is_none();
        if allowed && !misplaced {
            Ok(verb)
        } else {
            Err(Status::method_not_allowed())
        }
    }
}
