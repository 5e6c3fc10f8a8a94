//! Users and service accounts.

use std::collections::BTreeMap;

use serde_json::{Value, json};

/// Name of the user of requests without credentials.
pub(super) const ANONYMOUS: &str = "system:anonymous";
/// Group of all users with credentials.
const AUTHENTICATED: &str = "system:authenticated";
/// Group of [`ANONYMOUS`].
const UNAUTHENTICATED: &str = "system:unauthenticated";
/// Group of all service accounts, and prefix of the group of those in a namespace.
const SERVICE_ACCOUNTS: &str = "system:serviceaccounts";
/// Prefix of the user names of service accounts.
const SERVICE_ACCOUNT: &str = "system:serviceaccount:";

/// A user or service account for RBAC.
///
/// ```
/// use kube_embedded::User;
///
/// let jane = User::named("jane").group("dev");
/// assert_eq!(jane.name(), "jane");
///
/// let operator = User::service_account("shop", "operator");
/// assert_eq!(operator.name(), "system:serviceaccount:shop:operator");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct User {
    name: String,
    uid: String,
    groups: Vec<String>,
    extra: BTreeMap<String, Vec<String>>,
}

impl User {
    /// Creates a user. The server adds the group `system:authenticated`.
    pub fn named(name: impl Into<String>) -> User {
        User {
            name: name.into(),
            uid: String::new(),
            groups: Vec::new(),
            extra: BTreeMap::new(),
        }
    }

    /// Creates the user of a service account, with the groups of service accounts. The account need not exist.
    pub fn service_account(namespace: &str, name: &str) -> User {
        User::named(service_account_name(namespace, name))
            .group(SERVICE_ACCOUNTS)
            .group(format!("{SERVICE_ACCOUNTS}:{namespace}"))
    }

    /// Adds a group.
    #[must_use]
    pub fn group(mut self, group: impl Into<String>) -> User {
        self.groups.push(group.into());
        self
    }

    /// Sets the uid.
    #[must_use]
    pub fn uid(mut self, uid: impl Into<String>) -> User {
        self.uid = uid.into();
        self
    }

    /// Adds a value to an extra field.
    #[must_use]
    pub fn extra(mut self, key: impl Into<String>, value: impl Into<String>) -> User {
        self.extra.entry(key.into()).or_default().push(value.into());
        self
    }

    /// Returns the name.
    pub fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn groups(&self) -> &[String] {
        &self.groups
    }

    pub(super) fn uid_text(&self) -> &str {
        &self.uid
    }

    pub(super) fn extras(&self) -> &BTreeMap<String, Vec<String>> {
        &self.extra
    }

    pub(super) fn is_in(&self, group: &str) -> bool {
        self.groups.iter().any(|g| g == group)
    }

    /// Adds the group of users with or without credentials.
    pub(super) fn with_implied_groups(self) -> User {
        if self.name == ANONYMOUS {
            return if self.is_in(UNAUTHENTICATED) {
                self
            } else {
                self.group(UNAUTHENTICATED)
            };
        }
        if self.is_in(AUTHENTICATED) || self.is_in(UNAUTHENTICATED) {
            self
        } else {
            self.group(AUTHENTICATED)
        }
    }

    /// Returns the namespace and name of a service account's user.
    pub(super) fn as_service_account(&self) -> Option<(&str, &str)> {
        let (namespace, name) = self.name.strip_prefix(SERVICE_ACCOUNT)?.split_once(':')?;
        let plain = |part: &str| !part.is_empty() && !part.contains(':');
        (plain(namespace) && plain(name)).then_some((namespace, name))
    }

    /// Returns the user in the format of reviews.
    pub(crate) fn to_json(&self) -> Value {
        let mut user = json!({ "username": self.name });
        if !self.uid.is_empty() {
            user["uid"] = self.uid.as_str().into();
        }
        if !self.groups.is_empty() {
            user["groups"] = self.groups.as_slice().into();
        }
        if !self.extra.is_empty() {
            user["extra"] = json!(self.extra);
        }
        user
    }

    /// Returns the user in the spec of a SubjectAccessReview.
    pub(crate) fn of_review(spec: &Value) -> User {
        let texts = |value: &Value| -> Vec<String> {
            let list = value.as_array().into_iter().flatten();
            list.filter_map(|v| v.as_str().map(str::to_owned)).collect()
        };
        let extra = spec["extra"].as_object().into_iter().flatten();
        User {
            name: spec["user"].as_str().unwrap_or_default().to_owned(),
            uid: spec["uid"].as_str().unwrap_or_default().to_owned(),
            groups: texts(&spec["groups"]),
            extra: extra.map(|(key, values)| (key.clone(), texts(values))).collect(),
        }
    }
}

/// Returns the user name of a service account.
pub(super) fn service_account_name(namespace: &str, name: &str) -> String {
    format!("{SERVICE_ACCOUNT}{namespace}:{name}")
}
