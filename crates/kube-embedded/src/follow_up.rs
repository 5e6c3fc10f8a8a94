//! Finds out which controllers have work after a write, and queues it for them.

use std::sync::Arc;

use crate::admission;
use crate::api::{Registry, Resource, custom_resources};
use crate::cluster::{Cluster, ControllerTask};
use crate::crd;
use crate::store::{EventKind, Key, ObjectRef, Stored};

/// Queues the tasks that a write causes. A changed definition is served immediately.
pub(crate) fn follow_up(cluster: &Cluster, resource: &Resource, kind: EventKind, object: &Arc<Stored>) {
    if resource.is("apiextensions.k8s.io", "CustomResourceDefinition") {
        rebuild_registry(cluster);
        match kind {
            EventKind::Deleted => {}
            _ if object.deleting => queue(cluster, ControllerTask::CustomKind(object.key.clone())),
            _ => queue(cluster, ControllerTask::Definition(object.key.clone())),
        }
    }
    if resource.is(admission::GROUP, "ValidatingAdmissionPolicy") && kind != EventKind::Deleted {
        queue(cluster, ControllerTask::AdmissionPolicy(object.key.clone()));
    }
    let place = || ObjectRef {
        collection: resource.collection.clone(),
        key: object.key.clone(),
    };
    if kind == EventKind::Deleted {
        queue(cluster, ControllerTask::OwnerGone(object.uid.clone()));
        // Owners may wait for the deletion of their dependents.
        for owner in &object.owners {
            if let Some(place) = cluster.store.by_uid(owner) {
                queue(cluster, ControllerTask::Owner(place));
            }
        }
        if let Some(namespace) = object.key.namespace() {
            queue_terminating_namespace(cluster, namespace);
        }
        if resource.custom().is_some() {
            queue_terminating_kind(cluster, resource);
        }
        return;
    }
    if !object.owners.is_empty() {
        queue(cluster, ControllerTask::Dependent(place()));
    }
    if kind == EventKind::Added
        && let Some(namespace) = object.key.namespace()
    {
        // The namespace may have been deleted after the request was admitted.
        let home = cluster.store.get("/namespaces", &Key::new(None, namespace));
        if home.is_none_or(|ns| ns.deleting) {
            queue(cluster, ControllerTask::Namespace(namespace.into()));
        }
    }
    if object.deleting {
        queue(cluster, ControllerTask::Owner(place()));
        if resource.is("", "Namespace") {
            queue_terminating_namespace(cluster, object.key.name());
        }
    }
}

fn queue(cluster: &Cluster, task: ControllerTask) {
    // Fails only while the server stops.
    let _ = cluster.tasks.send(task);
}

fn queue_terminating_namespace(cluster: &Cluster, namespace: &str) {
    let found = cluster.store.get("/namespaces", &Key::new(None, namespace));
    if found.is_some_and(|ns| ns.deleting) {
        queue(cluster, ControllerTask::Namespace(namespace.into()));
    }
}

fn queue_terminating_kind(cluster: &Cluster, resource: &Resource) {
    let key = Key::new(None, &format!("{}.{}", resource.plural, resource.group));
    if cluster
        .store
        .get(crd::COLLECTION, &key)
        .is_some_and(|crd| crd.deleting)
    {
        queue(cluster, ControllerTask::CustomKind(key));
    }
}

/// Serves the kinds of the current CustomResourceDefinitions.
pub(crate) fn rebuild_registry(cluster: &Cluster) {
    cluster.update_registry(|| {
        let crds = cluster.store.list(crd::COLLECTION, Key::range(None));
        Registry::with(crds.objects.iter().flat_map(|crd| custom_resources(&crd.value())))
    });
}
