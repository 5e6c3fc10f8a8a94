//! Coverage of types by schemas.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::num::NonZeroI64;

use k8s_openapi::api::core::v1::{Pod, Secret};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceDefinition, CustomResourceValidation,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::super::Schema;

fn covers<T: DeserializeOwned>() -> bool {
    Schema::of("v1", "Pod").unwrap().covers::<T>()
}

#[derive(Deserialize)]
#[expect(dead_code, reason = "only deserialized")]
struct Definition {
    spec: Versions,
}
#[derive(Deserialize)]
#[expect(dead_code, reason = "only deserialized")]
struct Versions {
    versions: Vec<Version>,
}
#[derive(Deserialize)]
#[expect(dead_code, reason = "only deserialized")]
struct Version {
    schema: CustomResourceValidation,
}

#[test]
fn covers_kubernetes_types() {
    assert!(covers::<Pod>());
    assert!(Schema::of("v1", "Secret").unwrap().covers::<Secret>());
    // Schemas are recursive.
    let schema = Schema::of("apiextensions.k8s.io/v1", "CustomResourceDefinition").unwrap();
    assert!(schema.covers::<Definition>());
    // k8s-openapi accepts any value for one field.
    assert!(!schema.covers::<CustomResourceDefinition>());
}

#[test]
fn does_not_cover_types_of_other_kinds() {
    assert!(!Schema::of("v1", "Secret").unwrap().covers::<Pod>());
}

/// A projection of a pod that uses various features of serde.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(dead_code, reason = "only deserialized")]
struct SmallPod {
    api_version: String,
    metadata: ObjectMeta,
    spec: SmallSpec,
    #[serde(default)]
    status: Option<SmallStatus>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(dead_code, reason = "only deserialized")]
struct SmallSpec {
    node_name: Option<String>,
    containers: Vec<SmallContainer>,
    #[serde(default)]
    node_selector: BTreeMap<String, String>,
    restart_policy: RestartMode,
}

#[derive(Deserialize)]
#[expect(dead_code, reason = "only deserialized")]
struct SmallContainer {
    name: Box<str>,
    image: Option<String>,
}

#[derive(Deserialize)]
enum RestartMode {
    Always,
    Never,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(dead_code, reason = "only deserialized")]
struct SmallStatus {
    /// The type rejects the probe value, which must not affect the result.
    #[serde(rename = "podIP")]
    pod_ip: IpAddr,
    phase: String,
}

#[test]
fn covers_projections() {
    assert!(covers::<SmallPod>());
}

#[derive(Deserialize)]
#[expect(dead_code, reason = "only deserialized")]
struct PodWithSpec<T> {
    spec: T,
}

#[derive(Deserialize)]
#[expect(dead_code, reason = "only deserialized")]
struct Containers<T> {
    containers: Vec<T>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(dead_code, reason = "only deserialized")]
struct NewerContainer {
    name: String,
    invented_tomorrow: Option<String>,
}

#[derive(Deserialize)]
#[expect(dead_code, reason = "only deserialized")]
struct FlattenedContainer {
    name: String,
    #[serde(flatten)]
    rest: BTreeMap<String, Value>,
}

/// Fields after a rejected value are probed as well.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(dead_code, reason = "only deserialized")]
struct SpecWithAddress {
    node_name: IpAddr,
    containers: Vec<NewerContainer>,
}

#[test]
fn does_not_cover_types_with_unknown_fields() {
    assert!(!covers::<PodWithSpec<Containers<NewerContainer>>>());
    assert!(!covers::<PodWithSpec<SpecWithAddress>>());
}

#[derive(Deserialize)]
#[expect(dead_code, reason = "only deserialized")]
struct StringMaps {
    labels: BTreeMap<String, Value>,
    annotations: Value,
}
#[derive(Deserialize)]
#[expect(dead_code, reason = "only deserialized")]
struct LabelledPod {
    metadata: StringMaps,
}

#[test]
fn does_not_cover_types_that_accept_any_field() {
    assert!(!covers::<Value>());
    assert!(!covers::<PodWithSpec<Value>>());
    assert!(!covers::<PodWithSpec<Containers<Value>>>());
    assert!(!covers::<PodWithSpec<Containers<FlattenedContainer>>>());
    assert!(!covers::<BTreeMap<String, Value>>());
    // Labels are strings, independently of the type that reads them.
    assert!(covers::<LabelledPod>());
}

#[test]
fn finds_unused_fields() {
    let schema = Schema::of("v1", "Pod").unwrap();
    let unwanted = schema.unused_fields::<SmallPod>();
    for path in [
        &["spec", "volumes"][..],
        &["spec", "containers", "env"],
        &["status", "conditions"],
        &["spec", "initContainers", "name"],
    ] {
        assert!(unwanted.contains(path), "{path:?}");
    }
    for path in [
        &["spec", "containers", "image"][..],
        &["spec", "nodeSelector", "any"],
        &["metadata", "labels", "any"],
        &["metadata", "managedFields"],
        &["status", "podIP"],
    ] {
        assert!(!unwanted.contains(path), "{path:?}");
    }
    // Kubernetes' types use all fields, except those of other releases.
    assert!(!schema.unused_fields::<Pod>().contains(&["spec"]));
    assert!(
        !schema
            .unused_fields::<Pod>()
            .contains(&["spec", "containers", "env", "valueFrom", "fieldRef"])
    );
    // Types that accept any field use all fields.
    assert!(schema.unused_fields::<Value>().is_empty());
    // Newer than some versions of the type, and deep inside probes.
    let newer = ["spec", "containers", "livenessProbe", "httpGet", "protocol"];
    assert!(!schema.unused_fields::<Pod>().contains(&newer));
    // Fields that identify an object are never unused.
    let unwanted = schema.unused_fields::<PodWithSpec<Containers<SmallContainer>>>();
    assert!(unwanted.contains(&["metadata", "labels"]) && !unwanted.contains(&["metadata", "uid"]));
}

#[derive(Deserialize)]
#[expect(dead_code, reason = "only probed")]
struct LenientDeployment {
    spec: LenientSpec,
    metadata: NameMetadata,
}

#[derive(Deserialize)]
#[expect(dead_code, reason = "only probed")]
struct LenientSpec {
    template: Template,
}

#[derive(Deserialize)]
#[expect(dead_code, reason = "only probed")]
struct Template {
    #[serde(deserialize_with = "or_none")]
    spec: Option<TemplateSpec>,
    metadata: TemplateMetadata,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(dead_code, reason = "only probed")]
struct TemplateSpec {
    security_context: SecurityContext,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(dead_code, reason = "only probed")]
struct SecurityContext {
    run_as_user: NonZeroI64,
}

#[derive(Deserialize)]
#[expect(dead_code, reason = "only probed")]
struct TemplateMetadata {
    annotations: BTreeMap<String, String>,
}

#[derive(Deserialize)]
#[expect(dead_code, reason = "only probed")]
struct NameMetadata {
    name: String,
}

#[expect(clippy::unnecessary_wraps, reason = "required signature")]
fn or_none<'de, D: Deserializer<'de>, T: Deserialize<'de>>(value: D) -> Result<Option<T>, D::Error> {
    Ok(T::deserialize(value).ok())
}

#[test]
fn ignored_errors_do_not_hide_used_fields() {
    let schema = Schema::of("apps/v1", "Deployment").unwrap();
    assert!(schema.covers::<LenientDeployment>());
    let unwanted = schema.unused_fields::<LenientDeployment>();
    assert!(!unwanted.contains(&["spec", "template", "metadata", "annotations"]));
    assert!(unwanted.contains(&["spec", "template", "metadata", "labels"]));
    assert!(unwanted.contains(&["metadata", "annotations"]));
    assert!(unwanted.contains(&["spec", "template", "spec", "volumes"]));
}
