//! Prevents that users grant permissions that they do not have.

use serde_json::Value;

use super::policy::RoleRef;
use super::rule::{PolicyRule, missing, quoted};
use super::{Action, MASTERS, Policy, RBAC_GROUP, User, authorize};
use crate::status::{Result, Status, Subject};

/// A write of a role or binding.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RoleWrite<'a> {
    pub(crate) kind: &'a str,
    /// Plural name of the resource.
    pub(crate) resource: &'a str,
    pub(crate) namespace: Option<&'a str>,
    /// The current object.
    pub(crate) old: Option<&'a Value>,
    pub(crate) new: &'a Value,
}

/// Checks that a user who writes a role or binding has the permissions that it grants.
///
/// # Errors
/// If permissions are missing and the user has neither the verb `escalate` on the role nor `bind` on the role of the
/// binding.
pub(crate) fn check_escalation(policy: &Policy, user: &User, write: RoleWrite<'_>) -> Result<()> {
    if user.is_in(MASTERS) || write.old.is_some_and(|old| is_garbage_collection(old, write.new)) {
        return Ok(());
    }
    if write.kind.ends_with("Binding") {
        write.check_binding(policy, user)
    } else {
        write.check_role(policy, user)
    }
}

impl RoleWrite<'_> {
    fn name(&self) -> &str {
        self.new["metadata"]["name"].as_str().unwrap_or_default()
    }

    fn subject(&self) -> Subject<'_> {
        Subject {
            group: RBAC_GROUP,
            resource: self.resource,
            name: self.name(),
        }
    }

    fn check_role(&self, policy: &Policy, user: &User) -> Result<()> {
        let escalate = Action::on_resource("escalate", RBAC_GROUP, self.resource)
            .within(self.namespace.unwrap_or_default())
            .named(self.name());
        if authorize(policy, user, &escalate).is_allowed() {
            return Ok(());
        }
        let aggregates = |role: &Value| !role["aggregationRule"].is_null();
        if (aggregates(self.new) || self.old.is_some_and(aggregates))
            && !missing(&policy.rules(user, "").0, &all_permissions()).is_empty()
        {
            let why = "must have cluster-admin privileges to use the aggregationRule";
            return Err(Status::forbidden(self.subject(), why));
        }
        // Invalid rules grant nothing.
        let rules: Vec<PolicyRule> = serde_json::from_value(self.new["rules"].clone()).unwrap_or_default();
        self.check_rules(policy, user, &rules)
    }

    fn check_binding(&self, policy: &Policy, user: &User) -> Result<()> {
        let reference: RoleRef = serde_json::from_value(self.new["roleRef"].clone()).unwrap_or_default();
        let (roles, within) = match reference.kind.as_str() {
            "Role" => ("roles", self.namespace.unwrap_or_default()),
            _ => ("clusterroles", self.namespace.unwrap_or_default()),
        };
        let bind = Action::on_resource("bind", RBAC_GROUP, roles)
            .within(within)
            .named(&reference.name);
        if authorize(policy, user, &bind).is_allowed() {
            return Ok(());
        }
        match policy.role(self.namespace, &reference) {
            Some(role) => self.check_rules(policy, user, &role.rules),
            // The real server names the resource of the binding here.
            None => Err(Status::not_found(Subject {
                name: &reference.name,
                ..self.subject()
            })),
        }
    }

    fn check_rules(&self, policy: &Policy, user: &User, wanted: &[PolicyRule]) -> Result<()> {
        let (held, missing_roles) = policy.rules(user, self.namespace.unwrap_or_default());
        let missing = missing(&held, wanted);
        if missing.is_empty() {
            return Ok(());
        }
        let missing: Vec<String> = missing.iter().map(ToString::to_string).collect();
        let mut why = format!(
            "user {:?} (groups={}) is attempting to grant RBAC permissions not currently held:\n{}",
            user.name(),
            quoted(user.groups()),
            missing.join("\n")
        );
        let missing_roles = missing_roles.texts();
        if !missing_roles.is_empty() {
            why += "; resolution errors: [";
            why += &missing_roles.join(" ");
            why.push(']');
        }
        Err(Status::forbidden(self.subject(), &why))
    }
}

/// Returns the rules of `cluster-admin`.
fn all_permissions() -> [PolicyRule; 2] {
    let all = || vec!["*".to_owned()];
    [
        PolicyRule {
            verbs: all(),
            api_groups: all(),
            resources: all(),
            ..PolicyRule::default()
        },
        PolicyRule {
            verbs: all(),
            non_resource_urls: all(),
            ..PolicyRule::default()
        },
    ]
}

/// Returns whether garbage collection could make this change.
fn is_garbage_collection(old: &Value, new: &Value) -> bool {
    let plain = |object: &Value| {
        let mut object = object.clone();
        if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
            for field in [
                "ownerReferences",
                "finalizers",
                "managedFields",
                "resourceVersion",
            ] {
                metadata.remove(field);
            }
        }
        object
    };
    plain(old) == plain(new)
}
