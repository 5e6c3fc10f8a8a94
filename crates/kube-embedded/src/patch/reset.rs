//! The fields that each endpoint does not write. Its requests do not own them.

use super::field_set::FieldSet;
use crate::schema::Types;

/// Returns the fields that an endpoint of a built-in resource does not write. `subresource` is empty for the object
/// itself.
pub(crate) fn builtin(resource: &str, subresource: &str) -> FieldSet {
    match (resource, subresource) {
        ("certificatesigningrequests", "") => FieldSet::of_names(&[&["spec"], &["status"]]),
        ("certificatesigningrequests", "approval") => {
            FieldSet::of_names(&[&["spec"], &["status", "certificate"]])
        }
        ("certificatesigningrequests", "status") => {
            FieldSet::of_names(&[&["spec"], &["status", "conditions"]])
        }
        ("podcertificaterequests", "") => FieldSet::default(),
        ("pods", "ephemeralcontainers") => pod_without(&["ephemeralContainers"]),
        ("pods", "resize") => pod_without(&["containers", "initContainers"]),
        ("pods", "status") => FieldSet::of_names(&[
            &["spec"],
            &["metadata", "deletionTimestamp"],
            &["metadata", "ownerReferences"],
        ]),
        ("deployments", "status") => FieldSet::of_names(&[&["spec"], &["metadata", "labels"]]),
        (
            "apiservices"
            | "devicetaintrules"
            | "flowschemas"
            | "podgroups"
            | "prioritylevelconfigurations"
            | "resourceclaims"
            | "resourcepoolstatusrequests"
            | "servicecidrs"
            | "storageversionmigrations"
            | "storageversions"
            | "validatingadmissionpolicies"
            | "volumeattachments",
            "status",
        ) => FieldSet::of_names(&[&["spec"], &["metadata"]]),
        (_, "status") => FieldSet::of_names(&[&["spec"]]),
        ("namespaces", "finalize") | (_, "") => FieldSet::of_names(&[&["status"]]),
        _ => FieldSet::default(),
    }
}

/// Returns the fields that an endpoint of a custom resource does not write.
pub(crate) fn custom(subresource: &str, has_status: bool) -> FieldSet {
    match subresource {
        "status" => FieldSet::of_names(&[&["spec"], &["metadata"]]),
        "" if has_status => FieldSet::of_names(&[&["status"]]),
        _ => FieldSet::default(),
    }
}

/// Returns all fields of a pod, except these fields of its spec.
fn pod_without(written: &[&str]) -> FieldSet {
    let mut set = FieldSet::of_names(&[&["metadata"], &["status"]]);
    let types = Types::builtin();
    let spec = types
        .find("io.k8s.api.core.v1.PodSpec")
        .and_then(|id| types.structure(id));
    for field in spec.iter().flat_map(|s| &s.fields) {
        if !written.contains(&field.name.as_str()) {
            set = set.union(FieldSet::of_names(&[&["spec", &field.name]]));
        }
    }
    set
}
