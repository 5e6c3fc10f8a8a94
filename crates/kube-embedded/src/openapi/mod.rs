//! The OpenAPI documents, from which clients read fields, patch strategies and query parameters.
//!
//! kubectl uses version 3, which has an index and a document for each group version. Version 2 in protobuf is a
//! fallback. The documents contain types, required fields, merge keys, patch strategies, group-version-kinds and
//! parameters, but no descriptions of built-in kinds.

mod custom;
mod gnostic;
mod names;
mod operations;
mod schemas;
#[cfg(test)]
mod tests;

use serde_json::{Map, Value, json};

use self::schemas::Schemas;
use crate::crd::{self, CustomKind, CustomVersion};
use crate::schema::Types;

/// A version of OpenAPI.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OpenApiVersion {
    V2,
    V3,
}

/// A resource in the documents.
#[derive(Debug, Clone)]
pub(crate) struct ResourceDoc<'a> {
    /// Empty for the core group.
    pub(crate) group: &'a str,
    pub(crate) version: &'a str,
    pub(crate) kind: &'a str,
    pub(crate) list_kind: String,
    pub(crate) plural: &'a str,
    pub(crate) namespaced: bool,
    /// OpenAPI name of the type, for example `io.k8s.api.core.v1.Pod`.
    pub(crate) type_name: String,
    /// The schema of a custom resource. Those of built-in kinds are in [`Types`].
    pub(crate) schema: Option<&'a Value>,
    /// For example `get`, `list` and `create`.
    pub(crate) verbs: Vec<&'a str>,
    pub(crate) subresources: Vec<SubresourceDoc<'a>>,
}

/// A subresource of a [`ResourceDoc`], with the kind of its responses.
#[derive(Debug, Clone)]
pub(crate) struct SubresourceDoc<'a> {
    pub(crate) name: &'a str,
    pub(crate) group: &'a str,
    pub(crate) version: &'a str,
    pub(crate) kind: &'a str,
    pub(crate) verbs: Vec<&'a str>,
}

impl<'a> ResourceDoc<'a> {
    /// Describes a version of a custom kind.
    pub(crate) fn of_custom(kind: &'a CustomKind, version: &'a CustomVersion) -> ResourceDoc<'a> {
        let verbs = "create delete deletecollection get list patch update watch";
        let own = version.status.then(|| SubresourceDoc {
            name: "status",
            group: &kind.group,
            version: &version.name,
            kind: &kind.kind,
            verbs: vec!["get", "patch", "update"],
        });
        let scale = version.scale.is_some().then(|| SubresourceDoc {
            name: "scale",
            group: "autoscaling",
            version: "v1",
            kind: "Scale",
            verbs: vec!["get", "patch", "update"],
        });
        ResourceDoc {
            group: &kind.group,
            version: &version.name,
            kind: &kind.kind,
            list_kind: kind.list_kind.clone(),
            plural: &kind.plural,
            namespaced: kind.namespaced,
            type_name: crd::type_name(&kind.group, &version.name, &kind.kind),
            schema: Some(&version.schema),
            verbs: verbs.split(' ').collect(),
            subresources: scale.into_iter().chain(own).collect(),
        }
    }

    /// Returns the name of the list's type.
    fn list_type(&self) -> String {
        match self.schema {
            None => format!("{}List", self.type_name),
            Some(_) => crd::type_name(self.group, self.version, &self.list_kind),
        }
    }
}

/// Returns the key of a group version in the index, which also ends the path of its document: `apis/apps/v1`.
pub(crate) fn v3_key(group: &str, version: &str) -> String {
    match group {
        "" => format!("api/{version}"),
        group => format!("apis/{group}/{version}"),
    }
}

/// Returns the response to `/openapi/v3`: the paths of the documents. The hash in a path changes with the document.
pub(crate) fn v3_index<'a>(documents: impl IntoIterator<Item = (&'a str, &'a str, &'a [u8])>) -> Value {
    let paths: Map<String, Value> = documents
        .into_iter()
        .map(|(group, version, document)| {
            let key = v3_key(group, version);
            let url = format!("/openapi/v3/{key}?hash={}", hash(document));
            (key, json!({ "serverRelativeURL": url }))
        })
        .collect();
    json!({ "paths": paths })
}

/// Returns a hash of a document.
fn hash(document: &[u8]) -> String {
    // FNV-1a with 128 bits, which need not resist forgery.
    let mut state: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
    for byte in document {
        state ^= u128::from(*byte);
        state = state.wrapping_mul(0x0000_0000_0100_0000_0000_0000_0000_013b);
    }
    format!("{state:032X}")
}

/// Returns the response to `/openapi/v3/apis/<group>/<version>`, for the resources of that group version.
pub(crate) fn v3_document(group: &str, version: &str, resources: &[ResourceDoc<'_>], types: &Types) -> Value {
    let mut schemas = Schemas::new(OpenApiVersion::V3, types);
    let mut paths = Map::new();
    let own = || {
        resources
            .iter()
            .filter(|r| r.group == group && r.version == version)
    };
    if own().any(|r| r.schema.is_none()) {
        operations::add_root(&mut paths, group, version, &mut schemas);
    }
    for resource in own() {
        operations::add(&mut paths, OpenApiVersion::V3, resource, &mut schemas);
    }
    json!({
        "openapi": "3.0.0",
        "info": info(),
        "paths": paths,
        "components": { "schemas": schemas.finish() },
    })
}

/// Returns the response to `/openapi/v2` in JSON.
pub(crate) fn v2_document(resources: &[ResourceDoc<'_>], types: &Types) -> Value {
    let mut schemas = Schemas::new(OpenApiVersion::V2, types);
    let mut paths = Map::new();
    for resource in resources {
        operations::add(&mut paths, OpenApiVersion::V2, resource, &mut schemas);
    }
    json!({
        "swagger": "2.0",
        "info": info(),
        "paths": paths,
        "definitions": schemas.finish(),
    })
}

/// Returns the response to `/openapi/v2` in protobuf, which only contains the parameters of patches.
pub(crate) fn v2_protobuf(resources: &[ResourceDoc<'_>]) -> Vec<u8> {
    let info = info();
    let text = |name: &str| info[name].as_str().unwrap_or_default().to_owned();
    gnostic::document(resources, &text("title"), &text("version"))
}

fn info() -> Value {
    json!({ "title": "Kubernetes", "version": "v1.36.3" })
}
