//! What follows from a deletion: dependents, the content of namespaces, the objects of a kind that is no more.
//!
//! These are the jobs of Kubernetes' garbage collector and namespace controller. They run beside the requests, one chore
//! at a time, each caused by a write; nothing is polled.

use std::sync::Arc;

use serde_json::Value;
use tokio::sync::mpsc;

use crate::api::{Registry, Resource};
use crate::auth::{RBAC_GROUP, aggregated_rules};
use crate::cluster::Cluster;
use crate::custom;
use crate::store::{EventKind, Key, Place, Stored};
use crate::verbs::{DeleteOptions, FOREGROUND, ORPHAN, Propagation};

/// Something to look after.
#[derive(Debug, Clone)]
pub(crate) enum Chore {
    /// An owner is gone: look at its dependents.
    OwnerGone(Box<str>),
    /// An object names owners: are they there?
    Dependent(Place),
    /// An object waits for its dependents.
    Owner(Place),
    /// A namespace is being deleted, or something was left behind in one that is gone.
    Namespace(Box<str>),
    /// A custom kind was defined, or defined anew.
    Definition(Key),
    /// A custom kind is being deleted.
    CustomKind(Key),
}

/// Does chores until the cluster is gone.
pub(crate) async fn run(cluster: std::sync::Weak<Cluster>, mut chores: mpsc::UnboundedReceiver<Chore>) {
    while let Some(chore) = chores.recv().await {
        let Some(cluster) = cluster.upgrade() else { return };
        cluster.do_chore(&chore);
        drop(cluster);
        tokio::task::yield_now().await;
    }
}

impl Cluster {
    /// Sees to what a write brings with it.
    pub(crate) fn follow_up(&self, resource: &Resource, kind: EventKind, object: &Arc<Stored>) {
        if resource.is("apiextensions.k8s.io", "CustomResourceDefinition") {
            self.rebuild_registry();
            match kind {
                EventKind::Deleted => {}
                _ if object.deleting => self.chore(Chore::CustomKind(object.key.clone())),
                _ => self.chore(Chore::Definition(object.key.clone())),
            }
        }
        if resource.is(RBAC_GROUP, "ClusterRole") && self.access.is_enforced() {
            self.aggregate_roles();
        }
        let place = || Place {
            collection: resource.collection.clone(),
            key: object.key.clone(),
        };
        if kind == EventKind::Deleted {
            self.chore(Chore::OwnerGone(object.uid.clone()));
            // Owners may be waiting for this one to go.
            for owner in &object.owners {
                if let Some(place) = self.store.by_uid(owner) {
                    self.chore(Chore::Owner(place));
                }
            }
            if let Some(namespace) = object.key.namespace() {
                self.look_after_namespace(namespace);
            }
            if resource.custom().is_some() {
                self.look_after_custom_kind(resource);
            }
            return;
        }
        if !object.owners.is_empty() {
            self.chore(Chore::Dependent(place()));
        }
        if kind == EventKind::Added
            && let Some(namespace) = object.key.namespace()
        {
            // It may have been let in just before its namespace was closed, or even gone.
            let home = self.store.get("/namespaces", &Key::new(None, namespace));
            if home.is_none_or(|ns| ns.deleting) {
                self.chore(Chore::Namespace(namespace.into()));
            }
        }
        if object.deleting {
            self.chore(Chore::Owner(place()));
            if resource.is("", "Namespace") {
                self.look_after_namespace(object.key.name());
            }
        }
    }

    fn chore(&self, chore: Chore) {
        // The receiver is gone only while the server stops.
        let _ = self.chores.send(chore);
    }

    fn look_after_namespace(&self, namespace: &str) {
        let found = self.store.get("/namespaces", &Key::new(None, namespace));
        if found.is_some_and(|ns| ns.deleting) {
            self.chore(Chore::Namespace(namespace.into()));
        }
    }

    fn look_after_custom_kind(&self, resource: &Resource) {
        let key = Key::new(None, &format!("{}.{}", resource.plural, resource.group));
        if self
            .store
            .get(custom::COLLECTION, &key)
            .is_some_and(|crd| crd.deleting)
        {
            self.chore(Chore::CustomKind(key));
        }
    }

    /// Gives every aggregating ClusterRole the rules of those that it selects.
    pub(crate) fn aggregate_roles(&self) {
        let registry = self.registry();
        let Some(resource) = registry.find(RBAC_GROUP, "v1", "clusterroles") else {
            return;
        };
        for (stored, rules) in aggregated_rules(&self.access.policy(&self.store)) {
            let mut role = stored.value();
            role["rules"] = rules;
            // A write that comes first aggregates, too; and this one does so again, for those that collect its rules.
            let _ = self.commit(
                resource,
                stored.key.clone(),
                Some(stored.revision),
                EventKind::Modified,
                role,
            );
        }
    }

    /// Serves what the CustomResourceDefinitions of this moment define.
    pub(crate) fn rebuild_registry(&self) {
        self.update_registry(|| {
            let crds = self.store.list(custom::COLLECTION, Key::range(None));
            Registry::with(
                crds.objects
                    .iter()
                    .flat_map(|crd| custom::resources(&crd.value())),
            )
        });
    }

    fn do_chore(&self, chore: &Chore) {
        match chore {
            Chore::OwnerGone(uid) => {
                for place in self.store.dependents(uid) {
                    self.collect(&place, Some(uid));
                }
            }
            Chore::Dependent(place) => self.collect(place, None),
            Chore::Owner(place) => self.release(place),
            Chore::Namespace(name) => self.empty_namespace(name),
            Chore::Definition(key) => self.establish(key),
            Chore::CustomKind(key) => self.end_custom_kind(key),
        }
    }

    fn resource_of(&self, place: &Place) -> Option<(Arc<Resource>, Arc<Stored>)> {
        let resource = self.registry().of_collection(&place.collection)?.clone();
        let object = self.store.get(&place.collection, &place.key)?;
        Some((resource, object))
    }

    /// Deletes an object none of whose owners is there any more; forgets the owners that are not where others remain.
    fn collect(&self, place: &Place, gone: Option<&str>) {
        let Some((resource, object)) = self.resource_of(place) else {
            return;
        };
        if object.deleting {
            return;
        }
        let value = object.value();
        let references = value["metadata"]["ownerReferences"].as_array();
        let references = references.map(Vec::as_slice).unwrap_or_default();
        // Of a kind that nobody knows it cannot be said that it is gone, unless it was seen to go.
        let is_gone = |owner: &Value| gone.is_some_and(|gone| owner["uid"] == *gone);
        if references
            .iter()
            .any(|owner| !is_gone(owner) && self.is_of_unknown_kind(owner))
        {
            return;
        }
        let is_there = |uid: &str| {
            let mut named = references.iter().filter(|owner| owner["uid"] == *uid);
            named.any(|owner| self.is_owner(owner, &object.key))
        };
        let waits = |uid: &str| self.waits_for_dependents(uid);
        let owners: Vec<&str> = object.owners.iter().map(|o| &**o).collect();
        if owners.is_empty() || owners.iter().all(|o| is_there(o) && !waits(o)) {
            return;
        }
        let solid = owners.iter().any(|o| is_there(o) && !waits(o));
        if solid {
            self.change_metadata(&resource, place, |metadata| {
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
        let options = DeleteOptions {
            propagation: Some(propagation),
            uid: Some(object.uid.to_string()),
            ..DeleteOptions::default()
        };
        // Gone or changed meanwhile: its own write has its own chores.
        let _ = self.delete_object(&resource, &place.key, &options);
    }

    /// Returns whether the object that a reference names is there. It is in the dependent's namespace, or in none.
    fn is_owner(&self, reference: &Value, dependent: &Key) -> bool {
        let place = reference["uid"].as_str().and_then(|uid| self.store.by_uid(uid));
        place.is_some_and(|Place { key, .. }| {
            reference["name"] == *key.name()
                && (key.namespace().is_none() || key.namespace() == dependent.namespace())
        })
    }

    fn is_of_unknown_kind(&self, reference: &Value) -> bool {
        let (api_version, kind) = (reference["apiVersion"].as_str(), reference["kind"].as_str());
        let (group, version) = match api_version.unwrap_or_default().split_once('/') {
            Some(both) => both,
            None => ("", api_version.unwrap_or_default()),
        };
        let known = self
            .registry()
            .find_kind(group, version, kind.unwrap_or_default())
            .is_some();
        !known
    }

    /// Returns whether an owner is being deleted and waits for its dependents to go first.
    fn waits_for_dependents(&self, uid: &str) -> bool {
        let Some(place) = self.store.by_uid(uid) else {
            return false;
        };
        let Some(object) = self.store.get(&place.collection, &place.key) else {
            return false;
        };
        object.deleting && has_finalizer(&object.value(), FOREGROUND)
    }

    /// Goes on with an object that is being deleted and waits for its dependents.
    fn release(&self, place: &Place) {
        let Some((resource, object)) = self.resource_of(place) else {
            return;
        };
        if !object.deleting {
            return;
        }
        let value = object.value();
        if has_finalizer(&value, ORPHAN) {
            for dependent in self.store.dependents(&object.uid) {
                if let Some((resource, _)) = self.resource_of(&dependent) {
                    self.change_metadata(&resource, &dependent, |metadata| {
                        retain_owners(metadata, |uid| *uid != *object.uid);
                    });
                }
            }
            self.change_metadata(&resource, place, |metadata| remove_finalizer(metadata, ORPHAN));
        }
        if has_finalizer(&value, FOREGROUND) {
            let dependents = self.store.dependents(&object.uid);
            let mut blocked = false;
            for dependent in &dependents {
                self.collect(dependent, None);
                let left = self.store.get(&dependent.collection, &dependent.key);
                blocked |= left.is_some_and(|d| blocks(&d.value(), &object.uid));
            }
            if !blocked {
                self.change_metadata(&resource, place, |metadata| {
                    remove_finalizer(metadata, FOREGROUND);
                });
            }
        }
    }

    /// Changes an object behind its clients' backs; finishes its deletion where that was the last hold.
    pub(crate) fn change_stored(&self, resource: &Arc<Resource>, place: &Place, change: impl Fn(&mut Value)) {
        loop {
            let Some(current) = self.store.get(&place.collection, &place.key) else {
                return;
            };
            let old = current.value();
            let mut new = old.clone();
            change(&mut new);
            let finished = crate::verbs::is_finished(&new);
            if new == old && !finished {
                return;
            }
            let kind = if finished {
                EventKind::Deleted
            } else {
                EventKind::Modified
            };
            if self
                .commit(resource, place.key.clone(), Some(current.revision), kind, new)
                .is_ok()
            {
                return;
            }
        }
    }

    fn change_metadata(&self, resource: &Arc<Resource>, place: &Place, change: impl Fn(&mut Value)) {
        self.change_stored(resource, place, |object| change(&mut object["metadata"]));
    }

    /// Deletes what is in a namespace that is being deleted, and the namespace itself once it is empty.
    fn empty_namespace(&self, name: &str) {
        let key = Key::new(None, name);
        if self.store.get("/namespaces", &key).is_some_and(|ns| !ns.deleting) {
            return;
        }
        let registry = self.registry();
        let mut left = 0;
        let mut seen = Vec::new();
        for resource in registry.all().filter(|r| r.namespaced && r.allows("delete")) {
            if seen.contains(&&resource.collection) {
                continue;
            }
            seen.push(&resource.collection);
            for object in self
                .store
                .list(&resource.collection, Key::range(Some(name)))
                .objects
            {
                let options = DeleteOptions {
                    propagation: Some(Propagation::Background),
                    grace_period: Some(0),
                    ..DeleteOptions::default()
                };
                let _ = self.delete_object(resource, &object.key, &options);
                left += usize::from(self.store.get(&resource.collection, &object.key).is_some());
            }
        }
        if left > 0 {
            return;
        }
        let Some(resource) = registry.find("", "v1", "namespaces") else {
            return;
        };
        let place = Place {
            collection: resource.collection.clone(),
            key,
        };
        self.change_stored(resource, &place, |namespace| {
            if let Some(spec) = namespace.get_mut("spec").and_then(Value::as_object_mut) {
                spec.remove("finalizers");
            }
        });
    }

    /// Deletes the objects of a custom kind that is being deleted, then lets the definition go.
    fn end_custom_kind(&self, key: &Key) {
        let Some((definitions, place)) = self.definition(key) else {
            return;
        };
        let registry = self.registry();
        let Some((_, definition)) = self.resource_of(&place) else {
            return;
        };
        let custom = registry
            .all()
            .filter(|r| r.custom().is_some() && format!("{}.{}", r.plural, r.group) == definition.key.name());
        let mut left = 0;
        for resource in custom {
            for object in self.store.list(&resource.collection, Key::range(None)).objects {
                let _ = self.delete_object(resource, &object.key, &DeleteOptions::default());
                left += usize::from(self.store.get(&resource.collection, &object.key).is_some());
            }
        }
        if left == 0 {
            self.change_metadata(&definitions, &place, |m| remove_finalizer(m, custom::CLEANUP));
        }
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
    async fn what_slips_into_a_namespace_that_is_gone_goes_after_it() {
        let settings = Settings {
            history: 10,
            bookmark_interval: Duration::from_secs(1),
            too_large_wait: Duration::from_secs(1),
            seed: Some(1),
            advertised: String::new(),
        };
        let (chores, to_do) = mpsc::unbounded_channel();
        let key = ring::hmac::Key::new(ring::hmac::HMAC_SHA256, b"test");
        let access = Access::new(Authorization::AlwaysAllow, key);
        let cluster = Arc::new(Cluster::new(settings, access, chores));
        tokio::spawn(run(Arc::downgrade(&cluster), to_do));
        let registry = cluster.registry();
        let maps = registry.find("", "v1", "configmaps").expect("config maps");
        let mut changed = cluster.store.subscribe(&maps.collection);
        // Its namespace was there when it was let in, and is gone when it is written.
        let key = Key::new(Some("gone"), "late");
        let object = json!({ "kind": "ConfigMap", "apiVersion": "v1", "metadata": { "name": "late", "namespace": "gone" } });
        cluster
            .commit(maps, key.clone(), None, EventKind::Added, object)
            .expect("written");
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
