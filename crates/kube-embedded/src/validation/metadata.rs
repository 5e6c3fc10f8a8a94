//! Names, labels, annotations, owners and finalizers: what all kinds have in common.

use serde_json::Value;

use super::errors::{Errors, in_order};
use super::names::{self, Problems};
use crate::defaults::fields::{items, text};
use crate::status::{FieldError, FieldErrorKind};

/// As many bytes of annotations as an object may have.
const ANNOTATION_LIMIT: usize = 256 * 1024;

const OWNER_ORDER: [&str; 6] = [
    "apiVersion",
    "kind",
    "name",
    "uid",
    "controller",
    "blockOwnerDeletion",
];

/// The form a kind's names have.
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

/// Metadata of an object that is created or about to be stored.
pub(super) fn metadata(group: &str, kind: &str, metadata: &Value, errors: &mut Errors) {
    common_metadata(group, kind, metadata, errors);
    finalizers(metadata, errors);
}

fn common_metadata(group: &str, kind: &str, metadata: &Value, errors: &mut Errors) {
    let form = name_form(group, kind);
    let generate = text(metadata, "generateName");
    if !generate.is_empty() {
        // What follows the prefix is a letter or a digit, so a prefix may end as no name may.
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

/// Metadata of a custom resource, whose finalizers need no domain.
pub(super) fn custom_metadata(group: &str, kind: &str, metadata: &Value, errors: &mut Errors) {
    common_metadata(group, kind, metadata, errors);
    conflicting_finalizers(metadata, errors);
}

/// Labels: their keys and values.
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
    if size > ANNOTATION_LIMIT {
        let detail = format!("may not be more than {ANNOTATION_LIMIT} bytes");
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

/// What may not change in metadata.
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

/// A list of texts as Go prints it.
fn go_strings(texts: &[&str]) -> String {
    let quoted: Vec<String> = texts.iter().map(|t| format!("{t:?}")).collect();
    format!("[]string{{{}}}", quoted.join(", "))
}
