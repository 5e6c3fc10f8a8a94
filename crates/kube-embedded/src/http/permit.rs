//! Whether a request is allowed.

use super::head::Head;
use crate::auth::Action;
use crate::cluster::Cluster;
use crate::status::Result;

/// What a request needs to be allowed.
#[derive(Debug)]
pub(super) enum Permit {
    /// Nothing: requests are not authorized.
    Unneeded,
    /// The policy must allow this action.
    For(Action),
}

impl Permit {
    /// Finds out who sends a request, which becomes the user of its head, and what it asks for.
    ///
    /// # Errors
    /// 401 if the credentials are not valid, 403 if the user may not impersonate another one.
    pub(super) fn request(cluster: &Cluster, head: &mut Head) -> Result<Permit> {
        if !cluster.access.is_enforced() {
            return Ok(Permit::Unneeded);
        }
        let watch = head.query.flag("watch");
        let selector = head.query.text("fieldSelector");
        let action = Action::of_request(&head.method, &head.path, watch, selector);
        let user = cluster.access.identify(&cluster.store, &head.headers, &action)?;
        head.user = Some(user);
        Ok(Permit::For(action))
    }

    /// Checks that the policy of this moment allows the request.
    pub(super) fn check(self, cluster: &Cluster, head: &Head) -> Result<()> {
        match (self, &head.user) {
            (Permit::For(action), Some(user)) => cluster.access.check(&cluster.store, user, &action),
            _ => Ok(()),
        }
    }
}
