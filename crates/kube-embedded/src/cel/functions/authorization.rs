//! Permissions: the variable `authorizer`, the checks that it makes, and their decisions.

use std::fmt;
use std::sync::Arc;

use super::super::eval::{Budget, EvalError};
use super::super::value::Value;
use super::{Entry, Evaluated, no_overload};
use crate::validation::names;

/// A check costs so much that an expression can make two.
const CHECK: u64 = 350_000;

const WITH_TEXT: &str =
    "kubernetes.authorization.ResourceCheck.(string) kubernetes.authorization.ResourceCheck";

pub(super) const TABLE: &[Entry] = &[
    (
        "path",
        "kubernetes.authorization.Authorizer.(string) kubernetes.authorization.PathCheck",
        path,
    ),
    (
        "group",
        "kubernetes.authorization.Authorizer.(string) kubernetes.authorization.GroupCheck",
        group,
    ),
    (
        "serviceAccount",
        "kubernetes.authorization.Authorizer.(string, string) kubernetes.authorization.Authorizer",
        service_account,
    ),
    (
        "resource",
        "kubernetes.authorization.GroupCheck.(string) kubernetes.authorization.ResourceCheck",
        resource,
    ),
    ("subresource", WITH_TEXT, |_, args| {
        narrowed(args, |check, text| check.subresource = text)
    }),
    ("namespace", WITH_TEXT, |_, args| {
        narrowed(args, |check, text| check.namespace = text)
    }),
    ("name", WITH_TEXT, |_, args| {
        narrowed(args, |check, text| check.name = text)
    }),
    // RBAC does not look at selectors.
    ("fieldSelector", WITH_TEXT, |_, args| narrowed(args, |_, _| {})),
    ("labelSelector", WITH_TEXT, |_, args| narrowed(args, |_, _| {})),
    (
        "check",
        "kubernetes.authorization.PathCheck.(string) kubernetes.authorization.Decision; \
         kubernetes.authorization.ResourceCheck.(string) kubernetes.authorization.Decision",
        check,
    ),
    (
        "allowed",
        "kubernetes.authorization.Decision.() bool",
        |_, args| decision(args).map(|decision| Value::Bool(decision.is_allowed)),
    ),
    (
        "reason",
        "kubernetes.authorization.Decision.() string",
        |_, args| decision(args).map(|decision| Value::from(decision.reason.as_str())),
    ),
    // Decisions do not fail here.
    (
        "errored",
        "kubernetes.authorization.Decision.() bool",
        |_, args| decision(args).map(|_| Value::Bool(false)),
    ),
    (
        "error",
        "kubernetes.authorization.Decision.() string",
        |_, args| decision(args).map(|_| Value::from("")),
    ),
];

/// Decides what the user of a request may do.
pub(crate) trait Authorizer: fmt::Debug + Send + Sync {
    /// Decides whether the subject of a check may use this verb.
    fn decide(&self, verb: &str, check: &PermissionCheck) -> PermissionDecision;
}

/// A permission that an expression checks.
#[derive(Debug, Clone)]
pub(crate) struct PermissionCheck {
    pub(crate) authorizer: Arc<dyn Authorizer>,
    /// Namespace and name of the service account that is checked instead of the user.
    pub(crate) account: Option<(String, String)>,
    pub(crate) target: CheckTarget,
    pub(crate) group: String,
    /// Also the path of a [`CheckTarget::Path`].
    pub(crate) resource: String,
    pub(crate) subresource: String,
    pub(crate) namespace: String,
    pub(crate) name: String,
}

/// What a [`PermissionCheck`] is about so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CheckTarget {
    Nothing,
    Path,
    Group,
    Resource,
}

impl CheckTarget {
    pub(in super::super) fn type_name(self) -> &'static str {
        match self {
            CheckTarget::Nothing => "kubernetes.authorization.Authorizer",
            CheckTarget::Path => "kubernetes.authorization.PathCheck",
            CheckTarget::Group => "kubernetes.authorization.GroupCheck",
            CheckTarget::Resource => "kubernetes.authorization.ResourceCheck",
        }
    }
}

/// The decision about a permission.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PermissionDecision {
    pub(crate) is_allowed: bool,
    pub(crate) reason: String,
}

impl PermissionCheck {
    /// Returns the value of `authorizer`.
    pub(crate) fn new(authorizer: Arc<dyn Authorizer>) -> PermissionCheck {
        PermissionCheck {
            authorizer,
            account: None,
            target: CheckTarget::Nothing,
            group: String::new(),
            resource: String::new(),
            subresource: String::new(),
            namespace: String::new(),
            name: String::new(),
        }
    }
}

fn value(check: PermissionCheck) -> Value {
    Value::Check(Arc::new(check))
}

/// Returns the check of a member call if it has this target, and the text of the argument.
fn check_and_text(args: &[Value], target: CheckTarget) -> Result<(PermissionCheck, &str), EvalError> {
    match args {
        [Value::Check(check), Value::String(text)] if check.target == target => Ok(((**check).clone(), text)),
        _ => Err(no_overload()),
    }
}

fn path(_: &mut Budget, args: &[Value]) -> Evaluated {
    let (check, path) = check_and_text(args, CheckTarget::Nothing)?;
    if path.trim().is_empty() {
        return Err(EvalError::message("path must not be empty"));
    }
    Ok(value(PermissionCheck {
        target: CheckTarget::Path,
        resource: path.to_owned(),
        ..check
    }))
}

fn group(_: &mut Budget, args: &[Value]) -> Evaluated {
    let (check, group) = check_and_text(args, CheckTarget::Nothing)?;
    Ok(value(PermissionCheck {
        target: CheckTarget::Group,
        group: group.to_owned(),
        ..check
    }))
}

fn service_account(_: &mut Budget, args: &[Value]) -> Evaluated {
    let [Value::Check(check), Value::String(namespace), Value::String(name)] = args else {
        return Err(no_overload());
    };
    if check.target != CheckTarget::Nothing {
        return Err(no_overload());
    }
    if !names::subdomain(name).is_empty() {
        return Err(EvalError::message("Invalid service account name"));
    }
    if !names::label(namespace).is_empty() {
        return Err(EvalError::message("Invalid service account namespace"));
    }
    Ok(value(PermissionCheck {
        account: Some((namespace.to_string(), name.to_string())),
        ..(**check).clone()
    }))
}

fn resource(_: &mut Budget, args: &[Value]) -> Evaluated {
    let (check, resource) = check_and_text(args, CheckTarget::Group)?;
    if resource.trim().is_empty() {
        return Err(EvalError::message("resource must not be empty"));
    }
    Ok(value(PermissionCheck {
        target: CheckTarget::Resource,
        resource: resource.to_owned(),
        ..check
    }))
}

fn narrowed(args: &[Value], narrow: impl FnOnce(&mut PermissionCheck, String)) -> Evaluated {
    let (mut check, text) = check_and_text(args, CheckTarget::Resource)?;
    narrow(&mut check, text.to_owned());
    Ok(value(check))
}

fn check(budget: &mut Budget, args: &[Value]) -> Evaluated {
    let [Value::Check(check), Value::String(verb)] = args else {
        return Err(no_overload());
    };
    if !matches!(check.target, CheckTarget::Path | CheckTarget::Resource) {
        return Err(no_overload());
    }
    budget.charge(CHECK)?;
    let decision = check.authorizer.decide(verb, check);
    Ok(Value::Decision(Arc::new(decision)))
}

fn decision(args: &[Value]) -> Result<&PermissionDecision, EvalError> {
    match args {
        [Value::Decision(decision)] => Ok(decision),
        _ => Err(no_overload()),
    }
}
