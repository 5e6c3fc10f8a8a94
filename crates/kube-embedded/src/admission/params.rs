//! The parameters of a binding.

use std::sync::Arc;

use kube_wire::selector::Selector;
use serde_json::Value as Json;

use super::matching::selector;
use super::request::Request;
use crate::api::{Registry, Resource};
use crate::convert;
use crate::defaults::fields::text;
use crate::store::{Key, Store, Stored};

/// `paramKind` of a policy.
#[derive(Debug)]
pub(super) struct ParamKind {
    group: String,
    version: String,
    kind: String,
}

/// `paramRef` of a binding.
#[derive(Debug)]
pub(super) struct ParamRef {
    name: String,
    selector: Selector,
    /// Empty for the namespace of the object.
    namespace: String,
    /// A request is denied if there are no parameters.
    is_needed: bool,
}

impl ParamKind {
    pub(super) fn read(json: &Json) -> Option<ParamKind> {
        let api_version = text(json, "apiVersion");
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        json.is_object().then(|| ParamKind {
            group: group.to_owned(),
            version: version.to_owned(),
            kind: text(json, "kind").to_owned(),
        })
    }
}

impl ParamRef {
    pub(super) fn read(json: &Json) -> Option<ParamRef> {
        json.is_object().then(|| ParamRef {
            name: text(json, "name").to_owned(),
            selector: selector(&json["selector"]),
            namespace: text(json, "namespace").to_owned(),
            is_needed: text(json, "parameterNotFoundAction") == "Deny",
        })
    }
}

/// Returns the resource of the parameters, if a policy has any.
///
/// # Errors
/// If the kind is not served.
pub(super) fn resource(
    kind: Option<&ParamKind>,
    registry: &Registry,
) -> Result<Option<Arc<Resource>>, String> {
    let Some(ParamKind { group, version, kind }) = kind else {
        return Ok(None);
    };
    match registry.find_kind(group, version, kind) {
        Some(resource) => Ok(Some(resource.clone())),
        None => Err(format!(
            "failed to find resource referenced by paramKind: '{group}/{version}, Kind={kind}'"
        )),
    }
}

/// Returns the parameters of a binding, or one that is null if the policy or the binding has none.
///
/// # Errors
/// If there are no such parameters although the binding needs them, or if they cannot be looked up.
pub(super) fn collect(
    resource: Option<&Arc<Resource>>,
    reference: Option<&ParamRef>,
    request: &Request<'_>,
    store: &Store,
) -> Result<Vec<Json>, String> {
    let (Some(resource), Some(reference)) = (resource, reference) else {
        return Ok(vec![Json::Null]);
    };
    let namespace = namespace_of(resource, reference, request)?;
    let found = reference.find(resource, namespace, store);
    if found.is_empty() && reference.is_needed {
        return Err("no params found for policy binding with `Deny` parameterNotFoundAction".into());
    }
    let params = found.iter();
    Ok(params
        .map(|params| convert::from_stored(params, resource))
        .collect())
}

impl ParamRef {
    fn find(&self, resource: &Resource, namespace: Option<&str>, store: &Store) -> Vec<Arc<Stored>> {
        if !self.name.is_empty() {
            let found = store.get(&resource.collection, &Key::new(namespace, &self.name));
            return found.into_iter().collect();
        }
        let mut found = store.list(&resource.collection, Key::range(namespace)).objects;
        found.retain(|object| self.selector.matches(&*object.labels));
        found
    }
}

fn namespace_of<'a>(
    resource: &Resource,
    reference: &'a ParamRef,
    request: &'a Request<'_>,
) -> Result<Option<&'a str>, String> {
    match (resource.namespaced, reference.namespace.as_str()) {
        (false, "") => Ok(None),
        (false, _) => Err("paramRef.namespace must not be provided for a cluster-scoped `paramKind`".into()),
        (true, "") if request.namespace.is_empty() => Err(
            "cannot use namespaced paramRef in policy binding that matches cluster-scoped resources".into(),
        ),
        (true, "") => Ok(Some(request.namespace)),
        (true, namespace) => Ok(Some(namespace)),
    }
}
