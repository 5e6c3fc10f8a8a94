//! Loads and deletes objects without a client.

use std::path::Path;

use serde_json::Value;

use super::Error;
use crate::cluster::Cluster;
use crate::controllers;
use crate::request::{FieldValidation, ObjectPath};
use crate::status::Status;
use crate::store::Key;
use crate::verbs::{self, Body, DeleteOptions, WriteOptions};

pub(super) fn objects(cluster: &Cluster, objects: impl IntoIterator<Item = Value>) -> Result<usize, Error> {
    let mut loaded = 0;
    for object in objects {
        if object["kind"].as_str().is_some_and(|k| k.ends_with("List")) && object["items"].is_array() {
            loaded += self::objects(cluster, object["items"].as_array().cloned().unwrap_or_default())?;
        } else {
            load_object(cluster, object)?;
            loaded += 1;
        }
    }
    Ok(loaded)
}

pub(super) fn file(cluster: &Cluster, path: &Path) -> Result<usize, Error> {
    let text = std::fs::read_to_string(path).map_err(|source| Error::File {
        action: "read",
        path: path.to_owned(),
        source,
    })?;
    let documents: Vec<Value> = serde_saphyr::from_multiple(&text).map_err(|e| Error::Manifest {
        what: path.display().to_string(),
        why: e.to_string(),
    })?;
    objects(cluster, documents.into_iter().filter(|d| !d.is_null()))
}

/// Returns whether the object existed.
pub(super) fn delete(cluster: &Cluster, collection: &str, namespace: Option<&str>, name: &str) -> bool {
    let registry = cluster.registry();
    let Some(resource) = registry.of_collection(collection) else {
        return false;
    };
    let key = Key::new(namespace, name);
    verbs::delete_object(cluster, resource, &key, &DeleteOptions::default()).is_ok()
}

fn load_object(cluster: &Cluster, object: Value) -> Result<(), Error> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let (kind, name) = (text(&object["kind"]), text(&object["metadata"]["name"]));
    let failed = |why: String| Error::Manifest {
        what: format!("{kind} {name:?}"),
        why,
    };
    let api_version = text(&object["apiVersion"]);
    let (group, version) = api_version.rsplit_once('/').unwrap_or(("", &api_version));
    let registry = cluster.registry();
    let resource = registry
        .find_kind(group, version, &kind)
        .ok_or_else(|| failed(format!("unknown kind {kind:?} in version {api_version:?}")))?;
    let namespace = resource
        .namespaced
        .then(|| match text(&object["metadata"]["namespace"]) {
            given if given.is_empty() => "default".to_owned(),
            given => given,
        });
    let mut path = ObjectPath {
        resource: resource.clone(),
        namespace,
        name: None,
        subresource: None,
        watch_prefix: false,
    };
    let options = WriteOptions {
        dry_run: false,
        validation: FieldValidation::Strict,
        manager: "kube-embedded".into(),
        origin: None,
    };
    let body = Body::new(object);
    let status = body.object.get("status").cloned();
    let created = match verbs::create(cluster, &path, body.clone(), &options) {
        Err(status) if status.code == 409 => {
            path.name = Some(name.clone());
            let mut replacement = body.clone();
            // An update of a custom resource needs a resource version.
            if replacement.object["metadata"]["resourceVersion"].is_null()
                && let Ok(stored) = verbs::find(cluster, &path)
            {
                replacement.object["metadata"]["resourceVersion"] = stored.revision.to_string().into();
            }
            verbs::update(cluster, &path, replacement, &options)
        }
        other => other,
    };
    created.map_err(|s: Status| failed(s.message))?;
    if resource.is("apiextensions.k8s.io", "CustomResourceDefinition") {
        // The next manifests may be objects of this kind.
        controllers::establish(cluster, &Key::new(None, &name));
    }
    // A manifest that was read from a cluster has a status, which only the subresource writes.
    if status.is_some() && resource.has_status() && !name.is_empty() {
        path.name = Some(name.clone());
        path.subresource = Some("status".into());
        verbs::update(cluster, &path, body, &options).map_err(|s| failed(s.message))?;
    }
    Ok(())
}
