//! The resources of CustomResourceDefinitions.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use ring::digest::{SHA256, digest};
use serde_json::Value;

use super::resource::{ObjectSchema, Resource, Subresource, group_version};
use crate::crd::{self, CustomKind, CustomVersion};

/// Returns the resources of a definition, one per served version, the preferred one first.
pub(crate) fn custom_resources(definition: &Value) -> Vec<Resource> {
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
        schema: ObjectSchema::Custom(custom.clone()),
        deprecation: version.warning.clone(),
    }
}

/// Returns the hash of the storage version, for discovery.
fn storage_version_hash(group: &str, version: &str, kind: &str) -> String {
    let name = format!("{group}/{version}/{kind}");
    let digest = digest(&SHA256, name.as_bytes());
    BASE64.encode(digest.as_ref().get(..8).unwrap_or_default())
}

/// Returns the order of a version: stable before beta before alpha, newer before older, others last by name.
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

#[cfg(test)]
mod tests {
    use super::storage_version_hash;

    #[test]
    fn stored_versions_have_the_hash_of_the_real_server() {
        let hash = storage_version_hash("e2edup.example.com", "v1", "Dup");
        assert_eq!(hash, "xK6sNNDWCoY=");
    }
}
