//! A request, as policies see it.

use std::sync::Arc;

use serde_json::{Value as Json, json};

use super::GROUP;
use crate::api::Resource;
use crate::auth::User;
use crate::convert;
use crate::status::{Status, Subject};

/// What a request does to an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Operation {
    Create,
    Update,
    Delete,
    Connect,
}

impl Operation {
    pub(super) fn name(self) -> &'static str {
        match self {
            Operation::Create => "CREATE",
            Operation::Update => "UPDATE",
            Operation::Delete => "DELETE",
            Operation::Connect => "CONNECT",
        }
    }
}

/// A request to write an object, or to connect to one.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Request<'a> {
    pub(crate) operation: Operation,
    pub(crate) resource: &'a Arc<Resource>,
    /// Empty for the object itself.
    pub(crate) subresource: &'a str,
    /// The namespace of the object; its own name for a namespace; empty for other objects of the cluster.
    pub(crate) namespace: &'a str,
    /// Empty for the objects of a collection.
    pub(crate) name: &'a str,
    /// The object as it is to be stored, in the version of the resource.
    pub(crate) object: Option<&'a Json>,
    pub(crate) old: Option<&'a Json>,
    /// The options of the operation, such as `CreateOptions`, or null.
    pub(crate) options: &'a Json,
    pub(crate) dry_run: bool,
    pub(crate) user: &'a User,
}

impl Request<'_> {
    /// Returns whether no policy applies: a policy could block its own removal.
    pub(super) fn is_exempt(&self) -> bool {
        const EXEMPT: [&str; 4] = [
            "validatingadmissionpolicies",
            "validatingadmissionpolicybindings",
            "mutatingadmissionpolicies",
            "mutatingadmissionpolicybindings",
        ];
        self.resource.group == GROUP && EXEMPT.contains(&self.resource.plural.as_str())
    }

    /// Returns whether the request is about a namespace or a part of one.
    pub(super) fn is_of_namespace(&self) -> bool {
        self.resource.is("", "Namespace")
    }

    /// Returns an object of the request in another version of its resource.
    pub(super) fn converted(&self, object: &Json, to: &Arc<Resource>) -> Json {
        if Arc::ptr_eq(to, self.resource) || object["kind"] != self.resource.kind.as_str() {
            return object.clone();
        }
        convert::between(object.clone(), self.resource, to)
    }

    /// Returns the value of `request` for a policy that matched this resource.
    pub(super) fn json_for(&self, matched: &Arc<Resource>) -> Json {
        let mut request = json!({
            "kind": kind(matched, self.subresource),
            "resource": resource(matched),
            "requestKind": kind(self.resource, self.subresource),
            "requestResource": resource(self.resource),
            "operation": self.operation.name(),
            "userInfo": self.user.to_json(),
            "dryRun": self.dry_run,
            "options": self.options,
        });
        for (field, value) in [
            ("subResource", self.subresource),
            ("requestSubResource", self.subresource),
            ("name", self.name),
            ("namespace", self.namespace),
        ] {
            if !value.is_empty() {
                request[field] = value.into();
            }
        }
        request
    }
}

fn kind(resource: &Resource, subresource: &str) -> Json {
    match resource.subresource(subresource) {
        Some(part) => json!({ "group": part.group, "version": part.version, "kind": part.kind }),
        None => json!({ "group": resource.group, "version": resource.version, "kind": resource.kind }),
    }
}

fn resource(resource: &Resource) -> Json {
    json!({ "group": resource.group, "version": resource.version, "resource": resource.plural })
}

/// Returns the error of a namespace that does not exist.
pub(super) fn no_namespace(name: &str) -> Status {
    Status::not_found(Subject {
        group: "",
        resource: "namespaces",
        name,
    })
}
