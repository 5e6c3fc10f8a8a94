//! A pod as a program that needs little of it sees it.

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
    #[serde(deserialize_with = "wanted")]
    metadata: ObjectMeta,
    #[expect(dead_code, reason = "it is kept to be measured")]
    spec: Placed,
    #[expect(dead_code, reason = "it is kept to be measured")]
    status: Alive,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Placed {
    #[expect(dead_code, reason = "it is kept to be measured")]
    node_name: Option<Box<str>>,
}

#[derive(Debug, Clone, Deserialize)]
struct Alive {
    #[expect(dead_code, reason = "it is kept to be measured")]
    phase: Option<Box<str>>,
}

/// What is wanted of the metadata. Of the annotations it is only the one that this benchmark looks at.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Wanted {
    name: Option<String>,
    namespace: Option<String>,
    uid: Option<String>,
    resource_version: Option<String>,
    owner_references: Option<Vec<OwnerReference>>,
    #[serde(default)]
    annotations: Stamped,
}

#[derive(Debug, Default, Deserialize)]
struct Stamped {
    #[serde(rename = "bench.kube-informer.dev/touched")]
    touched: Option<String>,
}

fn wanted<'de, D: Deserializer<'de>>(deserializer: D) -> Result<ObjectMeta, D::Error> {
    let wanted = Wanted::deserialize(deserializer)?;
    let stamp = wanted.annotations.touched;
    Ok(ObjectMeta {
        name: wanted.name,
        namespace: wanted.namespace,
        uid: wanted.uid,
        resource_version: wanted.resource_version,
        owner_references: wanted.owner_references,
        annotations: stamp.map(|touched| BTreeMap::from([(super::STAMP.to_owned(), touched)])),
        ..ObjectMeta::default()
    })
}
