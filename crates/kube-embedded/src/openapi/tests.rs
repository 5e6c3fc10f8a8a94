use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::*;

const KINDS: &str = include_str!("../api/kinds.txt");

fn group(text: &str) -> &str {
    if text == "-" { "" } else { text }
}

/// Returns the built-in resources in the table of kinds.
fn builtin() -> Vec<ResourceDoc<'static>> {
    let mut resources: Vec<ResourceDoc<'static>> = Vec::new();
    for line in KINDS.lines().filter(|l| !l.starts_with('#')) {
        let words: Vec<&str> = line.split_whitespace().collect();
        if line.starts_with(' ') {
            let [name, kind, verbs] = words.as_slice() else {
                panic!("{line}")
            };
            let kind: Vec<&str> = kind.split('/').collect();
            resources
                .last_mut()
                .expect("a resource before")
                .subresources
                .push(SubresourceDoc {
                    name,
                    group: group(kind[0]),
                    version: kind[1],
                    kind: kind[2],
                    verbs: verbs.split(',').collect(),
                });
        } else {
            resources.push(ResourceDoc {
                group: group(words[0]),
                version: words[1],
                plural: words[2],
                kind: words[4],
                list_kind: format!("{}List", words[4]),
                namespaced: words[5] == "namespaced",
                verbs: words[6].split(',').collect(),
                type_name: words[7].to_owned(),
                schema: None,
                subresources: Vec::new(),
            });
        }
    }
    resources
}

fn gizmo() -> CustomKind {
    CustomKind::from_crd(&json!({ "spec": {
        "group": "shop.test",
        "scope": "Namespaced",
        "names": { "plural": "gizmos", "kind": "Gizmo" },
        "versions": [{
            "name": "v1",
            "served": true,
            "storage": true,
            "subresources": {
                "status": {},
                "scale": { "specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas" },
            },
            "schema": { "openAPIV3Schema": {
                "type": "object",
                "description": "A thing on a shelf.",
                "properties": {
                    "spec": {
                        "type": "object",
                        "required": ["size"],
                        "properties": {
                            "size": { "type": "integer", "description": "How large it is.", "nullable": true },
                            "tmpl": {
                                "type": "object",
                                "x-kubernetes-embedded-resource": true,
                                "x-kubernetes-preserve-unknown-fields": true,
                            },
                        },
                    },
                },
            } },
        }],
    } }))
}

fn references(value: &Value, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(fields) => {
            if let Some(Value::String(to)) = fields.get("$ref") {
                found.insert(to.clone());
            }
            fields.values().for_each(|inner| references(inner, found));
        }
        Value::Array(items) => items.iter().for_each(|inner| references(inner, found)),
        _ => {}
    }
}

fn group_versions(resources: &[ResourceDoc<'static>]) -> BTreeSet<(&'static str, &'static str)> {
    resources.iter().map(|r| (r.group, r.version)).collect()
}

#[test]
fn all_references_have_a_target() {
    let resources = builtin();
    for (group, version) in group_versions(&resources) {
        let document = v3_document(group, version, &resources, Types::builtin());
        let mut found = BTreeSet::new();
        references(&document, &mut found);
        for reference in found {
            let schema = document.pointer(reference.trim_start_matches('#'));
            let is_there = schema.is_some_and(Value::is_object);
            assert!(is_there, "{reference} in {group}/{version}");
        }
    }
    let document = v2_document(&resources, Types::builtin());
    let mut found = BTreeSet::new();
    references(&document, &mut found);
    assert!(found.len() > 500);
    for reference in found {
        assert!(
            document
                .pointer(reference.trim_start_matches('#'))
                .is_some_and(Value::is_object),
            "{reference}"
        );
    }
}

#[test]
fn patches_have_their_parameters() {
    let document = v3_document("apps", "v1", &builtin(), Types::builtin());
    let patch = &document["paths"]["/apis/apps/v1/namespaces/{namespace}/deployments/{name}"]["patch"];
    assert_eq!(patch["operationId"], "patchAppsV1NamespacedDeployment");
    assert_eq!(
        patch["x-kubernetes-group-version-kind"],
        json!({ "group": "apps", "version": "v1", "kind": "Deployment" })
    );
    let names: Vec<&Value> = patch["parameters"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|p| &p["name"])
        .collect();
    assert_eq!(names, ["dryRun", "fieldManager", "fieldValidation", "force"]);
    assert!(patch["requestBody"]["content"]["application/strategic-merge-patch+json"].is_object());
    let schemas = &document["components"]["schemas"];
    assert_eq!(
        schemas["io.k8s.api.apps.v1.Deployment"]["x-kubernetes-group-version-kind"],
        json!([{ "group": "apps", "kind": "Deployment", "version": "v1" }])
    );
    assert_eq!(
        schemas["io.k8s.api.core.v1.PodSpec"]["properties"]["containers"],
        json!({
            "type": "array",
            "items": { "allOf": [{ "$ref": "#/components/schemas/io.k8s.api.core.v1.Container" }] },
            "x-kubernetes-list-map-keys": ["name"],
            "x-kubernetes-list-type": "map",
            "x-kubernetes-patch-merge-key": "name",
            "x-kubernetes-patch-strategy": "merge",
        })
    );
    let everywhere = &document["paths"]["/apis/apps/v1/deployments"]["get"];
    assert_eq!(everywhere["operationId"], "listAppsV1DeploymentForAllNamespaces");
    let scale = &document["paths"]["/apis/apps/v1/namespaces/{namespace}/deployments/{name}/scale"]["patch"];
    assert_eq!(scale["x-kubernetes-group-version-kind"]["kind"], "Scale");
}

#[test]
fn custom_kinds_have_their_schema() {
    let kind = gizmo();
    let resource = ResourceDoc::of_custom(&kind, kind.version("v1").expect("v1"));
    let document = v3_document(
        "shop.test",
        "v1",
        std::slice::from_ref(&resource),
        Types::builtin(),
    );
    let schema = &document["components"]["schemas"]["test.shop.v1.Gizmo"];
    assert_eq!(schema["properties"]["spec"]["required"], json!(["size"]));
    assert_eq!(
        schema["properties"]["spec"]["properties"]["size"]["nullable"],
        true
    );
    let embedded = &schema["properties"]["spec"]["properties"]["tmpl"]["properties"];
    assert_eq!(embedded["kind"]["type"], "string");
    let description = schema["properties"]["apiVersion"]["description"].as_str();
    assert!(description.is_some_and(|text| text.starts_with("APIVersion defines the versioned schema")));
    assert_eq!(
        schema["x-kubernetes-group-version-kind"],
        json!([{ "group": "shop.test", "kind": "Gizmo", "version": "v1" }])
    );
    assert!(document["components"]["schemas"]["test.shop.v1.GizmoList"]["properties"]["items"].is_object());
    let patch = &document["paths"]["/apis/shop.test/v1/namespaces/{namespace}/gizmos/{name}"]["patch"];
    assert_eq!(patch["operationId"], "patchShopTestV1NamespacedGizmo");
    assert_eq!(patch["tags"], json!(["shopTest_v1"]));
    let media: Vec<&String> = patch["requestBody"]["content"]
        .as_object()
        .into_iter()
        .flatten()
        .map(|(m, _)| m)
        .collect();
    assert!(
        !media.iter().any(|m| m.contains("strategic")),
        "custom resources have no strategic merge"
    );
    let old = v2_document(&[resource], Types::builtin());
    assert!(
        old["definitions"]["test.shop.v1.Gizmo"]["properties"]["spec"]["properties"]["size"]["nullable"]
            .is_null()
    );
}

/// Returns the schema of a custom resource in version 2.
fn version_2(schema: &Value) -> Value {
    let mut kind = gizmo();
    for version in &mut kind.versions {
        version.schema = schema.clone();
    }
    let resource = ResourceDoc::of_custom(&kind, kind.version("v1").expect("v1"));
    let document = v2_document(&[resource], Types::builtin());
    document["definitions"]["test.shop.v1.Gizmo"].clone()
}

#[test]
fn version_2_omits_the_fields_of_resources_with_unknown_fields() {
    let open = json!({
        "type": "object",
        "description": "Open",
        "x-kubernetes-preserve-unknown-fields": true,
        "properties": { "size": { "type": "integer" } },
    });
    let own_kind = json!([{ "group": "shop.test", "kind": "Gizmo", "version": "v1" }]);
    assert_eq!(
        version_2(&open),
        json!({ "type": "object", "x-kubernetes-group-version-kind": own_kind })
    );
    let inside = version_2(&json!({ "type": "object", "properties": { "spec": open } }));
    assert_eq!(
        inside["properties"]["spec"],
        json!({ "description": "Open", "x-kubernetes-preserve-unknown-fields": true })
    );
    assert_eq!(
        inside["properties"]["metadata"]["$ref"],
        "#/definitions/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
    );
}

#[test]
fn version_2_does_not_require_nullable_fields() {
    let schema = version_2(&json!({
        "type": "object",
        "properties": {
            "spec": {
                "type": "object",
                "required": ["size", "name"],
                "properties": {
                    "size": { "type": "integer", "nullable": true },
                    "name": { "type": "string" },
                },
            },
        },
    }));
    assert_eq!(
        schema["properties"]["spec"],
        json!({
            "type": "object",
            "required": ["name"],
            "properties": { "size": {}, "name": { "type": "string" } },
        })
    );
}

#[test]
fn the_index_changes_only_with_a_document() {
    let kind = gizmo();
    let resource = ResourceDoc::of_custom(&kind, kind.version("v1").expect("v1"));
    let one = v3_document(
        "shop.test",
        "v1",
        std::slice::from_ref(&resource),
        Types::builtin(),
    );
    let same = v3_document(
        "shop.test",
        "v1",
        std::slice::from_ref(&resource),
        Types::builtin(),
    );
    let other = v3_document("", "v1", &[], Types::builtin());
    let [one, same, other] = [one, same, other].map(|document| document.to_string().into_bytes());
    let index = v3_index([("shop.test", "v1", &one[..]), ("", "v1", &other[..])]);
    assert_eq!(
        index,
        v3_index([("shop.test", "v1", &same[..]), ("", "v1", &other[..])])
    );
    let url = |key: &str| {
        index["paths"][key]["serverRelativeURL"]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    };
    assert!(url("apis/shop.test/v1").starts_with("/openapi/v3/apis/shop.test/v1?hash="));
    assert!(url("api/v1").starts_with("/openapi/v3/api/v1?hash="));
    assert_ne!(hash(&one), hash(&other));
}
