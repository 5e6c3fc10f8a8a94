//! Validating admission policies: which of them apply to a request, and whether they allow it.
//!
//! [`Admission`] compiles the stored policies and bindings when they change. [`Policies::check`] evaluates those that match
//! a request. [`check_policy`] finds expressions that cannot be evaluated.

mod compile;
mod evaluate;
mod input;
mod matching;
mod params;
mod permissions;
mod policy;
mod request;
#[cfg(test)]
mod tests;
mod validate;

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::Value as Json;

pub(crate) use self::request::{Operation, Request};
pub(crate) use self::validate::check_policy;

use self::evaluate::{Denial, Reason, Variables};
use self::input::Inputs;
use self::matching::ResourceMatch;
use self::permissions::Permissions;
use self::policy::{Action, Binding, Policy};
use crate::api::Registry;
use crate::auth::Access;
use crate::cel::Value;
use crate::status::{Result, Status};
use crate::store::{Key, Stamp, Store, Stored};

/// The API group of the policies.
pub(crate) const GROUP: &str = "admissionregistration.k8s.io";
const POLICIES: &str = "admissionregistration.k8s.io/validatingadmissionpolicies";
const BINDINGS: &str = "admissionregistration.k8s.io/validatingadmissionpolicybindings";

/// The policies of one server, compiled.
#[derive(Debug, Default)]
pub(crate) struct Admission {
    compiled: Mutex<Option<(Stamp, Arc<Policies>)>>,
}

impl Admission {
    /// Returns whether there are bindings. Without them, no policy applies.
    pub(crate) fn has_bindings(store: &Store) -> bool {
        store.len(BINDINGS) > 0
    }

    /// Returns the policies that the stored objects define; `None` if there are no bindings.
    pub(crate) fn policies(&self, store: &Store) -> Option<Arc<Policies>> {
        if !Admission::has_bindings(store) {
            return None;
        }
        let mut compiled = self.compiled.lock();
        // Taken before the objects are read: a write in between leads to another compilation, not to stale policies.
        let stamp = store.stamp(&[POLICIES, BINDINGS]);
        if let Some((known, policies)) = &*compiled
            && *known == stamp
        {
            return Some(policies.clone());
        }
        let previous = compiled.take();
        let policies = Arc::new(Policies::read(store, previous.as_ref().map(|(_, p)| &**p)));
        *compiled = Some((stamp, policies.clone()));
        Some(policies)
    }
}

/// What a policy can refer to besides the request.
#[derive(Debug, Clone, Copy)]
pub(crate) struct State<'a> {
    pub(crate) store: &'a Store,
    pub(crate) registry: &'a Registry,
    pub(crate) access: &'a Access,
}

/// The policies that have bindings.
#[derive(Debug, Default)]
pub(crate) struct Policies {
    policies: Vec<(Arc<Policy>, Vec<Arc<Binding>>)>,
}

impl Policies {
    /// Reads the policies and bindings of the store. Those that `previous` contains are not compiled again.
    fn read(store: &Store, previous: Option<&Policies>) -> Policies {
        let mut bindings: BTreeMap<String, Vec<Arc<Binding>>> = BTreeMap::new();
        for stored in store.list(BINDINGS, Key::range(None)).objects {
            let binding = Binding::read(&stored);
            let policy = binding.policy.clone();
            bindings.entry(policy).or_default().push(Arc::new(binding));
        }
        let policies = bindings.into_iter().filter_map(|(name, bindings)| {
            let stored = store.get(POLICIES, &Key::new(None, &name))?;
            let policy = previous
                .and_then(|previous| previous.compiled(&stored))
                .unwrap_or_else(|| Arc::new(Policy::compile(&stored)));
            Some((policy, bindings))
        });
        Policies {
            policies: policies.collect(),
        }
    }

    fn compiled(&self, stored: &Arc<Stored>) -> Option<Arc<Policy>> {
        let mut policies = self.policies.iter().map(|(policy, _)| policy);
        policies
            .find(|policy| Arc::ptr_eq(&policy.stored, stored))
            .cloned()
    }

    /// Evaluates the policies that match a request; returns warnings for the client, and the first denial.
    pub(crate) fn check(&self, state: State<'_>, request: &Request<'_>) -> (Vec<String>, Result<()>) {
        if request.is_exempt() {
            return (Vec::new(), Ok(()));
        }
        let mut check = Check {
            state,
            request,
            inputs: Inputs::default(),
            permissions: None,
            warnings: Vec::new(),
            denied: None,
        };
        let result = self
            .policies
            .iter()
            .try_for_each(|(policy, bindings)| check.policy(policy, bindings));
        let result = result.and_then(|()| match check.denied.take() {
            None => Ok(()),
            Some((message, reason)) => Err(denial(request, &message, reason)),
        });
        (check.warnings, result)
    }
}

/// The evaluation of all policies for one request.
struct Check<'a> {
    state: State<'a>,
    request: &'a Request<'a>,
    inputs: Inputs,
    /// Made when a policy needs them.
    permissions: Option<Permissions>,
    warnings: Vec<String>,
    /// Message and reason of the first denial.
    denied: Option<(String, Reason)>,
}

impl Check<'_> {
    fn policy(&mut self, policy: &Policy, bindings: &[Arc<Binding>]) -> Result<()> {
        let matched = match policy.constraints.matches(self.state, self.request) {
            Ok(None) => return Ok(()),
            Ok(Some(matched)) => matched,
            Err(why) => {
                self.misconfigured(policy, None, &why);
                return Ok(());
            }
        };
        let params = match params::resource(policy.param_kind.as_ref(), self.state.registry) {
            Ok(params) => params,
            Err(why) => {
                self.misconfigured(policy, None, &why);
                return Ok(());
            }
        };
        for binding in bindings {
            let is_bound = match &binding.resources {
                None => Ok(true),
                Some(resources) => resources
                    .matches(self.state, self.request)
                    .map(|matched| matched.is_some()),
            };
            let collected = match is_bound {
                Ok(false) => continue,
                Ok(true) => params::collect(
                    params.as_ref(),
                    binding.params.as_ref(),
                    self.request,
                    self.state.store,
                ),
                Err(why) => Err(why),
            };
            match collected {
                Ok(params) => self.binding(policy, binding, &matched, &params)?,
                Err(why) => self.misconfigured(policy, Some(binding), &why),
            }
        }
        Ok(())
    }

    /// Evaluates a policy with each parameter of a binding.
    fn binding(
        &mut self,
        policy: &Policy,
        binding: &Binding,
        matched: &ResourceMatch,
        params: &[Json],
    ) -> Result<()> {
        if params.is_empty() {
            return Ok(());
        }
        let namespace = self.namespace()?;
        let input = self.inputs.of(self.request, matched);
        let permissions = policy.uses_permissions.then(|| {
            let State { access, store, .. } = self.state;
            &*self
                .permissions
                .get_or_insert_with(|| Permissions::new(access, store, self.request))
        });
        let outcomes: Vec<_> = params
            .iter()
            .map(|params| {
                policy.evaluate(&Variables {
                    input,
                    params: Value::from(params),
                    namespace: &namespace,
                    permissions,
                })
            })
            .collect();
        for denial in outcomes.iter().flatten() {
            self.denial(policy, binding, denial);
        }
        Ok(())
    }

    fn denial(&mut self, policy: &Policy, binding: &Binding, denial: &Denial) {
        let actions = if denial.is_validation {
            &*binding.actions
        } else {
            // An audit annotation is not subject to the actions.
            &[Action::Deny]
        };
        for action in actions {
            match action {
                Action::Deny => self.deny(policy, Some(binding), &denial.message, denial.reason),
                Action::Warn => self.warnings.push(format!(
                    "Validation failed for ValidatingAdmissionPolicy '{}' with binding '{}': {}",
                    policy.name, binding.name, denial.message
                )),
                Action::Audit => {}
            }
        }
    }

    fn deny(&mut self, policy: &Policy, binding: Option<&Binding>, message: &str, reason: Reason) {
        if self.denied.is_some() {
            return;
        }
        let with = binding.map_or_else(String::new, |b| format!(" with binding '{}'", b.name));
        let name = &policy.name;
        let message = format!("ValidatingAdmissionPolicy '{name}'{with} denied request: {message}");
        self.denied = Some((message, reason));
    }

    fn misconfigured(&mut self, policy: &Policy, binding: Option<&Binding>, why: &str) {
        if policy.ignores_errors {
            return;
        }
        let what = if binding.is_some() { "binding" } else { "policy" };
        let message = format!("failed to configure {what}: {why}");
        self.deny(policy, binding, &message, Reason::default());
    }

    /// Returns the namespace of the object, or null outside of namespaces.
    fn namespace(&self) -> Result<Value> {
        let name = self.request.namespace;
        if name.is_empty() || self.request.is_of_namespace() {
            return Ok(Value::Null);
        }
        match self.state.store.get("/namespaces", &Key::new(None, name)) {
            Some(namespace) => Ok(input::namespace_object(&namespace.value())),
            None => Err(request::no_namespace(name)),
        }
    }
}

/// Returns the response to a request that a policy denies.
fn denial(request: &Request<'_>, message: &str, reason: Reason) -> Status {
    let name = match request.name {
        "" => "Unknown",
        name => name,
    };
    let mut status = Status::forbidden(request.resource.subject(name), message).cause("", message, "");
    (status.reason, status.code) = reason.status();
    status
}
