//! The OpenAPI documents of the served resources, built on first use.

use bytes::Bytes;
use serde_json::Value;

use super::registry::{Registry, Version};
use super::resource::{ObjectSchema, Resource};
use crate::openapi::{self, ResourceDoc, SubresourceDoc};
use crate::schema::Types;

/// Returns `/openapi/v3`.
pub(crate) fn v3_index(registry: &Registry) -> Value {
    let versions = registry
        .groups()
        .iter()
        .flat_map(|g| g.versions.iter().map(move |v| (g, v)));
    let documents: Vec<_> = versions
        .map(|(g, v)| (g.name.as_str(), v.name.as_str(), document(&g.name, v)))
        .collect();
    openapi::v3_index(
        documents
            .iter()
            .map(|(group, version, bytes)| (*group, *version, &bytes[..])),
    )
}

/// Returns `/openapi/v3/apis/<group>/<version>`, if it is served.
pub(crate) fn v3(registry: &Registry, group: &str, version: &str) -> Option<Bytes> {
    let found = registry
        .group(group)?
        .versions
        .iter()
        .find(|v| v.name == version)?;
    Some(document(group, found))
}

/// Returns `/openapi/v2`.
pub(crate) fn v2(registry: &Registry) -> Bytes {
    let resources: Vec<ResourceDoc<'_>> = registry.all().map(|r| describe(r)).collect();
    openapi::v2_document(&resources, Types::builtin())
        .to_string()
        .into()
}

/// Returns `/openapi/v2` in protobuf.
pub(crate) fn v2_protobuf(registry: &Registry) -> Bytes {
    let resources: Vec<ResourceDoc<'_>> = registry.all().map(|r| describe(r)).collect();
    openapi::v2_protobuf(&resources).into()
}

fn document(group: &str, version: &Version) -> Bytes {
    let make = || {
        let resources: Vec<ResourceDoc<'_>> = version.resources.iter().map(|r| describe(r)).collect();
        openapi::v3_document(group, &version.name, &resources, Types::builtin())
            .to_string()
            .into()
    };
    version.document.get_or_init(make).clone()
}

fn describe(resource: &Resource) -> ResourceDoc<'_> {
    if let ObjectSchema::Custom(custom) = &resource.schema
        && let Some(version) = custom.version(&resource.version)
    {
        return ResourceDoc::of_custom(custom, version);
    }
    let type_name = match &resource.schema {
        ObjectSchema::BuiltIn(Some(id)) => Types::builtin().get(*id).name.clone(),
        _ => String::new(),
    };
    ResourceDoc {
        group: &resource.group,
        version: &resource.version,
        kind: &resource.kind,
        list_kind: resource.list_kind.clone(),
        plural: &resource.plural,
        namespaced: resource.namespaced,
        type_name,
        schema: None,
        verbs: resource.verbs.iter().map(String::as_str).collect(),
        subresources: resource
            .subresources
            .iter()
            .map(|sub| SubresourceDoc {
                name: &sub.name,
                group: &sub.group,
                version: &sub.version,
                kind: &sub.kind,
                verbs: sub.verbs.iter().map(String::as_str).collect(),
            })
            .collect(),
    }
}
