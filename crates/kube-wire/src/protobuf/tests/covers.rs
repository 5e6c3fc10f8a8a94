//! Which types can be read from protobuf without missing anything.

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
#[expect(dead_code, reason = "only read into")]
struct Definition {
    spec: Versions,
}
#[derive(Deserialize)]
#[expect(dead_code, reason = "only read into")]
struct Versions {
    versions: Vec<Version>,
}
#[derive(Deserialize)]
#[expect(dead_code, reason = "only read into")]
struct Version {
    schema: CustomResourceValidation,
}

#[test]
fn kubernetes_own_types_are_covered() {
    assert!(covers::<Pod>());
    assert!(Schema::of("v1", "Secret").unwrap().covers::<Secret>());
    // Schemas hold themselves, which must come to an end.
    let schema = Schema::of("apiextensions.k8s.io/v1", "CustomResourceDefinition").unwrap();
    assert!(schema.covers::<Definition>());
    // Of one field k8s-openapi takes whatever there is.
    assert!(!schema.covers::<CustomResourceDefinition>());
}

#[test]
fn the_type_of_another_kind_wants_what_is_not_there() {
    assert!(!Schema::of("v1", "Secret").unwrap().covers::<Pod>());
}

/// Some of a pod, in many ways of saying so.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(dead_code, reason = "only read into")]
struct Small {
    api_version: String,
    metadata: ObjectMeta,
    spec: SmallSpec,
    #[serde(default)]
    status: Option<SmallStatus>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(dead_code, reason = "only read into")]
struct SmallSpec {
    node_name: Option<String>,
    containers: Vec<SmallContainer>,
    #[serde(default)]
    node_selector: BTreeMap<String, String>,
    restart_policy: Policy,
}

#[derive(Deserialize)]
#[expect(dead_code, reason = "only read into")]
struct SmallContainer {
    name: Box<str>,
    image: Option<String>,
}

#[derive(Deserialize)]
enum Policy {
    Always,
    Never,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(dead_code, reason = "only read into")]
struct SmallStatus {
    /// Text that is no address is refused by the type, which changes nothing.
    #[serde(rename = "podIP")]
    pod_ip: IpAddr,
    phase: String,
}

#[test]
fn a_small_struct_of_ones_own_is_covered() {
    assert!(covers::<Small>());
}

#[derive(Deserialize)]
#[expect(dead_code, reason = "only read into")]
struct With<T> {
    spec: T,
}

#[derive(Deserialize)]
#[expect(dead_code, reason = "only read into")]
struct Containers<T> {
    containers: Vec<T>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(dead_code, reason = "only read into")]
struct Newer {
    name: String,
    invented_tomorrow: Option<String>,
}

#[derive(Deserialize)]
#[expect(dead_code, reason = "only read into")]
struct Flat {
    name: String,
    #[serde(flatten)]
    rest: BTreeMap<String, Value>,
}

/// What comes after something that the type refuses is looked at, too.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(dead_code, reason = "only read into")]
struct AfterRefusal {
    node_name: IpAddr,
    containers: Vec<Newer>,
}

#[test]
fn a_field_that_is_not_known_is_missed_wherever_it_is() {
    assert!(!covers::<With<Containers<Newer>>>());
    assert!(!covers::<With<AfterRefusal>>());
}

#[derive(Deserialize)]
#[expect(dead_code, reason = "only read into")]
struct Labels {
    labels: BTreeMap<String, Value>,
    annotations: Value,
}
#[derive(Deserialize)]
#[expect(dead_code, reason = "only read into")]
struct Labelled {
    metadata: Labels,
}

#[test]
fn whoever_takes_whatever_there_is_would_miss_something() {
    assert!(!covers::<Value>());
    assert!(!covers::<With<Value>>());
    assert!(!covers::<With<Containers<Value>>>());
    assert!(!covers::<With<Containers<Flat>>>());
    assert!(!covers::<BTreeMap<String, Value>>());
    // Labels are text, whoever reads them.
    assert!(covers::<Labelled>());
}

#[test]
fn what_a_type_never_asks_for_is_unwanted() {
    let schema = Schema::of("v1", "Pod").unwrap();
    let unwanted = schema.unwanted::<Small>();
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
    // Kubernetes' own types want all that there is, but for fields of other releases.
    assert!(!schema.unwanted::<Pod>().contains(&["spec"]));
    assert!(
        !schema
            .unwanted::<Pod>()
            .contains(&["spec", "containers", "env", "valueFrom", "fieldRef"])
    );
    // Whoever takes whatever there is wants everything.
    assert!(schema.unwanted::<Value>().is_empty());
    // Newer than some versions of the type, and not worth a look into every probe.
    let newer = ["spec", "containers", "livenessProbe", "httpGet", "protocol"];
    assert!(!schema.unwanted::<Pod>().contains(&newer));
    // What makes an object known is always wanted.
    let unwanted = schema.unwanted::<With<Containers<SmallContainer>>>();
    assert!(unwanted.contains(&["metadata", "labels"]) && !unwanted.contains(&["metadata", "uid"]));
}

#[derive(Deserialize)]
#[expect(dead_code, reason = "it is only asked what it wants")]
struct Forgiving {
    spec: ForgivingSpec,
    metadata: Named,
}

#[derive(Deserialize)]
#[expect(dead_code, reason = "it is only asked what it wants")]
struct ForgivingSpec {
    template: Template,
}

#[derive(Deserialize)]
#[expect(dead_code, reason = "it is only asked what it wants")]
struct Template {
    #[serde(deserialize_with = "or_none")]
    spec: Option<Unprivileged>,
    metadata: Annotated,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(dead_code, reason = "it is only asked what it wants")]
struct Unprivileged {
    security_context: User,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(dead_code, reason = "it is only asked what it wants")]
struct User {
    run_as_user: NonZeroI64,
}

#[derive(Deserialize)]
#[expect(dead_code, reason = "it is only asked what it wants")]
struct Annotated {
    annotations: BTreeMap<String, String>,
}

#[derive(Deserialize)]
#[expect(dead_code, reason = "it is only asked what it wants")]
struct Named {
    name: String,
}

#[expect(clippy::unnecessary_wraps, reason = "serde wants it so")]
fn or_none<'de, D: Deserializer<'de>, T: Deserialize<'de>>(value: D) -> Result<Option<T>, D::Error> {
    Ok(T::deserialize(value).ok())
}

#[test]
fn a_type_that_forgives_a_refusal_loses_nothing_that_it_wants() {
    let schema = Schema::of("apps/v1", "Deployment").unwrap();
    assert!(schema.covers::<Forgiving>());
    let unwanted = schema.unwanted::<Forgiving>();
    assert!(!unwanted.contains(&["spec", "template", "metadata", "annotations"]));
    assert!(unwanted.contains(&["spec", "template", "metadata", "labels"]));
    assert!(unwanted.contains(&["metadata", "annotations"]));
    assert!(unwanted.contains(&["spec", "template", "spec", "volumes"]));
}
