//! Controllers: garbage collection, deletion of namespaces, and the status of custom resource definitions and admission
//! policies.
//!
//! They perform the tasks of Kubernetes' garbage collector, namespace controller, apiextensions controllers and the
//! controller of admission policies. Each task is caused by a write.

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Value, json};
use tokio::sync::mpsc;

use crate::admission;
use crate::api::Resource;
use crate::cluster::{Cluster, ControllerTask};
use crate::crd;
use crate::store::{EventKind, Key, ObjectRef, Stored};
use crate::timestamp::timestamp;
use crate::verbs::{DeleteOptions, FOREGROUND, ORPHAN, Propagation, commit, delete_object, is_finished};

/// Performs tasks until the cluster is dropped.
pub(crate) async fn run(
    cluster: std::sync::Weak<Cluster>,
    mut tasks: mpsc::UnboundedReceiver<ControllerTask>,
) {
    while let Some(task) = tasks.recv().await {
        let Some(cluster) = cluster.upgrade() else { return };
        perform(&cluster, &task);
        drop(cluster);
        tokio::task::yield_now().await;
    }
}

fn perform(cluster: &Cluster, task: &ControllerTask) {
    match task {
        ControllerTask::OwnerGone(uid) => {
            for place in cluster.store.dependents(uid) {
                collect(cluster, &place, Some(uid));
            }
        }
        ControllerTask::Dependent(place) => collect(cluster, place, None),
        ControllerTask::Owner(place) => release(cluster, place),
        ControllerTask::Namespace(name) => delete_namespace_contents(cluster, name),
        ControllerTask::Definition(key) => establish(cluster, key),
        ControllerTask::CustomKind(key) => delete_custom_kind(cluster, key),
        ControllerTask::AdmissionPolicy(key) => report_policy(cluster, key),
    }
}

/// Accepts the names of a definition, unless they conflict with others, and establishes it.
pub(crate) fn establish(cluster: &Cluster, key: &Key) {
    let Some((definitions, place)) = definition(cluster, key) else {
        return;
    };
    change_stored(cluster, &definitions, &place, |definition| {
        if definition["metadata"].get("deletionTimestamp").is_none() {
            accept(cluster, definition);
        }
    });
}

/// Returns the reference and the resource of a definition.
pub(crate) fn definition(cluster: &Cluster, key: &Key) -> Option<(Arc<Resource>, ObjectRef)> {
    let registry = cluster.registry();
    let definitions = registry.find("apiextensions.k8s.io", "v1", "customresourcedefinitions")?;
    let place = ObjectRef {
        collection: definitions.collection.clone(),
        key: key.clone(),
    };
    Some((definitions.clone(), place))
}

/// Reports that a policy was processed. The types of its expressions are not checked, so there are no warnings.
fn report_policy(cluster: &Cluster, key: &Key) {
    let registry = cluster.registry();
    let Some(policies) = registry.find(admission::GROUP, "v1", "validatingadmissionpolicies") else {
        return;
    };
    let place = ObjectRef {
        collection: policies.collection.clone(),
        key: key.clone(),
    };
    change_stored(cluster, policies, &place, |policy| {
        let generation = policy["metadata"]["generation"].clone();
        if policy["status"]["observedGeneration"] != generation {
            policy["status"]["observedGeneration"] = generation;
            policy["status"]["typeChecking"] = json!({});
        }
    });
}

fn accept(cluster: &Cluster, definition: &mut Value) {
    let others: Vec<Value> = cluster
        .store
        .list(crd::COLLECTION, Key::range(None))
        .objects
        .iter()
        .map(|o| o.value())
        .collect();
    definition["status"] = crd::established_status(definition, &others, &timestamp(Timestamp::now()));
}

fn resource_of(cluster: &Cluster, place: &ObjectRef) -> Option<(Arc<Resource>, Arc<Stored>)> {
    let resource = cluster.registry().of_collection(&place.collection)?.clone();
    let object = cluster.store.get(&place.collection, &place.key)?;
    Some((resource, object))
}

/// Deletes an object if none of its owners exists. If only some are missing, removes their references.
fn collect(cluster: &Cluster, place: &ObjectRef, gone: Option<&str>) {
    let Some((resource, object)) = resource_of(cluster, place) else {
        return;
    };
    if object.deleting {
        return;
    }
    let value = object.value();
    let references = value["metadata"]["ownerReferences"].as_array();
    let references = references.map(Vec::as_slice).unwrap_or_default();
    // An owner of an unknown kind may exist, unless its deletion was observed.
    let is_gone = |owner: &Value| gone.is_some_and(|gone| owner["uid"] == *gone);
    if references
        .iter()
        .any(|owner| !is_gone(owner) && is_of_unknown_kind(cluster, owner))
    {
        return;
    }
    let is_there = |uid: &str| {
        let mut named = references.iter().filter(|owner| owner["uid"] == *uid);
        named.any(|owner| is_owner(cluster, owner, &object.key))
    };
    let waits = |uid: &str| waits_for_dependents(cluster, uid);
    let owners: Vec<&str> = object.owners.iter().map(|o| &**o).collect();
    if owners.is_empty() || owners.iter().all(|o| is_there(o) && !waits(o)) {
        return;
    }
    let solid = owners.iter().any(|o| is_there(o) && !waits(o));
    if solid {
        change_metadata(cluster, &resource, place, |metadata| {
            retain_owners(metadata, |uid| is_there(uid) && !waits(uid));
        });
        return;
    }
    let foreground = owners.iter().any(|o| waits(o));
    let propagation = if foreground {
        Propagation::Foreground
    } else {
        Propagation::Background
    };
    if foreground && has_waiting_dependents(cluster, &object.uid) {
        // In a cycle of owners, each object would wait for the next one.
        change_metadata(cluster, &resource, place, unblock_owners);
    }
    let options = DeleteOptions {
        propagation: Some(propagation),
        uid: Some(object.uid.to_string()),
        ..DeleteOptions::default()
    };
    // A concurrent write has queued its own tasks.
    let _ = delete_object(cluster, &resource, &place.key, &options);
}

/// Returns whether the owner in a reference exists, in the namespace of the dependent or cluster-scoped.
fn is_owner(cluster: &Cluster, reference: &Value, dependent: &Key) -> bool {
    let place = reference["uid"]
        .as_str()
        .and_then(|uid| cluster.store.by_uid(uid));
    place.is_some_and(|ObjectRef { key, .. }| {
        reference["name"] == *key.name()
            && (key.namespace().is_none() || key.namespace() == dependent.namespace())
    })
}

fn is_of_unknown_kind(cluster: &Cluster, reference: &Value) -> bool {
    let (api_version, kind) = (reference["apiVersion"].as_str(), reference["kind"].as_str());
    let (group, version) = match api_version.unwrap_or_default().split_once('/') {
        Some(both) => both,
        None => ("", api_version.unwrap_or_default()),
    };
    let known = cluster
        .registry()
        .find_kind(group, version, kind.unwrap_or_default())
        .is_some();
    !known
}

/// Returns whether an owner waits for the deletion of its dependents.
fn waits_for_dependents(cluster: &Cluster, uid: &str) -> bool {
    let Some(place) = cluster.store.by_uid(uid) else {
        return false;
    };
    let Some(object) = cluster.store.get(&place.collection, &place.key) else {
        return false;
    };
    object.deleting && has_finalizer(&object.value(), FOREGROUND)
}

fn has_waiting_dependents(cluster: &Cluster, uid: &str) -> bool {
    let dependents = cluster.store.dependents(uid);
    dependents.iter().any(|place| {
        let object = cluster.store.get(&place.collection, &place.key);
        object.is_some_and(|object| waits_for_dependents(cluster, &object.uid))
    })
}

/// Continues the deletion of an object that waits for its dependents.
fn release(cluster: &Cluster, place: &ObjectRef) {
    let Some((resource, object)) = resource_of(cluster, place) else {
        return;
    };
    if !object.deleting {
        return;
    }
    let value = object.value();
    if has_finalizer(&value, ORPHAN) {
        for dependent in cluster.store.dependents(&object.uid) {
            if let Some((resource, _)) = resource_of(cluster, &dependent) {
                change_metadata(cluster, &resource, &dependent, |metadata| {
                    retain_owners(metadata, |uid| *uid != *object.uid);
                });
            }
        }
        change_metadata(cluster, &resource, place, |metadata| {
            remove_finalizer(metadata, ORPHAN);
        });
    }
    if has_finalizer(&value, FOREGROUND) {
        let dependents = cluster.store.dependents(&object.uid);
        let mut blocked = false;
        for dependent in &dependents {
            collect(cluster, dependent, None);
            let left = cluster.store.get(&dependent.collection, &dependent.key);
            blocked |= left.is_some_and(|d| blocks(&d.value(), &object.uid));
        }
        if !blocked {
            change_metadata(cluster, &resource, place, |metadata| {
                remove_finalizer(metadata, FOREGROUND);
            });
        }
    }
}

/// Changes a stored object, and deletes it if the change removed its last finalizer.
pub(crate) fn change_stored(
    cluster: &Cluster,
    resource: &Arc<Resource>,
    place: &ObjectRef,
    change: impl Fn(&mut Value),
) {
    loop {
        let Some(current) = cluster.store.get(&place.collection, &place.key) else {
            return;
        };
        let old = current.value();
        let mut new = old.clone();
        change(&mut new);
        let finished = is_finished(&new);
        if new == old && !finished {
            return;
        }
        let kind = if finished {
            EventKind::Deleted
        } else {
            EventKind::Modified
        };
        if commit(
            cluster,
            resource,
            place.key.clone(),
            Some(current.revision),
            kind,
            new,
        )
        .is_ok()
        {
            return;
        }
    }
}

fn change_metadata(
    cluster: &Cluster,
    resource: &Arc<Resource>,
    place: &ObjectRef,
    change: impl Fn(&mut Value),
) {
    change_stored(cluster, resource, place, |object| change(&mut object["metadata"]));
}

/// Deletes the objects in a namespace that is being deleted, then the namespace.
fn delete_namespace_contents(cluster: &Cluster, name: &str) {
    let key = Key::new(None, name);
    if cluster
        .store
        .get("/namespaces", &key)
        .is_some_and(|ns| !ns.deleting)
    {
        return;
    }
    let registry = cluster.registry();
    let mut left = 0;
    let mut seen = Vec::new();
    for resource in registry.all().filter(|r| r.namespaced && r.allows("delete")) {
        if seen.contains(&&resource.collection) {
            continue;
        }
        seen.push(&resource.collection);
        for object in cluster
            .store
            .list(&resource.collection, Key::range(Some(name)))
            .objects
        {
            let options = DeleteOptions {
                propagation: Some(Propagation::Background),
                grace_period: Some(0),
                ..DeleteOptions::default()
            };
            let _ = delete_object(cluster, resource, &object.key, &options);
            left += usize::from(cluster.store.get(&resource.collection, &object.key).is_some());
        }
    }
    if left > 0 {
        return;
    }
    let Some(resource) = registry.find("", "v1", "namespaces") else {
        return;
    };
    let place = ObjectRef {
        collection: resource.collection.clone(),
        key,
    };
    change_stored(cluster, resource, &place, |namespace| {
        if let Some(spec) = namespace.get_mut("spec").and_then(Value::as_object_mut) {
            spec.remove("finalizers");
        }
    });
}

/// Deletes the objects of a custom kind that is being deleted, then its definition.
fn delete_custom_kind(cluster: &Cluster, key: &Key) {
    let Some((definitions, place)) = definition(cluster, key) else {
        return;
    };
    let registry = cluster.registry();
    let Some((_, definition)) = resource_of(cluster, &place) else {
        return;
    };
    let custom = registry
        .all()
        .filter(|r| r.custom().is_some() && format!("{}.{}", r.plural, r.group) == definition.key.name());
    let mut left = 0;
    for resource in custom {
        for object in cluster.store.list(&resource.collection, Key::range(None)).objects {
            let _ = delete_object(cluster, resource, &object.key, &DeleteOptions::default());
            left += usize::from(cluster.store.get(&resource.collection, &object.key).is_some());
        }
    }
    if left == 0 {
        change_metadata(cluster, &definitions, &place, |m| {
            remove_finalizer(m, crd::CLEANUP);
        });
    }
}

fn has_finalizer(object: &Value, name: &str) -> bool {
    object["metadata"]["finalizers"]
        .as_array()
        .is_some_and(|all| all.iter().any(|f| f == name))
}

fn remove_finalizer(metadata: &mut Value, name: &str) {
    if let Some(finalizers) = metadata.get_mut("finalizers").and_then(Value::as_array_mut) {
        finalizers.retain(|f| f != name);
        if finalizers.is_empty()
            && let Some(fields) = metadata.as_object_mut()
        {
            fields.remove("finalizers");
        }
    }
}

fn retain_owners(metadata: &mut Value, keep: impl Fn(&str) -> bool) {
    if let Some(owners) = metadata.get_mut("ownerReferences").and_then(Value::as_array_mut) {
        owners.retain(|o| o["uid"].as_str().is_some_and(&keep));
        if owners.is_empty()
            && let Some(fields) = metadata.as_object_mut()
        {
            fields.remove("ownerReferences");
        }
    }
}

fn unblock_owners(metadata: &mut Value) {
    let owners = metadata.get_mut("ownerReferences").and_then(Value::as_array_mut);
    for owner in owners.into_iter().flatten() {
        owner["blockOwnerDeletion"] = false.into();
    }
}

fn blocks(object: &Value, owner: &str) -> bool {
    object["metadata"]["ownerReferences"]
        .as_array()
        .into_iter()
        .flatten()
        .any(|o| o["uid"] == *owner && o["blockOwnerDeletion"] == true)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use serde_json::json;

    use super::*;
    use crate::auth::{Access, Authorization};
    use crate::cluster::Settings;

    #[tokio::test]
    async fn late_objects_in_a_deleted_namespace_are_deleted() {
        let settings = Settings {
            history: 10,
            bookmark_interval: Duration::from_secs(1),
            too_large_wait: Duration::from_secs(1),
            seed: Some(1),
            advertised: String::new(),
        };
        let (tasks, pending_tasks) = mpsc::unbounded_channel();
        let key = ring::hmac::Key::new(ring::hmac::HMAC_SHA256, b"test");
        let access = Access::new(Authorization::AlwaysAllow, key);
        let cluster = Arc::new(Cluster::new(settings, access, tasks));
        tokio::spawn(run(Arc::downgrade(&cluster), pending_tasks));
        let registry = cluster.registry();
        let maps = registry.find("", "v1", "configmaps").expect("config maps");
        let mut changed = cluster.store.subscribe(&maps.collection);
        // The namespace existed when the request was admitted, but not when the object was written.
        let key = Key::new(Some("gone"), "late");
        let object = json!({ "kind": "ConfigMap", "apiVersion": "v1", "metadata": { "name": "late", "namespace": "gone" } });
        commit(&cluster, maps, key.clone(), None, EventKind::Added, object).expect("written");
        let gone = async {
            while cluster.store.get(&maps.collection, &key).is_some() {
                changed.changed().await.expect("a change");
            }
        };
        tokio::time::timeout(Duration::from_secs(10), gone)
            .await
            .expect("it goes");
    }
}
