//! Impersonation: the headers `Impersonate-*`.

use std::collections::BTreeMap;
use std::sync::Arc;

use http::HeaderMap;

use super::{Access, Action, Decision, Policy, User, authorize, forbidden};
use crate::status::{Result, Status};
use crate::store::Store;

const AUTHENTICATION_GROUP: &str = "authentication.k8s.io";
const EXTRA: &str = "impersonate-extra-";

impl Access {
    /// Returns the user of a request, who may be impersonated.
    ///
    /// # Errors
    /// 401 if the credentials are invalid, 403 if the user may not impersonate the other one.
    pub(crate) fn identify(&self, store: &Store, headers: &HeaderMap, action: &Action) -> Result<Arc<User>> {
        let user = self.authenticate(store, headers)?;
        let Some(requested) = requested(headers)? else {
            return Ok(user);
        };
        let requested = requested.with_account_groups();
        may_impersonate(&self.policy(store), &user, &requested, action)?;
        Ok(Arc::new(requested.with_implied_groups()))
    }
}

/// Returns the user in the headers.
fn requested(headers: &HeaderMap) -> Result<Option<User>> {
    let all = |name: &str| headers.get_all(name).into_iter().filter_map(|v| v.to_str().ok());
    let name = all("impersonate-user").next().unwrap_or_default();
    let groups: Vec<String> = all("impersonate-group").map(str::to_owned).collect();
    let uid = all("impersonate-uid").next().unwrap_or_default();
    let mut extra: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (header, value) in headers {
        let Some(key) = header.as_str().strip_prefix(EXTRA) else {
            continue;
        };
        // Header names are in lower case here. Escaped characters are decoded.
        let key = percent_encoding::percent_decode_str(key)
            .decode_utf8_lossy()
            .into_owned();
        let values = extra.entry(key).or_default();
        values.extend(value.to_str().map(str::to_owned));
    }
    if name.is_empty() {
        if groups.is_empty() && uid.is_empty() && extra.is_empty() {
            return Ok(None);
        }
        return Err(Status::bad_request(missing_user_name(uid, &groups, &extra)));
    }
    let mut user = User::named(name).uid(uid);
    for group in groups {
        user = user.group(group);
    }
    for (key, values) in extra {
        for value in values {
            user = user.extra(key.as_str(), value);
        }
    }
    Ok(Some(user))
}

/// Returns the error of headers without a user name.
fn missing_user_name(uid: &str, groups: &[String], extra: &BTreeMap<String, Vec<String>>) -> String {
    let slice = |values: &[String]| {
        let values: Vec<String> = values.iter().map(|v| format!("{v:?}")).collect();
        format!("[]string{{{}}}", values.join(", "))
    };
    let groups = if groups.is_empty() {
        "[]string(nil)".into()
    } else {
        slice(groups)
    };
    let extra = if extra.is_empty() {
        "map[string][]string(nil)".into()
    } else {
        let entries: Vec<String> = extra.iter().map(|(k, v)| format!("{k:?}:{}", slice(v))).collect();
        format!("map[string][]string{{{}}}", entries.join(", "))
    };
    format!(
        "requested &user.DefaultInfo{{Name:\"\", UID:{uid:?}, Groups:{groups}, Extra:{extra}}} without impersonating a \
         user name"
    )
}

impl User {
    /// Adds the groups of service accounts, if the user is one and has no groups.
    fn with_account_groups(self) -> User {
        match self.as_service_account() {
            Some((namespace, name)) if self.groups().is_empty() => {
                let mut user = User::service_account(namespace, name).uid(self.uid_text());
                for (key, values) in self.extras() {
                    for value in values {
                        user = user.extra(key.as_str(), value.as_str());
                    }
                }
                user
            }
            _ => self,
        }
    }
}

/// Checks that a user may impersonate another one, in general or for this action.
fn may_impersonate(policy: &Policy, user: &User, requested: &User, action: &Action) -> Result<()> {
    let general = checks(requested, "impersonate", "");
    let Some(refused) = refused(policy, user, &general) else {
        return Ok(());
    };
    // Kubernetes 1.36 also has permissions for single actions.
    let mode = match requested.as_service_account() {
        Some(_) => "serviceaccount",
        None if requested.name().starts_with("system:node:") => "arbitrary-node",
        None => "user-info",
    };
    let on_action = action.with_verb(format!("impersonate-on:{mode}:{}", action.verb));
    let mut limited = vec![on_action];
    limited.extend(checks(
        requested,
        &format!("impersonate:{mode}"),
        AUTHENTICATION_GROUP,
    ));
    let Some(limited) = self::refused(policy, user, &limited) else {
        return Ok(());
    };
    // Users with some general permissions get the error about those.
    let has_general = general
        .iter()
        .any(|check| authorize(policy, user, check).is_allowed());
    Err(if has_general { refused } else { limited })
}

/// Returns the error of the first action that is not allowed.
fn refused(policy: &Policy, user: &User, actions: &[Action]) -> Option<Status> {
    actions
        .iter()
        .find_map(|action| match authorize(policy, user, action) {
            Decision::Allowed(_) => None,
            Decision::Denied(missing_roles) => Some(forbidden(user, action, &missing_roles.to_string())),
        })
}

/// Returns the permissions that impersonation of `requested` requires. `group` is the API group of users and groups.
fn checks(requested: &User, verb: &str, group: &str) -> Vec<Action> {
    let on = |group: &str, resource: &str, name: &str| Action::on_resource(verb, group, resource).named(name);
    let account = requested.as_service_account();
    let mut checks = vec![match account {
        Some((namespace, name)) => on(group, "serviceaccounts", name).within(namespace),
        None => on(group, "users", requested.name()),
    }];
    // The groups of service accounts follow from the name.
    let implied = account.map(|(namespace, name)| User::service_account(namespace, name));
    if implied.is_none_or(|implied| implied.groups() != requested.groups()) {
        checks.extend(requested.groups().iter().map(|name| on(group, "groups", name)));
    }
    if !requested.uid_text().is_empty() {
        checks.push(on(AUTHENTICATION_GROUP, "uids", requested.uid_text()));
    }
    for (key, values) in requested.extras() {
        let extra = |value: &String| on(AUTHENTICATION_GROUP, "userextras", value).part(key);
        checks.extend(values.iter().map(extra));
    }
    checks
}
