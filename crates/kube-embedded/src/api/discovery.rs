//! The discovery documents, in the old format and aggregated.

use serde_json::{Map, Value, json};

use super::registry::{Group, Registry};
use super::resource::{Resource, Subresource, group_version};

/// Returns `/api`.
pub(crate) fn api_versions(address: &str) -> Value {
    json!({
        "kind": "APIVersions",
        "versions": ["v1"],
        "serverAddressByClientCIDRs": [{ "clientCIDR": "0.0.0.0/0", "serverAddress": address }],
    })
}

/// Returns `/apis`.
pub(crate) fn group_list(registry: &Registry) -> Value {
    let groups: Vec<Value> = named_groups(registry).map(group_body).collect();
    json!({ "kind": "APIGroupList", "apiVersion": "v1", "groups": groups })
}

/// Returns `/apis/<group>`.
pub(crate) fn group(group: &Group) -> Value {
    let mut document = group_body(group);
    document["kind"] = "APIGroup".into();
    document["apiVersion"] = "v1".into();
    document
}

fn named_groups(registry: &Registry) -> impl Iterator<Item = &Group> {
    registry.groups().iter().filter(|g| !g.name.is_empty())
}

fn group_body(group: &Group) -> Value {
    let versions: Vec<Value> = group
        .versions
        .iter()
        .map(|v| json!({ "groupVersion": group_version(&group.name, &v.name), "version": v.name }))
        .collect();
    json!({ "name": group.name, "versions": versions, "preferredVersion": versions[0] })
}

/// Returns `/api/v1` or `/apis/<group>/<version>`.
pub(crate) fn resource_list(registry: &Registry, group: &str, version: &str) -> Value {
    let mut resources = Vec::new();
    for resource in registry.resources(group, version) {
        resources.push(legacy_resource(resource));
        resources.extend(
            resource
                .subresources
                .iter()
                .map(|sub| legacy_subresource(resource, sub)),
        );
    }
    json!({
        "kind": "APIResourceList",
        "apiVersion": "v1",
        "groupVersion": group_version(group, version),
        "resources": resources,
    })
}

fn legacy_resource(resource: &Resource) -> Value {
    let mut entry = Map::new();
    entry.insert("name".into(), resource.plural.clone().into());
    entry.insert("singularName".into(), resource.singular.clone().into());
    entry.insert("namespaced".into(), resource.namespaced.into());
    entry.insert("kind".into(), resource.kind.clone().into());
    entry.insert("verbs".into(), resource.verbs.clone().into());
    add_names(&mut entry, resource);
    if !resource.storage_version_hash.is_empty() {
        entry.insert(
            "storageVersionHash".into(),
            resource.storage_version_hash.clone().into(),
        );
    }
    entry.into()
}

fn add_names(entry: &mut Map<String, Value>, resource: &Resource) {
    for (key, names) in [
        ("shortNames", &resource.short_names),
        ("categories", &resource.categories),
    ] {
        if !names.is_empty() {
            entry.insert(key.into(), names.clone().into());
        }
    }
}

fn legacy_subresource(resource: &Resource, sub: &Subresource) -> Value {
    let mut entry = json!({
        "name": format!("{}/{}", resource.plural, sub.name),
        "singularName": "",
        "namespaced": resource.namespaced,
        "kind": sub.kind,
        "verbs": sub.verbs,
    });
    if (&sub.group, &sub.version) != (&resource.group, &resource.version) {
        entry["group"] = sub.group.clone().into();
        entry["version"] = sub.version.clone().into();
    }
    entry
}

/// Returns the aggregated discovery of `/api` (the core group) or `/apis` (all others).
pub(crate) fn aggregated(registry: &Registry, core: bool) -> Value {
    let groups = registry.groups().iter().filter(|g| g.name.is_empty() == core);
    let items: Vec<Value> = groups.map(aggregated_group).collect();
    json!({
        "kind": "APIGroupDiscoveryList",
        "apiVersion": "apidiscovery.k8s.io/v2",
        "metadata": {},
        "items": items,
    })
}

fn aggregated_group(group: &Group) -> Value {
    let versions: Vec<Value> = group
        .versions
        .iter()
        .map(|version| {
            let resources: Vec<Value> = version.resources.iter().map(|r| aggregated_resource(r)).collect();
            json!({ "version": version.name, "resources": resources, "freshness": "Current" })
        })
        .collect();
    let metadata = if group.name.is_empty() {
        json!({})
    } else {
        json!({ "name": group.name })
    };
    json!({ "metadata": metadata, "versions": versions })
}

fn aggregated_resource(resource: &Resource) -> Value {
    let mut entry = Map::new();
    entry.insert("resource".into(), resource.plural.clone().into());
    entry.insert(
        "responseKind".into(),
        response_kind(resource, &resource.group, &resource.version, &resource.kind),
    );
    let scope = if resource.namespaced {
        "Namespaced"
    } else {
        "Cluster"
    };
    entry.insert("scope".into(), scope.into());
    entry.insert("singularResource".into(), resource.singular.clone().into());
    entry.insert("verbs".into(), resource.verbs.clone().into());
    add_names(&mut entry, resource);
    if !resource.subresources.is_empty() {
        let subresources: Vec<Value> = resource
            .subresources
            .iter()
            .map(|sub| {
                json!({
                    "subresource": sub.name,
                    "responseKind": response_kind(resource, &sub.group, &sub.version, &sub.kind),
                    "verbs": sub.verbs,
                })
            })
            .collect();
        entry.insert("subresources".into(), subresources.into());
    }
    entry.into()
}

/// Returns group, version and kind. Group and version are empty if they are the resource's, except for custom
/// resources.
fn response_kind(resource: &Resource, group: &str, version: &str, kind: &str) -> Value {
    if resource.custom().is_none() && group == resource.group && version == resource.version {
        return json!({ "group": "", "version": "", "kind": kind });
    }
    json!({ "group": group, "version": version, "kind": kind })
}
