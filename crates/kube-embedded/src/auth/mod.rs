//! Authentication by tokens, and authorization by RBAC.
//!
//! Depends on the store only. The HTTP service calls it before it dispatches a request.

mod action;
mod aggregation;
mod authentication;
mod bootstrap;
mod escalation;
mod impersonation;
mod policy;
mod rule;
#[cfg(test)]
mod tests;
mod token;
mod user;

use std::sync::Arc;

use parking_lot::Mutex;
use ring::hmac;

pub(crate) use action::{Action, ActionTarget};
pub(crate) use aggregation::aggregated_rules;
pub(crate) use authentication::{BoundObject, TokenSpec};
pub(crate) use bootstrap::bootstrap_objects;
pub(crate) use escalation::{RoleWrite, check_escalation};
pub(crate) use policy::{Decision, Policy, authorize};
pub(crate) use token::ISSUER;
pub use user::User;

use crate::status::{Result, Status};
use crate::store::{Stamp, Store};
use token::{Clock, Signer};

/// The requests that a server allows.
///
/// ```
/// use k8s_openapi::api::core::v1::Pod;
/// use kube::{Api, Error, api::ListParams};
/// use kube_embedded::{Authorization, Server, User};
/// use serde_json::json;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let server = Server::builder().authorization(Authorization::Rbac).start().await?;
/// server.load([
///     json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": "shop" } }),
///     json!({
///         "apiVersion": "v1", "kind": "ServiceAccount",
///         "metadata": { "name": "operator", "namespace": "shop" },
///     }),
///     json!({
///         "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role",
///         "metadata": { "name": "operator", "namespace": "shop" },
///         "rules": [{ "apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list", "watch"] }],
///     }),
///     json!({
///         "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding",
///         "metadata": { "name": "operator", "namespace": "shop" },
///         "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "operator" },
///         "subjects": [{ "kind": "ServiceAccount", "name": "operator", "namespace": "shop" }],
///     }),
/// ])?;
///
/// let operator = server.client_as(&User::service_account("shop", "operator"))?;
/// let here: Api<Pod> = Api::namespaced(operator.clone(), "shop");
/// assert!(here.list(&ListParams::default()).await.is_ok());
///
/// let elsewhere: Api<Pod> = Api::namespaced(operator, "default");
/// match elsewhere.list(&ListParams::default()).await {
///     Err(Error::Api(status)) => assert_eq!(status.code, 403),
///     other => panic!("expected a refusal, got {other:?}"),
/// }
/// # server.stop().await;
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Authorization {
    /// Allows all requests. They are not authenticated.
    #[default]
    AlwaysAllow,
    /// Authenticates requests, and allows them if a Role or ClusterRole of the user allows them.
    ///
    /// Bearer tokens authenticate requests: those of [`Server::token_for`](crate::Server::token_for), of the clients
    /// and kubeconfigs of the server, and those that clients request for ServiceAccounts. The headers `Impersonate-*`
    /// are supported, client certificates are not. The user of requests without a token is `system:anonymous`.
    ///
    /// The server starts with the ClusterRoles `cluster-admin`, `admin`, `edit`, `view`, `system:discovery`,
    /// `system:basic-user`, `system:public-info-viewer` and `system:auth-delegator`, and with their bindings.
    Rbac,
}

/// Why everything is allowed without authorization.
pub(crate) const OPEN: &str = "the embedded server allows everything";

/// The group whose members may do everything.
const MASTERS: &str = "system:masters";

/// The API group of roles and bindings.
pub(crate) const RBAC_GROUP: &str = "rbac.authorization.k8s.io";

/// Authentication and authorization of one server.
#[derive(Debug)]
pub(crate) struct Access {
    mode: Authorization,
    signer: Signer,
    admin: Arc<User>,
    admin_token: String,
    anonymous: Arc<User>,
    /// The policy of the last known roles and bindings.
    policy: Mutex<Option<(Stamp, Arc<Policy>)>>,
}

impl Access {
    /// Creates the access control of a server whose tokens are signed with `key`.
    pub(crate) fn new(mode: Authorization, key: hmac::Key) -> Access {
        let signer = Signer::new(key, Clock::start());
        let admin = User::named("kubernetes-admin").group(MASTERS);
        let admin_token = signer.user_token(&admin);
        Access {
            mode,
            signer,
            admin: Arc::new(admin.with_implied_groups()),
            admin_token,
            anonymous: Arc::new(User::named(user::ANONYMOUS).with_implied_groups()),
            policy: Mutex::new(None),
        }
    }

    /// Returns whether requests are authenticated and authorized.
    pub(crate) fn is_enforced(&self) -> bool {
        self.mode == Authorization::Rbac
    }

    /// Returns the user of the kubeconfig and of the default clients.
    pub(crate) fn admin(&self) -> &Arc<User> {
        &self.admin
    }

    /// Returns the token of [`Access::admin`].
    pub(crate) fn admin_token(&self) -> &str {
        &self.admin_token
    }

    /// Returns a token that does not expire, for any user.
    pub(crate) fn user_token(&self, user: &User) -> String {
        self.signer.user_token(user)
    }

    /// Returns whether this server has signed a token, valid or not.
    pub(crate) fn is_own_token(&self, token: &str) -> bool {
        self.signer.read(token).is_some()
    }

    /// Returns the policy of the stored roles and bindings.
    pub(crate) fn policy(&self, store: &Store) -> Arc<Policy> {
        let mut cached = self.policy.lock();
        // Before the objects are read: a concurrent write causes another build, not an outdated policy.
        let stamp = store.stamp(&policy::COLLECTIONS);
        match &*cached {
            Some((known, policy)) if *known == stamp => policy.clone(),
            previous => {
                let previous = previous.as_ref().map(|(_, policy)| &**policy);
                let policy = Arc::new(Policy::read(store, previous));
                *cached = Some((stamp, policy.clone()));
                policy
            }
        }
    }

    /// Checks that `user` may perform `action`.
    ///
    /// # Errors
    /// 403 if not.
    pub(crate) fn check(&self, store: &Store, user: &User, action: &Action) -> Result<()> {
        match authorize(&self.policy(store), user, action) {
            Decision::Allowed(_) => Ok(()),
            Decision::Denied(missing_roles) => Err(forbidden(user, action, &missing_roles.to_string())),
        }
    }
}

/// Returns the 403 of kube-apiserver.
fn forbidden(user: &User, action: &Action, reason: &str) -> Status {
    let mut why = format!("User {:?} cannot {action}", user.name());
    if !reason.is_empty() {
        why += ": ";
        why += reason;
    }
    match action.subject() {
        Some(subject) => {
            let mut status = Status::forbidden(subject, &why);
            // A path with an empty segment can have a resource without a name.
            if subject.resource.is_empty() {
                status.message = format!("forbidden: {why}");
            }
            status
        }
        None => Status::generic(403, "Forbidden", format!("forbidden: {why}")),
    }
}
