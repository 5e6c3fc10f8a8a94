//! Applies validating admission policies to requests, right before their objects are stored.

use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::{Value, json};

use super::subresource::scale_for_update;
use super::write::WriteOptions;
use crate::admission::{Admission, Operation, Request, State};
use crate::api::Resource;
use crate::auth::User;
use crate::cluster::Cluster;
use crate::request::{ObjectPath, Query};
use crate::status::Result;

/// Warnings for the client of a request, each of them once.
#[derive(Debug, Clone, Default)]
pub(crate) struct Warnings(Arc<Mutex<Vec<String>>>);

impl Warnings {
    fn add(&self, text: String) {
        let mut texts = self.0.lock();
        if !texts.contains(&text) {
            texts.push(text);
        }
    }

    /// Removes and returns the warnings.
    pub(crate) fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock())
    }
}

/// The request of a client that a write belongs to. Writes of the server itself have none, and no policy applies to them.
#[derive(Debug, Clone)]
pub(crate) struct Origin {
    /// The user, if the request was authorized.
    pub(crate) user: Option<Arc<User>>,
    /// The options as they were sent, without their kind.
    pub(crate) options: Value,
    pub(crate) warnings: Warnings,
}

/// A write that policies may deny.
pub(super) struct PolicyCheck<'a> {
    pub(super) operation: Operation,
    pub(super) resource: &'a Arc<Resource>,
    pub(super) subresource: Option<&'a str>,
    pub(super) namespace: Option<&'a str>,
    pub(super) name: &'a str,
    pub(super) object: Option<&'a Value>,
    pub(super) old: Option<&'a Value>,
    pub(super) dry_run: bool,
}

impl<'a> PolicyCheck<'a> {
    /// Creates the check of an object that is to be created at a path, such as an eviction.
    pub(super) fn create(
        path: &'a ObjectPath,
        name: &'a str,
        object: &'a Value,
        dry_run: bool,
    ) -> PolicyCheck<'a> {
        PolicyCheck {
            operation: Operation::Create,
            resource: &path.resource,
            subresource: path.subresource.as_deref(),
            namespace: path.namespace.as_deref(),
            name,
            object: Some(object),
            old: None,
            dry_run,
        }
    }
}

/// Returns the fields of `CreateOptions` and `UpdateOptions` in a query.
pub(super) fn sent_options(query: &Query) -> Value {
    let mut options = json!({});
    for name in ["fieldManager", "fieldValidation"] {
        let value = query.text(name);
        if !value.is_empty() {
            options[name] = value.into();
        }
    }
    let dry_run: Vec<&str> = query.all("dryRun").filter(|value| !value.is_empty()).collect();
    if !dry_run.is_empty() {
        options["dryRun"] = dry_run.into();
    }
    options
}

/// Applies the policies to a write.
///
/// # Errors
/// If a policy denies it.
pub(super) fn check_policies(
    cluster: &Cluster,
    origin: Option<&Origin>,
    check: &PolicyCheck<'_>,
) -> Result<()> {
    let Some(origin) = origin else { return Ok(()) };
    let Some(policies) = cluster.admission.policies(&cluster.store) else {
        return Ok(());
    };
    let registry = cluster.registry();
    let state = State {
        store: &cluster.store,
        registry: &registry,
        access: &cluster.access,
    };
    let resource = check.resource;
    let namespace = match check.namespace {
        None if resource.is("", "Namespace") => check.name,
        namespace => namespace.unwrap_or_default(),
    };
    let options = options(check.operation, &origin.options);
    let request = Request {
        operation: check.operation,
        resource,
        subresource: check.subresource.unwrap_or_default(),
        namespace,
        name: check.name,
        object: check.object,
        old: check.old,
        options: &options,
        dry_run: check.dry_run,
        user: origin.user.as_deref().unwrap_or_else(|| cluster.access.admin()),
    };
    let (warnings, result) = policies.check(state, &request);
    for warning in warnings {
        origin.warnings.add(warning);
    }
    result
}

/// Returns whether any policy could apply to a request.
pub(super) fn has_policies(cluster: &Cluster) -> bool {
    Admission::has_bindings(&cluster.store)
}

/// Applies the policies to a change of an object or of a part of one.
///
/// # Errors
/// If a policy denies it.
pub(super) fn check_change(
    cluster: &Cluster,
    path: &ObjectPath,
    options: &WriteOptions,
    old: &Value,
    new: &Value,
) -> Result<()> {
    if options.origin.is_none() || !has_policies(cluster) {
        return Ok(());
    }
    let check = |old, new| PolicyCheck {
        operation: Operation::Update,
        resource: &path.resource,
        subresource: path.subresource.as_deref(),
        namespace: path.namespace.as_deref(),
        name: path.name.as_deref().unwrap_or_default(),
        object: Some(new),
        old: Some(old),
        dry_run: options.dry_run,
    };
    let origin = options.origin.as_ref();
    if path.subresource.as_deref() != Some("scale") {
        return check_policies(cluster, origin, &check(old, new));
    }
    let (old, new) = (
        scale_for_update(&path.resource, old)?,
        scale_for_update(&path.resource, new)?,
    );
    check_policies(cluster, origin, &check(&old, &new))
}

/// Returns options with the kind that policies see. Patches have those of an update or a create.
fn options(operation: Operation, sent: &Value) -> Value {
    let kind = match operation {
        Operation::Create => "CreateOptions",
        Operation::Update => "UpdateOptions",
        Operation::Delete => "DeleteOptions",
        Operation::Connect => return Value::Null,
    };
    let mut options = sent.clone();
    options["kind"] = kind.into();
    options["apiVersion"] = "meta.k8s.io/v1".into();
    options
}

/// Applies the policies to a request that connects to an object.
///
/// # Errors
/// If a policy denies it.
pub(crate) fn check_connection(
    cluster: &Cluster,
    path: &ObjectPath,
    query: &Query,
    user: Option<&Arc<User>>,
    warnings: &Warnings,
) -> Result<()> {
    let part = path.subresource.as_deref().unwrap_or_default();
    // Reading a log is not a connection.
    let Some(kind) = path.resource.subresource(part).filter(|_| part != "log") else {
        return Ok(());
    };
    let origin = Origin {
        user: user.cloned(),
        options: Value::Null,
        warnings: warnings.clone(),
    };
    let mut object = connection(query);
    object["kind"] = kind.kind.as_str().into();
    object["apiVersion"] = "v1".into();
    let name = path.name.as_deref().unwrap_or_default();
    let check = PolicyCheck {
        operation: Operation::Connect,
        ..PolicyCheck::create(path, name, &object, false)
    };
    check_policies(cluster, Some(&origin), &check)
}

/// Returns the options of a connection, such as `PodExecOptions`.
fn connection(query: &Query) -> Value {
    let mut options = json!({});
    for name in ["stdin", "stdout", "stderr", "tty"] {
        if query.flag(name) {
            options[name] = true.into();
        }
    }
    for name in ["container", "path"] {
        if query.has(name) {
            options[name] = query.text(name).into();
        }
    }
    if query.has("command") {
        let command: Vec<&str> = query.all("command").collect();
        options["command"] = command.into();
    }
    let ports: Vec<i64> = query.all("ports").filter_map(|port| port.parse().ok()).collect();
    if !ports.is_empty() {
        options["ports"] = ports.into();
    }
    options
}
