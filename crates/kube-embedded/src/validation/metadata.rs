//! Validates metadata: names, labels, annotations, owners and finalizers.

use serde_json::Value;

use super::errors::{Errors, in_order};
use super::names::{self, Problems};
use crate::defaults::fields::{items, text};
use crate::status::{FieldError, FieldErrorKind};

/// Maximum size of the annotations of an object in bytes.
const MAX_ANNOTATION_SIZE: usize = 256 * 1024;

const OWNER_ORDER: [&str; 6] = [
    "apiVersion",
    "kind",
    "name",
    "uid",
    "controller",
    "blockOwnerDeletion",
];

/// Returns the validation of a kind's names.
fn name_form(group: &str, kind: &str) -> fn(&str) -> Problems {
    match (group, kind) {
        ("", "Namespace" | "Service") | ("apps", "StatefulSet") => names::label,
        ("rbac.authorization.k8s.io" | "apiregistration.k8s.io" | "policy", _) | ("", "Event") => {
            names::path_segment
        }
        ("certificates.k8s.io", "CertificateSigningRequest") => |_| Vec::new(),
        ("internal.apiserver.k8s.io", _) => |_| Vec::new(),
        ("networking.k8s.io", "IPAddress") => names::ip,
        _ => names::subdomain,
    }
}

/// Validates the metadata of an object.
pub(super) fn metadata(group: &str, kind: &str, metadata: &Value, errors: &mut Errors) {
    common_metadata(group, kind, metadata, errors);
    finalizers(metadata, errors);
}

fn common_metadata(group: &str, kind: &str, metadata: &Value, errors: &mut Errors) {
    let form = name_form(group, kind);
    let generate = text(metadata, "generateName");
    if !generate.is_empty() {
        // A letter or digit follows the prefix, so its end may be one that names cannot have.
        let stem = generate
            .strip_suffix('-')
            .map_or(generate.to_owned(), |s| format!("{s}a"));
        errors.problems("metadata.generateName", generate, form(&stem));
    }
    match text(metadata, "name") {
        "" => errors.required_because("metadata.name", "name or generateName is required"),
        name => errors.problems("metadata.name", name, form(name)),
    }
    errors.not_negative("metadata.generation", &metadata["generation"]);
    labels("metadata.labels", &metadata["labels"], errors);
    annotations(&metadata["annotations"], errors);
    owners(&metadata["ownerReferences"], errors);
    finalizer_names(metadata, errors);
}

/// Validates the metadata of a custom resource, whose finalizers need no domain.
pub(super) fn custom_metadata(group: &str, kind: &str, metadata: &Value, errors: &mut Errors) {
    common_metadata(group, kind, metadata, errors);
    conflicting_finalizers(metadata, errors);
}

/// Validates the keys and values of labels.
pub(super) fn labels(field: &str, labels: &Value, errors: &mut Errors) {
    for (key, value) in labels.as_object().into_iter().flatten() {
        errors.problems(field, key, names::qualified(key));
        let value = value.as_str().unwrap_or("");
        errors.problems(field, value, names::label_value(value));
    }
}

fn annotations(annotations: &Value, errors: &mut Errors) {
    let mut size = 0;
    for (key, value) in annotations.as_object().into_iter().flatten() {
        errors.problems("metadata.annotations", key, names::qualified(&key.to_lowercase()));
        size += key.len() + value.as_str().map_or(0, str::len);
    }
    if size > MAX_ANNOTATION_SIZE {
        let detail = format!("may not be more than {MAX_ANNOTATION_SIZE} bytes");
        errors.add(FieldError::new(
            FieldErrorKind::TooLong,
            "metadata.annotations",
            Value::Null,
            detail,
        ));
    }
}

fn owners(owners: &Value, errors: &mut Errors) {
    let field = "metadata.ownerReferences";
    let list = owners.as_array().map_or(&[][..], Vec::as_slice);
    let mut controllers: Vec<String> = Vec::new();
    for owner in list {
        let (version, kind) = (text(owner, "apiVersion"), text(owner, "kind"));
        let parts: Vec<&str> = version.split('/').collect();
        let (group, short) = match parts.as_slice() {
            [v] => ("", *v),
            [g, v] => (*g, *v),
            _ => ("", ""),
        };
        if short.is_empty() {
            errors.invalid(
                format!("{field}.apiVersion"),
                version,
                "version must not be empty",
            );
        }
        for name in ["kind", "name", "uid"] {
            if text(owner, name).is_empty() {
                errors.invalid(format!("{field}.{name}"), "", "must not be empty");
            }
        }
        if (group, short, kind) == ("", "v1", "Event") {
            let detail = format!("{group}/{short}, Kind={kind} is disallowed from being an owner");
            errors.add(
                FieldError::invalid(field, owner.clone(), detail).showing(in_order(owner, &OWNER_ORDER)),
            );
        }
        if owner["controller"] == true {
            controllers.push(format!("{kind}/{}", text(owner, "name")));
            if let [first, second] = controllers.as_slice() {
                let detail = format!(
                    "Only one reference can have Controller set to true. Found \"true\" in references for {first} and {second}"
                );
                errors.add(
                    FieldError::invalid(field, owners.clone(), detail)
                        .showing(in_order(owners, &OWNER_ORDER)),
                );
            }
        }
    }
}

fn finalizer_names(metadata: &Value, errors: &mut Errors) {
    for finalizer in items(metadata, "finalizers").iter().filter_map(Value::as_str) {
        errors.problems("metadata.finalizers", finalizer, names::qualified(finalizer));
    }
}

fn finalizers(metadata: &Value, errors: &mut Errors) {
    let list = items(metadata, "finalizers");
    for (index, finalizer) in list.iter().filter_map(Value::as_str).enumerate() {
        let standard = matches!(finalizer, "orphan" | "foregroundDeletion" | "kubernetes");
        if !standard && !finalizer.contains('/') {
            errors.invalid(
                format!("metadata.finalizers[{index}]"),
                finalizer,
                "name is neither a standard finalizer name nor is it fully qualified",
            );
        }
    }
    conflicting_finalizers(metadata, errors);
}

fn conflicting_finalizers(metadata: &Value, errors: &mut Errors) {
    let list = items(metadata, "finalizers");
    let has = |name: &str| list.iter().any(|f| f == name);
    if has("orphan") && has("foregroundDeletion") {
        errors.invalid(
            "metadata.finalizers",
            Value::from(list.to_vec()),
            "finalizer orphan and foregroundDeletion cannot be both set",
        );
    }
}

/// Validates changes of metadata.
pub(super) fn metadata_update(new: &Value, old: &Value, errors: &mut Errors) {
    if !old["deletionTimestamp"].is_null() {
        let before = items(old, "finalizers");
        let added: Vec<&str> = items(new, "finalizers")
            .iter()
            .filter(|f| !before.contains(f))
            .filter_map(Value::as_str)
            .collect();
        if !added.is_empty() {
            let detail = format!(
                "no new finalizers can be added if the object is being deleted, found new finalizers {}",
                go_strings(&added)
            );
            errors.forbidden("metadata.finalizers", &detail);
        }
    }
    for name in ["name", "namespace", "uid"] {
        errors.immutable(format!("metadata.{name}"), &new[name], &old[name]);
    }
    for name in ["deletionTimestamp", "deletionGracePeriodSeconds"] {
        errors.immutable(format!("metadata.{name}"), &new[name], &old[name]);
    }
}

/// Formats a list of strings like Go.
fn go_strings(texts: &[&str]) -> String {
    let quoted: Vec<String> = texts.iter().map(|t| format!("{t:?}")).collect();
    format!("[]string{{{}}}", quoted.join(", "))
}
