//! The demo's cluster: deployments that scale and roll, pods that are created and deleted, nodes that fail
//! and recover, and a custom resource with phases. It simulates the controllers and kubelets of a cluster.

use std::time::Duration;

use fastrand::Rng;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{Node, Pod};
use kube::api::{Api, DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use kube::core::{ApiResource, GroupVersionKind};
use kube::{Client, ResourceExt as _};
use serde_json::{Value, json};

use super::DemoResult;

/// Namespace and name of each application, and the images it is updated to.
const APPLICATIONS: [(&str, &str, &[&str]); 4] = [
    (
        "shop",
        "storefront",
        &[
            "shop/storefront:1.0",
            "shop/storefront:1.1",
            "shop/storefront:2.0",
        ],
    ),
    ("shop", "checkout", &["shop/checkout:7", "shop/checkout:8"]),
    ("data", "ingest", &["data/ingest:2026.10", "data/ingest:2026.11"]),
    ("data", "cache", &["valkey:8.0", "valkey:8.1"]),
];
const NODES: [&str; 3] = ["north", "south", "west"];

/// Simulates a cluster on an API server.
pub(super) struct DemoCluster {
    client: Client,
    rng: Rng,
    backups: Api<DynamicObject>,
    serial: u32,
}

impl DemoCluster {
    /// Creates nodes, namespaces, deployments and the custom resource definition.
    pub(super) async fn create(client: Client, seed: u64) -> DemoResult<DemoCluster> {
        let backup = ApiResource::from_gvk_with_plural(
            &GroupVersionKind::gvk("demo.example", "v1", "Backup"),
            "backups",
        );
        let backups = Api::namespaced_with(client.clone(), "data", &backup);
        let cluster = DemoCluster {
            client,
            rng: Rng::with_seed(seed),
            backups,
            serial: 0,
        };
        for namespace in ["shop", "data"] {
            let object =
                json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": namespace } });
            cluster
                .apply("", "v1", "Namespace", "namespaces", None, &object)
                .await?;
        }
        let crd = custom_kind();
        cluster
            .apply(
                "apiextensions.k8s.io",
                "v1",
                "CustomResourceDefinition",
                "customresourcedefinitions",
                None,
                &crd,
            )
            .await?;
        for name in NODES {
            let node = json!({ "apiVersion": "v1", "kind": "Node", "metadata": { "name": name } });
            cluster.apply("", "v1", "Node", "nodes", None, &node).await?;
            cluster.set_node(name, true).await?;
        }
        let secret = json!({
            "apiVersion": "v1", "kind": "Secret", "type": "Opaque",
            "metadata": { "name": "checkout-credentials", "namespace": "shop", "labels": { "app": "checkout" } },
            "stringData": { "user": "checkout", "password": "correct horse battery staple" },
        });
        cluster
            .apply("", "v1", "Secret", "secrets", Some("shop"), &secret)
            .await?;
        for (namespace, name, images) in APPLICATIONS {
            let object = deployment(namespace, name, images[0], 2);
            cluster
                .apply(
                    "apps",
                    "v1",
                    "Deployment",
                    "deployments",
                    Some(namespace),
                    &object,
                )
                .await?;
        }
        Ok(cluster)
    }

    async fn apply(
        &self,
        group: &str,
        version: &str,
        kind: &str,
        plural: &str,
        namespace: Option<&str>,
        object: &Value,
    ) -> DemoResult {
        let resource =
            ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(group, version, kind), plural);
        let api: Api<DynamicObject> = match namespace {
            Some(namespace) => Api::namespaced_with(self.client.clone(), namespace, &resource),
            None => Api::all_with(self.client.clone(), &resource),
        };
        let name = object["metadata"]["name"].as_str().unwrap_or_default();
        api.patch(name, &PatchParams::apply("demo").force(), &Patch::Apply(object))
            .await?;
        Ok(())
    }

    /// Changes the cluster until it is dropped: one random event per interval, or a step of the controllers if one is due.
    pub(super) async fn run(&mut self, pace: Duration) -> DemoResult {
        let mut interval = tokio::time::interval(pace);
        loop {
            interval.tick().await;
            if self.reconcile().await? {
                continue;
            }
            match self.rng.u8(..10) {
                0..=2 => self.scale().await?,
                3..=4 => self.roll().await?,
                5..=6 => self.delete_pod().await?,
                7 => self.toggle_node().await?,
                _ => self.advance_backups().await?,
            }
        }
    }

    /// Does one step towards the desired state of the deployments. Returns whether a step was necessary.
    async fn reconcile(&mut self) -> DemoResult<bool> {
        for (namespace, name, _) in APPLICATIONS {
            let deployments: Api<Deployment> = Api::namespaced(self.client.clone(), namespace);
            let pods: Api<Pod> = Api::namespaced(self.client.clone(), namespace);
            let wanted = deployments.get(name).await?;
            let image = image_of(&wanted);
            let replicas = wanted.spec.as_ref().and_then(|s| s.replicas).unwrap_or(1);
            let there = pods
                .list(&ListParams::default().labels(&format!("app={name}")))
                .await?
                .items;
            if let Some(starting) = there.iter().find(|p| !is_running(p)) {
                self.start_pod(&pods, &starting.name_any()).await?;
                return Ok(true);
            }
            let current = there.iter().filter(|p| pod_image(p) == image).count();
            let enough = usize::try_from(replicas).unwrap_or(0);
            if current < enough {
                self.serial += 1;
                let node = NODES[self.rng.usize(..NODES.len())];
                let pod = pod(&wanted, name, &image, node, self.serial);
                pods.create(&PostParams::default(), &serde_json::from_value(pod)?)
                    .await?;
                return Ok(true);
            }
            let surplus = there
                .iter()
                .find(|p| pod_image(p) != image)
                .or_else(|| (current > enough).then(|| &there[0]));
            if let Some(pod) = surplus {
                pods.delete(&pod.name_any(), &DeleteParams::default().grace_period(0))
                    .await?;
                return Ok(true);
            }
            let ready = json!({ "status": {
                "replicas": replicas, "readyReplicas": replicas, "availableReplicas": replicas,
                "updatedReplicas": replicas, "observedGeneration": wanted.metadata.generation,
            } });
            deployments
                .patch_status(name, &PatchParams::default(), &Patch::Merge(&ready))
                .await?;
        }
        Ok(false)
    }

    async fn start_pod(&self, pods: &Api<Pod>, name: &str) -> DemoResult {
        let status = json!({ "status": {
            "phase": "Running",
            "startTime": jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
            "conditions": [{ "type": "Ready", "status": "True" }],
            "containerStatuses": [{
                "name": "main", "ready": true, "started": true, "restartCount": 0, "image": "", "imageID": "",
                "state": { "running": {} },
            }],
        } });
        pods.patch_status(name, &PatchParams::default(), &Patch::Merge(&status))
            .await?;
        Ok(())
    }

    fn application(&mut self) -> (&'static str, &'static str, &'static [&'static str]) {
        APPLICATIONS[self.rng.usize(..APPLICATIONS.len())]
    }

    async fn scale(&mut self) -> DemoResult {
        let (namespace, name, _) = self.application();
        let replicas = self.rng.u8(1..=5);
        let api: Api<Deployment> = Api::namespaced(self.client.clone(), namespace);
        let patch = json!({ "spec": { "replicas": replicas } });
        api.patch_scale(name, &PatchParams::default(), &Patch::Merge(&patch))
            .await?;
        Ok(())
    }

    async fn roll(&mut self) -> DemoResult {
        let (namespace, name, images) = self.application();
        let image = images[self.rng.usize(..images.len())];
        let api: Api<Deployment> = Api::namespaced(self.client.clone(), namespace);
        let patch = json!({ "spec": { "template": { "spec": { "containers": [{ "name": "main", "image": image }] } } } });
        api.patch(name, &PatchParams::default(), &Patch::Strategic(&patch))
            .await?;
        Ok(())
    }

    async fn delete_pod(&mut self) -> DemoResult {
        let (namespace, name, _) = self.application();
        let pods: Api<Pod> = Api::namespaced(self.client.clone(), namespace);
        let there = pods
            .list(&ListParams::default().labels(&format!("app={name}")))
            .await?
            .items;
        if let Some(pod) = there.first() {
            pods.delete(&pod.name_any(), &DeleteParams::default().grace_period(0))
                .await?;
        }
        Ok(())
    }

    async fn set_node(&self, name: &str, ready: bool) -> DemoResult {
        let nodes: Api<Node> = Api::all(self.client.clone());
        let (status, reason) = if ready {
            ("True", "KubeletReady")
        } else {
            ("False", "KubeletNotReady")
        };
        let patch =
            json!({ "status": { "conditions": [{ "type": "Ready", "status": status, "reason": reason }] } });
        nodes
            .patch_status(name, &PatchParams::default(), &Patch::Strategic(&patch))
            .await?;
        Ok(())
    }

    async fn toggle_node(&mut self) -> DemoResult {
        let name = NODES[self.rng.usize(..NODES.len())];
        let nodes: Api<Node> = Api::all(self.client.clone());
        let node = nodes.get(name).await?;
        let conditions = node.status.and_then(|s| s.conditions).unwrap_or_default();
        let ready = conditions
            .iter()
            .any(|c| c.type_ == "Ready" && c.status == "True");
        self.set_node(name, !ready).await
    }

    /// Moves a backup to its next phase, deletes an old one, or creates one.
    async fn advance_backups(&mut self) -> DemoResult {
        let there = self.backups.list(&ListParams::default()).await?.items;
        let phase = |b: &DynamicObject| b.data["status"]["phase"].as_str().unwrap_or_default().to_owned();
        if let Some(next) = there.iter().find(|b| phase(b) != "Done") {
            let to = if phase(next).is_empty() { "Running" } else { "Done" };
            let patch = json!({ "status": { "phase": to } });
            self.backups
                .patch_status(&next.name_any(), &PatchParams::default(), &Patch::Merge(&patch))
                .await?;
            return Ok(());
        }
        if there.len() > 2 {
            self.backups
                .delete(&there[0].name_any(), &DeleteParams::default())
                .await?;
            return Ok(());
        }
        self.serial += 1;
        let backup = json!({
            "apiVersion": "demo.example/v1",
            "kind": "Backup",
            "metadata": { "name": format!("nightly-{}", self.serial) },
            "spec": { "of": "cache" },
        });
        self.backups
            .create(&PostParams::default(), &serde_json::from_value(backup)?)
            .await?;
        Ok(())
    }
}

fn custom_kind() -> Value {
    let object = |properties: Value| json!({ "type": "object", "properties": properties });
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": { "name": "backups.demo.example" },
        "spec": {
            "group": "demo.example",
            "scope": "Namespaced",
            "names": { "plural": "backups", "singular": "backup", "kind": "Backup", "shortNames": ["bk"] },
            "versions": [{
                "name": "v1",
                "served": true,
                "storage": true,
                "subresources": { "status": {} },
                "additionalPrinterColumns": [
                    { "name": "Of", "type": "string", "jsonPath": ".spec.of" },
                    { "name": "Phase", "type": "string", "jsonPath": ".status.phase" },
                ],
                "schema": { "openAPIV3Schema": object(json!({
                    "spec": object(json!({ "of": { "type": "string" } })),
                    "status": object(json!({ "phase": { "type": "string" } })),
                })) },
            }],
        },
    })
}

fn deployment(namespace: &str, name: &str, image: &str, replicas: i32) -> Value {
    json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": { "name": name, "namespace": namespace, "labels": { "app": name } },
        "spec": {
            "replicas": replicas,
            "selector": { "matchLabels": { "app": name } },
            "template": {
                "metadata": { "labels": { "app": name } },
                "spec": { "containers": [{ "name": "main", "image": image }] },
            },
        },
    })
}

fn pod(owner: &Deployment, name: &str, image: &str, node: &str, serial: u32) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": format!("{name}-{serial}"),
            "labels": { "app": name },
            "ownerReferences": [{
                "apiVersion": "apps/v1", "kind": "Deployment", "name": name, "uid": owner.metadata.uid, "controller": true,
            }],
        },
        "spec": { "nodeName": node, "containers": [{ "name": "main", "image": image }] },
    })
}

fn image_of(deployment: &Deployment) -> String {
    let spec = deployment.spec.as_ref().and_then(|s| s.template.spec.as_ref());
    spec.and_then(|s| s.containers.first()?.image.clone())
        .unwrap_or_default()
}

fn pod_image(pod: &Pod) -> String {
    pod.spec
        .as_ref()
        .and_then(|s| s.containers.first()?.image.clone())
        .unwrap_or_default()
}

fn is_running(pod: &Pod) -> bool {
    pod.status.as_ref().and_then(|s| s.phase.as_deref()) == Some("Running")
}
