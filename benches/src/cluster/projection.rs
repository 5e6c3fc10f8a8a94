//! A type with few fields of a pod.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::Resource;
use kube::api::ObjectMeta;
use serde::{Deserialize, Deserializer};

/// Name, namespace, owner, node and phase of a pod.
#[derive(Debug, Clone, Deserialize, Resource)]
#[resource(inherit = "Pod")]
pub(super) struct PodSummary {
    #[serde(deserialize_with = "metadata")]
    metadata: ObjectMeta,
    #[expect(dead_code, reason = "its memory is measured")]
    spec: SpecSummary,
    #[expect(dead_code, reason = "its memory is measured")]
    status: StatusSummary,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
struct SpecSummary {
    #[expect(dead_code, reason = "its memory is measured")]
    node_name: Option<Box<str>>,
}

#[derive(Debug, Clone, Deserialize)]
struct StatusSummary {
    #[expect(dead_code, reason = "its memory is measured")]
    phase: Option<Box<str>>,
}

/// The required metadata. Of the annotations, only the one of this benchmark.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct MetadataSummary {
    name: Option<String>,
    namespace: Option<String>,
    uid: Option<String>,
    resource_version: Option<String>,
    owner_references: Option<Vec<OwnerReference>>,
    #[serde(default)]
    annotations: AnnotationsSummary,
}

#[derive(Debug, Default, Deserialize)]
struct AnnotationsSummary {
    #[serde(rename = "bench.kube-informer.dev/touched")]
    touched: Option<String>,
}

fn metadata<'de, D: Deserializer<'de>>(deserializer: D) -> Result<ObjectMeta, D::Error> {
    let summary = MetadataSummary::deserialize(deserializer)?;
    let stamp = summary.annotations.touched;
    Ok(ObjectMeta {
        name: summary.name,
        namespace: summary.namespace,
        uid: summary.uid,
        resource_version: summary.resource_version,
        owner_references: summary.owner_references,
        annotations: stamp.map(|touched| BTreeMap::from([(super::STAMP.to_owned(), touched)])),
        ..ObjectMeta::default()
    })
}
