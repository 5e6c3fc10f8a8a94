//! Roles and bindings, indexed by user and group, and decisions about actions.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use kube_wire::selector::Selector;
use serde::Deserialize;
use serde_json::Value;

use super::rule::PolicyRule;
use super::user::service_account_name;
use super::{Action, MASTERS, User};
use crate::scale::selector_text;
use crate::store::{Key, Store, Stored};

const ROLES: &str = "rbac.authorization.k8s.io/roles";
pub(super) const CLUSTER_ROLES: &str = "rbac.authorization.k8s.io/clusterroles";
const BINDINGS: &str = "rbac.authorization.k8s.io/rolebindings";
const CLUSTER_BINDINGS: &str = "rbac.authorization.k8s.io/clusterrolebindings";

/// The collections that define a policy.
pub(super) const COLLECTIONS: [&str; 4] = [ROLES, CLUSTER_ROLES, BINDINGS, CLUSTER_BINDINGS];

/// The roles and bindings at one version.
#[derive(Debug, Default)]
pub(crate) struct Policy {
    roles: HashMap<Key, Arc<Role>>,
    /// ClusterRoles that aggregate the rules of others, sorted by name.
    aggregating: Vec<Arc<Role>>,
    cluster_roles: Vec<Arc<Role>>,
    cluster_role_places: HashMap<Key, usize>,
    bindings: HashMap<Key, Arc<Binding>>,
    cluster_bindings: HashMap<Key, Arc<Binding>>,
    everywhere: BindingIndex,
    within: HashMap<String, BindingIndex>,
}

/// Bindings by user and group.
#[derive(Debug, Default)]
struct BindingIndex {
    users: HashMap<String, Vec<SubjectBinding>>,
    groups: HashMap<String, Vec<SubjectBinding>>,
}

/// A binding, for one of its subjects.
#[derive(Debug, Clone)]
struct SubjectBinding {
    binding: Arc<Binding>,
    subject: usize,
}

/// A Role or ClusterRole.
#[derive(Debug)]
pub(super) struct Role {
    pub(super) stored: Arc<Stored>,
    pub(super) rules: Vec<PolicyRule>,
    /// Selectors of the ClusterRoles that it aggregates.
    pub(super) selectors: Vec<Selector>,
}

/// A RoleBinding or ClusterRoleBinding.
#[derive(Debug)]
pub(super) struct Binding {
    stored: Arc<Stored>,
    role: RoleRef,
    subjects: Vec<BindingSubject>,
}

/// The role that a binding grants.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct RoleRef {
    pub(super) kind: String,
    pub(super) name: String,
}

/// A user, group or service account in a binding.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct BindingSubject {
    kind: String,
    name: String,
    namespace: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct RoleFields {
    rules: Option<Vec<PolicyRule>>,
    aggregation_rule: Option<AggregationRule>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct AggregationRule {
    cluster_role_selectors: Option<Vec<Value>>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct BindingFields {
    role_ref: RoleRef,
    subjects: Option<Vec<BindingSubject>>,
}

impl Role {
    fn read(stored: &Arc<Stored>) -> Role {
        // The store contains valid JSON.
        let fields: RoleFields = serde_json::from_slice(&stored.json()).unwrap_or_default();
        let aggregation = fields.aggregation_rule.unwrap_or_default();
        let selectors = aggregation.cluster_role_selectors.unwrap_or_default();
        Role {
            stored: stored.clone(),
            rules: fields.rules.unwrap_or_default(),
            selectors: selectors
                .iter()
                .filter_map(|s| selector_text(s).parse().ok())
                .collect(),
        }
    }
}

impl Binding {
    fn read(stored: &Arc<Stored>) -> Binding {
        let fields: BindingFields = serde_json::from_slice(&stored.json()).unwrap_or_default();
        Binding {
            stored: stored.clone(),
            role: fields.role_ref,
            subjects: fields.subjects.unwrap_or_default(),
        }
    }

    fn namespace(&self) -> Option<&str> {
        self.stored.key.namespace()
    }
}

/// An object that is decoded again only when it has changed.
trait FromStored {
    fn parse(stored: &Arc<Stored>) -> Self;
    fn stored(&self) -> &Arc<Stored>;
}

impl FromStored for Role {
    fn parse(stored: &Arc<Stored>) -> Role {
        Role::read(stored)
    }

    fn stored(&self) -> &Arc<Stored> {
        &self.stored
    }
}

impl FromStored for Binding {
    fn parse(stored: &Arc<Stored>) -> Binding {
        Binding::read(stored)
    }

    fn stored(&self) -> &Arc<Stored> {
        &self.stored
    }
}

fn parse<T: FromStored>(stored: &Arc<Stored>, known: Option<&Arc<T>>) -> Arc<T> {
    match known {
        Some(known) if Arc::ptr_eq(known.stored(), stored) => known.clone(),
        _ => Arc::new(T::parse(stored)),
    }
}

impl Policy {
    /// Decodes the roles and bindings of the store. Unchanged objects of `previous` are not decoded again.
    pub(super) fn read(store: &Store, previous: Option<&Policy>) -> Policy {
        let objects = |collection| store.list(collection, Key::range(None)).objects;
        Policy::of(
            &objects(ROLES),
            &objects(CLUSTER_ROLES),
            &objects(BINDINGS),
            &objects(CLUSTER_BINDINGS),
            previous,
        )
    }

    /// Returns the policy of these objects, each list sorted by key.
    pub(super) fn of(
        roles: &[Arc<Stored>],
        cluster_roles: &[Arc<Stored>],
        bindings: &[Arc<Stored>],
        cluster_bindings: &[Arc<Stored>],
        previous: Option<&Policy>,
    ) -> Policy {
        let mut policy = Policy::default();
        for stored in roles {
            let known = previous.and_then(|p| p.roles.get(&stored.key));
            policy.roles.insert(stored.key.clone(), parse(stored, known));
        }
        for stored in cluster_roles {
            let role = parse(stored, previous.and_then(|p| p.cluster_role(&stored.key)));
            if !role.selectors.is_empty() {
                policy.aggregating.push(role.clone());
            }
            let place = policy.cluster_roles.len();
            policy.cluster_role_places.insert(stored.key.clone(), place);
            policy.cluster_roles.push(role);
        }
        for stored in cluster_bindings {
            let known = previous.and_then(|p| p.cluster_bindings.get(&stored.key));
            let binding = parse(stored, known);
            policy.everywhere.add(&binding);
            policy.cluster_bindings.insert(stored.key.clone(), binding);
        }
        for stored in bindings {
            let known = previous.and_then(|p| p.bindings.get(&stored.key));
            let binding = parse(stored, known);
            let namespace = binding.namespace().unwrap_or_default().to_owned();
            policy.within.entry(namespace).or_default().add(&binding);
            policy.bindings.insert(stored.key.clone(), binding);
        }
        policy
    }

    fn cluster_role(&self, key: &Key) -> Option<&Arc<Role>> {
        self.cluster_roles.get(*self.cluster_role_places.get(key)?)
    }

    pub(super) fn cluster_roles(&self) -> &[Arc<Role>] {
        &self.cluster_roles
    }

    /// Returns the ClusterRoles that aggregate the rules of others.
    pub(super) fn aggregating(&self) -> &[Arc<Role>] {
        &self.aggregating
    }

    /// Returns the role of a binding in `namespace`, or of a cluster-wide binding.
    pub(super) fn role(&self, namespace: Option<&str>, reference: &RoleRef) -> Option<&Role> {
        match (reference.kind.as_str(), namespace) {
            ("Role", Some(_)) => self.roles.get(&Key::new(namespace, &reference.name)),
            ("ClusterRole", _) => self.cluster_role(&Key::new(None, &reference.name)),
            _ => None,
        }
        .map(|role| &**role)
    }

    /// Returns the bindings of a user, cluster-wide ones first. A binding is repeated if several of its subjects match.
    fn bound<'p, 'u>(
        &'p self,
        user: &'u User,
        namespace: &str,
    ) -> impl Iterator<Item = &'p SubjectBinding> + use<'p, 'u> {
        let indexes = [Some(&self.everywhere), self.within.get(namespace)];
        indexes
            .into_iter()
            .flatten()
            .flat_map(move |index| index.of(user))
    }

    /// Returns the bindings of a user without duplicates: cluster-wide ones first, then by name.
    fn bindings<'p>(&'p self, user: &User, namespace: &str) -> Vec<&'p Binding> {
        let mut bindings: Vec<&Binding> = self.bound(user, namespace).map(|b| &*b.binding).collect();
        bindings.sort_by_key(|binding| (binding.namespace().is_some(), &binding.stored.key));
        bindings.dedup_by(|a, b| Arc::ptr_eq(&a.stored, &b.stored));
        bindings
    }

    /// Returns all rules of a user in a namespace, and the missing roles of bindings.
    pub(crate) fn rules<'p>(&'p self, user: &User, namespace: &str) -> (Vec<&'p PolicyRule>, MissingRoles) {
        let mut rules = Vec::new();
        let mut missing_roles = MissingRoles::default();
        for binding in self.bindings(user, namespace) {
            match self.role(binding.namespace(), &binding.role) {
                Some(role) => rules.extend(&role.rules),
                None => missing_roles.missing.push(binding.role.clone()),
            }
        }
        (rules, missing_roles)
    }
}

impl BindingIndex {
    fn add(&mut self, binding: &Arc<Binding>) {
        for (at, subject) in binding.subjects.iter().enumerate() {
            let bound = SubjectBinding {
                binding: binding.clone(),
                subject: at,
            };
            let (index, name) = match subject.kind.as_str() {
                "User" => (&mut self.users, subject.name.clone()),
                "Group" => (&mut self.groups, subject.name.clone()),
                "ServiceAccount" => {
                    let namespace = subject.account_namespace(binding);
                    (&mut self.users, service_account_name(namespace, &subject.name))
                }
                _ => continue,
            };
            index.entry(name).or_default().push(bound);
        }
    }

    fn of<'p, 'u>(&'p self, user: &'u User) -> impl Iterator<Item = &'p SubjectBinding> + use<'p, 'u> {
        let by_name = self.users.get(user.name());
        let by_group = user.groups().iter().filter_map(|group| self.groups.get(group));
        by_name.into_iter().chain(by_group).flatten()
    }
}

impl BindingSubject {
    /// Returns the namespace of a service account, by default that of the binding.
    fn account_namespace<'a>(&'a self, binding: &'a Binding) -> &'a str {
        let named = self
            .namespace
            .as_deref()
            .filter(|namespace| !namespace.is_empty());
        named.or_else(|| binding.namespace()).unwrap_or_default()
    }
}

/// The decision about an action.
#[derive(Debug)]
pub(crate) enum Decision<'p> {
    /// Allowed by a binding, or because of the group `system:masters`.
    Allowed(Option<Grant<'p>>),
    /// Not allowed by any rule.
    Denied(MissingRoles),
}

/// The binding that allows an action.
#[derive(Debug)]
pub(crate) struct Grant<'p> {
    binding: &'p Binding,
    subject: usize,
}

/// Bindings of the user to missing roles.
#[derive(Debug, Default)]
pub(crate) struct MissingRoles {
    missing: Vec<RoleRef>,
}

/// Decides whether the policy allows `user` to perform `action`.
pub(crate) fn authorize<'p>(policy: &'p Policy, user: &User, action: &Action) -> Decision<'p> {
    if user.is_in(MASTERS) {
        return Decision::Allowed(None);
    }
    let namespace = action.namespace();
    let granted = policy.bound(user, namespace).find(|bound| {
        let role = policy.role(bound.binding.namespace(), &bound.binding.role);
        role.is_some_and(|role| role.rules.iter().any(|rule| rule.allows(action)))
    });
    match granted {
        Some(SubjectBinding { binding, subject }) => Decision::Allowed(Some(Grant {
            binding,
            subject: *subject,
        })),
        None => Decision::Denied(policy.rules(user, namespace).1),
    }
}

impl Decision<'_> {
    pub(crate) fn is_allowed(&self) -> bool {
        matches!(self, Decision::Allowed(_))
    }

    /// Returns the reason for reviews, which may be empty.
    pub(crate) fn reason(&self) -> String {
        match self {
            Decision::Allowed(Some(grant)) => grant.to_string(),
            Decision::Allowed(None) => String::new(),
            Decision::Denied(missing_roles) => missing_roles.to_string(),
        }
    }
}

impl MissingRoles {
    /// Returns one message per missing role.
    pub(super) fn texts(&self) -> Vec<String> {
        let text = |role: &RoleRef| {
            let kind = role.kind.to_ascii_lowercase();
            format!("{kind}.{} {:?} not found", super::RBAC_GROUP, role.name)
        };
        self.missing.iter().map(text).collect()
    }

    /// Returns the messages in kube-apiserver's format; empty if there are none.
    pub(crate) fn joined(&self) -> String {
        match self.texts().as_slice() {
            [] => String::new(),
            [one] => one.clone(),
            many => format!("[{}]", many.join(", ")),
        }
    }
}

impl fmt::Display for MissingRoles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.joined().as_str() {
            "" => Ok(()),
            text => write!(f, "RBAC: {text}"),
        }
    }
}

impl fmt::Display for Grant<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Binding {
            stored,
            role,
            subjects,
        } = self.binding;
        let name = stored.key.name();
        f.write_str("RBAC: allowed by ")?;
        match stored.key.namespace() {
            Some(namespace) => write!(f, "RoleBinding \"{name}/{namespace}\"")?,
            None => write!(f, "ClusterRoleBinding {name:?}")?,
        }
        write!(f, " of {} {:?}", role.kind, role.name)?;
        let Some(subject) = subjects.get(self.subject) else {
            return Ok(());
        };
        match subject.kind.as_str() {
            "ServiceAccount" => {
                let account_namespace = subject.account_namespace(self.binding);
                write!(f, " to ServiceAccount \"{}/{account_namespace}\"", subject.name)
            }
            kind => write!(f, " to {kind} {:?}", subject.name),
        }
    }
}
