//! Which requests a policy or a binding is about.

use std::sync::Arc;

use kube_wire::selector::{Labels, Selector};
use serde_json::Value as Json;

use super::State;
use super::request::{Operation, Request, no_namespace};
use crate::api::Resource;
use crate::defaults::fields::{items, text};
use crate::scale::selector_text;
use crate::store::Key;

/// `matchConstraints` of a policy, or `matchResources` of a binding.
#[derive(Debug)]
pub(super) struct MatchResources {
    rules: Vec<Rule>,
    excluded: Vec<Rule>,
    /// Other versions of a resource do not match.
    is_exact: bool,
    namespaces: Selector,
    objects: Selector,
}

/// A rule with operations and names.
#[derive(Debug)]
struct Rule {
    groups: Vec<String>,
    versions: Vec<String>,
    operations: Vec<String>,
    resources: Vec<String>,
    names: Vec<String>,
    scope: String,
}

/// The resource that a rule matched: that of the request, or another version of it.
#[derive(Debug, Clone)]
pub(super) struct ResourceMatch(pub(super) Arc<Resource>);

/// The labels of an object.
struct ObjectLabels<'a>(&'a Json);

impl Labels for ObjectLabels<'_> {
    fn value(&self, key: &str) -> Option<&str> {
        self.0["metadata"]["labels"].get(key)?.as_str()
    }
}

impl MatchResources {
    pub(super) fn read(json: &Json) -> MatchResources {
        let rules = |name| items(json, name).iter().map(Rule::read).collect();
        MatchResources {
            rules: rules("resourceRules"),
            excluded: rules("excludeResourceRules"),
            is_exact: text(json, "matchPolicy") == "Exact",
            namespaces: selector(&json["namespaceSelector"]),
            objects: selector(&json["objectSelector"]),
        }
    }

    /// Returns the resource as which a request matches, if it does.
    ///
    /// # Errors
    /// If the namespace of a request that matches otherwise does not exist.
    pub(super) fn matches(
        &self,
        state: State<'_>,
        request: &Request<'_>,
    ) -> Result<Option<ResourceMatch>, String> {
        let is_in_namespace = self.matches_namespace(state, request);
        if is_in_namespace == Ok(false) || !self.matches_object(request) {
            return Ok(None);
        }
        if self.find(&self.excluded, state, request).is_some() {
            return Ok(None);
        }
        let matched = if self.rules.is_empty() {
            Some(ResourceMatch(request.resource.clone()))
        } else {
            self.find(&self.rules, state, request)
        };
        match matched {
            None => Ok(None),
            Some(matched) => is_in_namespace.map(|_| Some(matched)),
        }
    }

    fn matches_namespace(&self, state: State<'_>, request: &Request<'_>) -> Result<bool, String> {
        let is_of_cluster = request.namespace.is_empty() && !request.is_of_namespace();
        if is_of_cluster || self.namespaces.is_everything() {
            return Ok(true);
        }
        // A namespace that is being written is not in the store yet.
        if request.is_of_namespace()
            && request.subresource.is_empty()
            && matches!(request.operation, Operation::Create | Operation::Update)
        {
            let labels = request.object.map(ObjectLabels);
            return Ok(labels.is_some_and(|labels| self.namespaces.matches(&labels)));
        }
        let key = Key::new(None, request.namespace);
        match state.store.get("/namespaces", &key) {
            Some(namespace) => Ok(self.namespaces.matches(&*namespace.labels)),
            None => Err(no_namespace(request.namespace).message),
        }
    }

    /// Returns whether the labels of the object match, before or after the request.
    fn matches_object(&self, request: &Request<'_>) -> bool {
        let matches = |object: Option<&Json>| {
            // The options of a connection have no labels at all.
            object
                .filter(|object| object["metadata"].is_object())
                .is_some_and(|object| self.objects.matches(&ObjectLabels(object)))
        };
        self.objects.is_everything() || matches(request.object) || matches(request.old)
    }

    fn find(&self, rules: &[Rule], state: State<'_>, request: &Request<'_>) -> Option<ResourceMatch> {
        let matches = |resource: &Resource| rules.iter().any(|rule| rule.matches(resource, request));
        if matches(request.resource) {
            return Some(ResourceMatch(request.resource.clone()));
        }
        if self.is_exact || rules.is_empty() {
            return None;
        }
        let others = state.registry.all().filter(|other| {
            other.collection == request.resource.collection
                && !is_same(other, request.resource)
                && (request.subresource.is_empty() || other.subresource(request.subresource).is_some())
        });
        // The first rule that matches decides between several versions.
        let others: Vec<&Arc<Resource>> = others.collect();
        rules.iter().find_map(|rule| {
            let other = others.iter().find(|other| rule.matches(other, request));
            other.map(|other| ResourceMatch((*other).clone()))
        })
    }
}

fn is_same(one: &Resource, other: &Resource) -> bool {
    one.group == other.group && one.version == other.version
}

/// Reads a label selector. The validation of policies refuses those that cannot be read.
pub(super) fn selector(json: &Json) -> Selector {
    selector_text(json)
        .parse()
        .unwrap_or_else(|_| Selector::nothing())
}

impl Rule {
    fn read(json: &Json) -> Rule {
        let texts = |name| {
            let texts = items(json, name).iter().filter_map(Json::as_str);
            texts.map(str::to_owned).collect()
        };
        Rule {
            groups: texts("apiGroups"),
            versions: texts("apiVersions"),
            operations: texts("operations"),
            resources: texts("resources"),
            names: texts("resourceNames"),
            scope: text(json, "scope").to_owned(),
        }
    }

    fn matches(&self, resource: &Resource, request: &Request<'_>) -> bool {
        self.is_in_scope(request)
            && has(&self.operations, request.operation.name())
            && has(&self.groups, &resource.group)
            && has(&self.versions, &resource.version)
            && self.is_about(&resource.plural, request.subresource)
            && (self.names.is_empty() || self.names.iter().any(|name| name == request.name))
    }

    /// Namespaces belong to the cluster, although their requests have a namespace.
    fn is_in_scope(&self, request: &Request<'_>) -> bool {
        let is_namespaced = !request.is_of_namespace() && !request.namespace.is_empty();
        match self.scope.as_str() {
            "Namespaced" => is_namespaced,
            "Cluster" => !is_namespaced,
            _ => true,
        }
    }

    /// Returns whether a rule for `pods`, `pods/status`, `*/scale`, `pods/*` or `*` is about this part of a resource.
    fn is_about(&self, plural: &str, subresource: &str) -> bool {
        let fits = |wanted: &str, found: &str| wanted == "*" || wanted == found;
        self.resources.iter().any(|wanted| {
            let (wanted, part) = wanted.split_once('/').unwrap_or((wanted, ""));
            fits(wanted, plural) && fits(part, subresource)
        })
    }
}

fn has(wanted: &[String], found: &str) -> bool {
    wanted.iter().any(|wanted| wanted == "*" || wanted == found)
}
