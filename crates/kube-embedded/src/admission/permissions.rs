//! The variable `authorizer`.

use std::sync::Arc;

use super::request::Request;
use crate::auth::{Access, Action, ActionTarget, OPEN, Policy, User, authorize};
use crate::cel::{Authorizer, CheckTarget, PermissionCheck, PermissionDecision, Value};
use crate::store::Store;

/// The values of `authorizer` and `authorizer.requestResource`.
#[derive(Debug)]
pub(super) struct Permissions {
    pub(super) authorizer: Value,
    pub(super) of_request: Value,
}

impl Permissions {
    pub(super) fn new(access: &Access, store: &Store, request: &Request<'_>) -> Permissions {
        let authorizer = PermissionCheck::new(Arc::new(RequestAuthorizer {
            policy: access.is_enforced().then(|| access.policy(store)),
            user: request.user.clone(),
        }));
        let of_request = PermissionCheck {
            target: CheckTarget::Resource,
            group: request.resource.group.clone(),
            resource: request.resource.plural.clone(),
            subresource: request.subresource.to_owned(),
            namespace: request.namespace.to_owned(),
            name: request.name.to_owned(),
            ..authorizer.clone()
        };
        Permissions {
            authorizer: Value::Check(Arc::new(authorizer)),
            of_request: Value::Check(Arc::new(of_request)),
        }
    }
}

/// Decides about the user of a request.
#[derive(Debug)]
struct RequestAuthorizer {
    /// Without a policy, everything is allowed.
    policy: Option<Arc<Policy>>,
    user: User,
}

impl Authorizer for RequestAuthorizer {
    fn decide(&self, verb: &str, check: &PermissionCheck) -> PermissionDecision {
        let Some(policy) = &self.policy else {
            return PermissionDecision {
                is_allowed: true,
                reason: OPEN.into(),
            };
        };
        let account = check.account.as_ref();
        let account = account.map(|(namespace, name)| User::service_account(namespace, name));
        let action = Action {
            verb: verb.to_owned(),
            target: target(check),
        };
        let decision = authorize(policy, account.as_ref().unwrap_or(&self.user), &action);
        PermissionDecision {
            is_allowed: decision.is_allowed(),
            reason: decision.reason(),
        }
    }
}

fn target(check: &PermissionCheck) -> ActionTarget {
    if check.target == CheckTarget::Path {
        return ActionTarget::Path(check.resource.clone());
    }
    ActionTarget::Resource {
        group: check.group.clone(),
        resource: check.resource.clone(),
        subresource: check.subresource.clone(),
        namespace: check.namespace.clone(),
        name: check.name.clone(),
    }
}
