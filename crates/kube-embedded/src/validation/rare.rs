//! Required and immutable fields of rarely used kinds.

use serde_json::Value;

use super::errors::Errors;
use super::names;
use crate::defaults::fields::{is_empty, items, text};

/// The group and kind, the path of a required field, and the message if it is missing.
type RequiredField = (&'static str, &'static str, &'static str, &'static str);

const REQUIRED_FIELDS: &[RequiredField] = &[
    (
        "admissionregistration.k8s.io",
        "MutatingAdmissionPolicy",
        "spec.matchConstraints",
        "",
    ),
    (
        "admissionregistration.k8s.io",
        "MutatingAdmissionPolicy",
        "spec.mutations",
        "mutations must contain at least one item",
    ),
    (
        "admissionregistration.k8s.io",
        "MutatingAdmissionPolicy",
        "spec.reinvocationPolicy",
        "",
    ),
    (
        "admissionregistration.k8s.io",
        "MutatingAdmissionPolicyBinding",
        "spec.policyName",
        "",
    ),
    (
        "admissionregistration.k8s.io",
        "ValidatingAdmissionPolicyBinding",
        "spec.policyName",
        "",
    ),
    (
        "admissionregistration.k8s.io",
        "ValidatingAdmissionPolicyBinding",
        "spec.validationActions",
        "at least one validation action is required",
    ),
    ("coordination.k8s.io", "LeaseCandidate", "spec.leaseName", ""),
    ("coordination.k8s.io", "LeaseCandidate", "spec.binaryVersion", ""),
    ("coordination.k8s.io", "LeaseCandidate", "spec.strategy", ""),
    (
        "flowcontrol.apiserver.k8s.io",
        "FlowSchema",
        "spec.priorityLevelConfiguration.name",
        "must reference a priority level",
    ),
    (
        "networking.k8s.io",
        "ServiceCIDR",
        "spec.cidrs",
        "at least one CIDR required",
    ),
    ("resource.k8s.io", "ResourcePoolStatusRequest", "spec.driver", ""),
    ("resource.k8s.io", "ResourceSlice", "spec.driver", ""),
    ("resource.k8s.io", "DeviceTaintRule", "spec.taint.effect", ""),
    ("scheduling.k8s.io", "Workload", "spec.podGroupTemplates", ""),
    ("storage.k8s.io", "VolumeAttributesClass", "driverName", ""),
    (
        "storage.k8s.io",
        "VolumeAttributesClass",
        "parameters",
        "must contain at least one key/value pair",
    ),
    ("storage.k8s.io", "VolumeAttachment", "spec.attacher", ""),
    (
        "storagemigration.k8s.io",
        "StorageVersionMigration",
        "spec.resource.resource",
        "resource is required to be set",
    ),
];

/// A kind, and a field that cannot change.
const IMMUTABLE_FIELDS: &[(&str, &str, &str)] = &[
    ("coordination.k8s.io", "LeaseCandidate", "spec.leaseName"),
    ("networking.k8s.io", "IPAddress", "spec.parentRef"),
    ("networking.k8s.io", "ServiceCIDR", "spec.cidrs"),
    ("resource.k8s.io", "ResourceClaim", "spec"),
    ("resource.k8s.io", "ResourceClaimTemplate", "spec"),
    ("resource.k8s.io", "ResourcePoolStatusRequest", "spec"),
    ("resource.k8s.io", "ResourceSlice", "spec.driver"),
    ("resource.k8s.io", "ResourceSlice", "spec.nodeName"),
    ("resource.k8s.io", "ResourceSlice", "spec.pool.name"),
    ("scheduling.k8s.io", "PodGroup", "spec.schedulingPolicy"),
    ("storage.k8s.io", "CSIDriver", "spec.volumeLifecycleModes"),
    ("storage.k8s.io", "CSIStorageCapacity", "nodeTopology"),
    ("storage.k8s.io", "CSIStorageCapacity", "storageClassName"),
    ("storagemigration.k8s.io", "StorageVersionMigration", "spec"),
];

fn at<'a>(object: &'a Value, path: &str) -> &'a Value {
    path.split('.').fold(object, |at, name| &at[name])
}

/// Reports changes of immutable fields.
pub(super) fn immutable(group: &str, kind: &str, object: &Value, old: &Value, errors: &mut Errors) {
    for (_, _, path) in IMMUTABLE_FIELDS
        .iter()
        .filter(|(g, k, _)| *g == group && *k == kind)
    {
        errors.immutable(*path, at(object, path), at(old, path));
    }
}

/// Reports missing fields.
pub(super) fn required(group: &str, kind: &str, object: &Value, errors: &mut Errors) {
    for (_, _, path, detail) in REQUIRED_FIELDS
        .iter()
        .filter(|(g, k, ..)| *g == group && *k == kind)
    {
        if is_empty(at(object, path)) {
            errors.required_because(*path, detail);
        }
    }
    match (group, kind) {
        ("admissionregistration.k8s.io", "ValidatingAdmissionPolicy") => {
            admission_policy(&object["spec"], errors);
        }
        ("admissionregistration.k8s.io", _) if kind.ends_with("PolicyBinding") => {
            let policy = text(&object["spec"], "policyName");
            if !policy.is_empty() {
                errors.problems("spec.policyName", policy, names::subdomain(policy));
            }
        }
        ("networking.k8s.io", "ServiceCIDR") => {
            for (index, range) in items(&object["spec"], "cidrs")
                .iter()
                .filter_map(Value::as_str)
                .enumerate()
            {
                errors.problems(&format!("spec.cidrs[{index}]"), range, names::cidr(range));
            }
        }
        ("resource.k8s.io", "DeviceTaintRule") => {
            let key = text(&object["spec"]["taint"], "key");
            errors.problems("spec.taint.key", key, names::qualified(key));
        }
        ("storage.k8s.io", "CSIStorageCapacity") => {
            let class = text(object, "storageClassName");
            errors.problems("storageClassName", class, names::subdomain(class));
        }
        ("storage.k8s.io", "CSINode") => {
            for (index, driver) in items(&object["spec"], "drivers").iter().enumerate() {
                for name in ["name", "nodeID"] {
                    if text(driver, name).is_empty() {
                        errors.required(format!("spec.drivers[{index}].{name}"));
                    }
                }
            }
        }
        ("storage.k8s.io", "VolumeAttachment") => {
            let source = &object["spec"]["source"];
            if source["persistentVolumeName"].is_null() == source["inlineVolumeSpec"].is_null() {
                let detail = "must specify exactly one of inlineVolumeSpec and persistentVolumeName";
                errors.required_because("spec.source", detail);
            }
            let node = text(&object["spec"], "nodeName");
            errors.problems("spec.nodeName", node, names::subdomain(node));
        }
        _ => {}
    }
}

fn admission_policy(spec: &Value, errors: &mut Errors) {
    if is_empty(&spec["validations"]) && is_empty(&spec["auditAnnotations"]) {
        let detail = "validations or auditAnnotations must contain at least one item";
        errors.required_because("spec.validations", detail);
        errors.required_because("spec.auditAnnotations", detail);
    }
    if spec["matchConstraints"].is_null() {
        errors.required("spec.matchConstraints");
    }
}
