//! The cluster that the tests use.

use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};

use k8s_openapi::api::core::v1::Pod;
use kube::Api;
use kube::api::{DeleteParams, Patch, PatchParams};
use kube_embedded::Server;
use serde_json::{Value, json};

/// An embedded server, and its kubeconfig.
pub(crate) struct Cluster {
    pub(crate) server: Server,
    folder: PathBuf,
}

impl Cluster {
    pub(crate) async fn start() -> Cluster {
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let folder = std::env::temp_dir().join(format!("kubectl-informer-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        let server = Server::start().await.expect("a server");
        let cluster = Cluster { server, folder };
        cluster
            .server
            .write_kubeconfig(cluster.kubeconfig())
            .expect("a kubeconfig");
        cluster
    }

    pub(crate) fn kubeconfig(&self) -> PathBuf {
        self.file("config")
    }

    /// Returns the path of a file in the cluster's folder.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Creates or replaces an object.
    pub(crate) fn put(&self, object: Value) {
        self.server.load([object]).expect("an object that is accepted");
    }

    /// Patches a pod in the namespace `default`.
    pub(crate) async fn patch_pod(&self, name: &str, patch: Value) {
        let patched = self
            .pods()
            .patch(name, &PatchParams::default(), &Patch::Strategic(patch))
            .await;
        patched.expect("a patch that is accepted");
    }

    /// Deletes a pod in the namespace `default` without a grace period.
    pub(crate) async fn delete_pod(&self, name: &str) {
        let at_once = DeleteParams::default().grace_period(0);
        self.pods().delete(name, &at_once).await.expect("a pod");
    }

    fn pods(&self) -> Api<Pod> {
        Api::default_namespaced(self.server.client().expect("a client"))
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// Returns a pod in the namespace `default`.
pub(crate) fn pod(name: &str, node: &str, image: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {
            "name": name, "namespace": "default",
            "labels": { "app.kubernetes.io/name": "shop", "tier": "front" },
        },
        "spec": { "nodeName": node, "containers": [{ "name": "web", "image": image }] },
        "status": { "phase": "Running" },
    })
}

pub(crate) fn config_map(namespace: &str, name: &str, value: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": { "name": name, "namespace": namespace, "labels": { "app": name } },
        "data": { "key": value },
    })
}

pub(crate) fn namespace(name: &str) -> Value {
    json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": name } })
}

pub(crate) fn secret(name: &str, password: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Secret",
        "metadata": { "name": name, "namespace": "default" },
        "stringData": { "password": password },
    })
}

/// Returns the definition of a custom resource with its own column.
pub(crate) fn backups() -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": { "name": "backups.demo.example" },
        "spec": {
            "group": "demo.example", "scope": "Namespaced",
            "names": { "kind": "Backup", "plural": "backups", "singular": "backup", "shortNames": ["bk"] },
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "schema": { "openAPIV3Schema": { "type": "object", "properties": {
                    "phase": { "type": "string" },
                } } },
                "additionalPrinterColumns": [{ "name": "Phase", "type": "string", "jsonPath": ".phase" }],
            }],
        },
    })
}
