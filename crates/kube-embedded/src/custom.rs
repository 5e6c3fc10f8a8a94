//! CustomResourceDefinitions at work: what they add to what is served, and what the server writes into them.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use jiff::Timestamp;
use ring::digest::{SHA256, digest};
use serde_json::{Value, json};

use crate::api::{Form, Resource, Subresource, group_version};
use crate::cluster::Cluster;
use crate::crd::{self, CustomKind, CustomVersion};
use crate::store::{Key, Place};
use crate::verbs::timestamp;

/// Where the definitions are kept.
pub(crate) const COLLECTION: &str = "apiextensions.k8s.io/customresourcedefinitions";
/// Holds a definition back until its objects are gone.
pub(crate) const CLEANUP: &str = "customresourcecleanup.apiextensions.k8s.io";

/// The resources that a definition adds, one per served version, the preferred one first.
pub(crate) fn resources(definition: &Value) -> Vec<Resource> {
    if !crd::is_established(definition) {
        return Vec::new();
    }
    let custom = Arc::new(CustomKind::from_crd(definition));
    let mut versions: Vec<&CustomVersion> = custom.versions.iter().filter(|v| v.served).collect();
    versions.sort_by(|a, b| priority(&b.name).cmp(&priority(&a.name)));
    versions
        .iter()
        .map(|version| resource(&custom, version))
        .collect()
}

fn resource(custom: &Arc<CustomKind>, version: &CustomVersion) -> Resource {
    let verbs = [
        "delete",
        "deletecollection",
        "get",
        "list",
        "patch",
        "create",
        "update",
        "watch",
    ];
    let words = |words: &[&str]| words.iter().map(|w| (*w).to_owned()).collect();
    let storage = custom.storage_version().map_or(&version.name, |v| &v.name);
    let is_shown = custom.storage_version().is_some_and(|v| v.served);
    let storage_version_hash = if is_shown {
        storage_version_hash(&custom.group, storage, &custom.kind)
    } else {
        String::new()
    };
    let mut subresources = Vec::new();
    let mut add = |name: &str, group: &str, version: &str, kind: &str| {
        subresources.push(Subresource {
            name: name.into(),
            group: group.into(),
            version: version.into(),
            kind: kind.into(),
            verbs: words(&["get", "patch", "update"]),
        });
    };
    if version.status {
        add("status", &custom.group, &version.name, &custom.kind);
    }
    if version.scale.is_some() {
        add("scale", "autoscaling", "v1", "Scale");
    }
    Resource {
        group: custom.group.clone(),
        version: version.name.clone(),
        plural: custom.plural.clone(),
        singular: custom.singular.clone(),
        kind: custom.kind.clone(),
        list_kind: custom.list_kind.clone(),
        namespaced: custom.namespaced,
        verbs: words(&verbs),
        short_names: custom.short_names.clone(),
        categories: custom.categories.clone(),
        storage_version_hash,
        subresources,
        collection: format!("{}/{}", custom.group, custom.plural).into(),
        stored_as: group_version(&custom.group, storage),
        selectable: version
            .selectable_fields
            .iter()
            .map(|f| f.trim_start_matches('.').to_owned())
            .collect(),
        form: Form::Custom(custom.clone()),
        deprecation: version.warning.clone(),
    }
}

/// The hash by which discovery tells in which version objects are stored.
fn storage_version_hash(group: &str, version: &str, kind: &str) -> String {
    let name = format!("{group}/{version}/{kind}");
    let digest = digest(&SHA256, name.as_bytes());
    BASE64.encode(digest.as_ref().get(..8).unwrap_or_default())
}

/// Order of versions: stable ones before betas before alphas, newer before older, others last by name.
fn priority(version: &str) -> (u8, u64, u64, std::cmp::Reverse<&str>) {
    let other = (0, 0, 0, std::cmp::Reverse(version));
    let Some(rest) = version.strip_prefix('v') else {
        return other;
    };
    let (rank, major, minor) = match (rest.split_once("beta"), rest.split_once("alpha")) {
        (Some((major, minor)), _) => (2, major, minor),
        (_, Some((major, minor))) => (1, major, minor),
        _ => (3, rest, "0"),
    };
    match (major.parse(), minor.parse()) {
        (Ok(major), Ok(minor)) => (rank, major, minor, std::cmp::Reverse("")),
        _ => other,
    }
}

impl Cluster {
    /// Does to a definition what Kubernetes' own controllers do once it is there: its names are accepted or not, and it is
    /// established.
    pub(crate) fn establish(&self, key: &Key) {
        let Some((definitions, place)) = self.definition(key) else {
            return;
        };
        self.change_stored(&definitions, &place, |definition| {
            if definition["metadata"].get("deletionTimestamp").is_none() {
                self.accept(definition);
            }
        });
    }

    /// Where a definition is, and by which rules.
    pub(crate) fn definition(&self, key: &Key) -> Option<(Arc<Resource>, Place)> {
        let registry = self.registry();
        let definitions = registry.find("apiextensions.k8s.io", "v1", "customresourcedefinitions")?;
        let place = Place {
            collection: definitions.collection.clone(),
            key: key.clone(),
        };
        Some((definitions.clone(), place))
    }

    fn accept(&self, definition: &mut Value) {
        let others: Vec<Value> = self
            .store
            .list(COLLECTION, Key::range(None))
            .objects
            .iter()
            .map(|o| o.value())
            .collect();
        definition["status"] = crd::established_status(definition, &others, &timestamp(Timestamp::now()));
    }
}

/// Marks the status of a definition whose deletion begins.
pub(crate) fn terminate(definition: &mut Value) {
    let condition = json!({
        "type": "Terminating",
        "status": "True",
        "lastTransitionTime": timestamp(Timestamp::now()),
        "reason": "InstanceDeletionPending",
        "message": "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon",
    });
    match definition["status"]
        .get_mut("conditions")
        .and_then(Value::as_array_mut)
    {
        Some(conditions) => conditions.push(condition),
        None => definition["status"]["conditions"] = json!([condition]),
    }
}

/// What an update of a custom resource may change: the status only through its own door and nothing else there.
pub(crate) fn prepare_for_update(has_status: bool, old: &Value, new: &mut Value, subresource: Option<&str>) {
    let status = |from: &Value, to: &mut Value| match from.get("status") {
        Some(status) => to["status"] = status.clone(),
        None => {
            if let Some(fields) = to.as_object_mut() {
                fields.remove("status");
            }
        }
    };
    if subresource == Some("status") {
        let mut kept = old.clone();
        status(new, &mut kept);
        if let Some(owners) = new["metadata"].get("managedFields") {
            kept["metadata"]["managedFields"] = owners.clone();
        }
        kept["metadata"]["resourceVersion"] = old["metadata"]["resourceVersion"].clone();
        *new = kept;
        return;
    }
    if has_status {
        status(old, new);
    }
    if differs_beyond(old, new, has_status) {
        let generation = old["metadata"]["generation"].as_i64().unwrap_or(0);
        new["metadata"]["generation"] = (generation + 1).into();
    }
}

/// Returns whether anything but metadata (and status, where that is apart) is different.
fn differs_beyond(old: &Value, new: &Value, has_status: bool) -> bool {
    let bare = |object: &Value| {
        let mut bare = object.clone();
        if let Some(fields) = bare.as_object_mut() {
            fields.remove("metadata");
            if has_status {
                fields.remove("status");
            }
        }
        bare
    };
    bare(old) != bare(new)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stored_versions_have_the_hash_of_the_real_server() {
        let hash = storage_version_hash("e2edup.example.com", "v1", "Dup");
        assert_eq!(hash, "xK6sNNDWCoY=");
    }
}
