//! Authentication and authorization of a request.

use super::head::RequestHead;
use crate::auth::Action;
use crate::cluster::Cluster;
use crate::status::Result;

/// The permission that a request needs.
#[derive(Debug)]
pub(super) enum Permission {
    /// None: requests are not authorized.
    None,
    /// The policy must allow this action.
    Action(Action),
}

impl Permission {
    /// Authenticates a request, sets the user of its head, and returns the permission that it needs.
    ///
    /// # Errors
    /// Returns 401 if the credentials are invalid, and 403 if the user may not impersonate another one.
    pub(super) fn of_request(cluster: &Cluster, head: &mut RequestHead) -> Result<Permission> {
        if !cluster.access.is_enforced() {
            return Ok(Permission::None);
        }
        let watch = head.query.flag("watch");
        let selector = head.query.text("fieldSelector");
        let action = Action::of_request(&head.method, &head.path, watch, selector);
        let user = cluster.access.identify(&cluster.store, &head.headers, &action)?;
        head.user = Some(user);
        Ok(Permission::Action(action))
    }

    /// Checks that the current policy allows the request.
    pub(super) fn check(self, cluster: &Cluster, head: &RequestHead) -> Result<()> {
        match (self, &head.user) {
            (Permission::Action(action), Some(user)) => cluster.access.check(&cluster.store, user, &action),
            _ => Ok(()),
        }
    }
}
