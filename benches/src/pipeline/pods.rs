//! The objects: small pods, the same for every subject. `client_go/pipeline/pods.go` generates the same.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{Container, EnvVar, Pod, PodSpec, PodStatus};
use kube::api::ObjectMeta;

/// Number of namespaces and of nodes; with 100,000 pods, each has a thousand pods.
pub const GROUPS: usize = 100;

/// Returns the namespace of a pod.
#[must_use]
pub fn namespace(number: usize) -> String {
    format!("team-{:03}", number % GROUPS)
}

/// Returns the name of a pod.
#[must_use]
pub fn name(number: usize) -> String {
    format!("web-{number:06}-x7k2p")
}

/// Returns the node of a pod.
#[must_use]
pub fn node(number: usize) -> String {
    format!("node-{:03}", number / GROUPS % GROUPS)
}

/// Returns a pod at a version.
#[must_use]
pub fn pod(number: usize, version: u64) -> Pod {
    let env = |name: &str, value: &str| EnvVar {
        name: name.into(),
        value: Some(value.into()),
        ..EnvVar::default()
    };
    Pod {
        metadata: ObjectMeta {
            name: Some(name(number)),
            namespace: Some(namespace(number)),
            uid: Some(format!("0d7b5bd6-5d3c-4b7e-9d54-{number:012}")),
            resource_version: Some(version.to_string()),
            labels: Some(BTreeMap::from([
                ("app".into(), "web".into()),
                ("tier".into(), "front".into()),
                ("pod-template-hash".into(), "6d4b75cb6d".into()),
            ])),
            annotations: Some(BTreeMap::from([(
                "checksum/config".into(),
                "9f86d081884c7d65".into(),
            )])),
            ..ObjectMeta::default()
        },
        spec: Some(PodSpec {
            node_name: Some(node(number)),
            containers: vec![Container {
                name: "web".into(),
                image: Some("registry.example/web:1.27".into()),
                env: Some(vec![env("MODE", "production"), env("REGION", "north")]),
                ..Container::default()
            }],
            ..PodSpec::default()
        }),
        status: Some(PodStatus {
            phase: Some("Running".into()),
            pod_ip: Some("10.1.2.3".into()),
            ..PodStatus::default()
        }),
    }
}

/// Returns pods `0..count`, all at one version.
#[must_use]
pub fn pods(count: usize, version: u64) -> Vec<Pod> {
    (0..count).map(|number| pod(number, version)).collect()
}

/// Returns the order of updates: each pod once per round, in the same pseudorandom order in each round.
#[must_use]
pub fn order(count: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..count).collect();
    fastrand::Rng::with_seed(7).shuffle(&mut order);
    order
}

/// Returns updates of `keys` pods, in rounds, with versions after `after`.
pub fn updates(keys: usize, after: u64) -> impl Iterator<Item = Pod> + Send {
    order(keys)
        .into_iter()
        .cycle()
        .zip(after + 1..)
        .map(|(number, version)| pod(number, version))
}
