//! Properties of objects that hold in both formats.

use std::collections::BTreeMap;

use kube_wire::{FieldMask, Identity};
use serde_json::{Value, json};

/// Fields to remove: some that objects have, and some that they may have.
pub(crate) const PATHS: [&[&str]; 8] = [
    &[],
    &["metadata.managedFields"],
    &["status"],
    &["spec", "metadata.labels"],
    &["metadata.annotations[a.b/c]", "data[a]", "spec.containers.env"],
    &[
        "spec.template.spec.containers.resources.limits",
        "metadata.managedFields.fieldsV1",
    ],
    &[
        "spec.template.metadata.labels[app]",
        "metadata.ownerReferences.uid",
        "status.conditions",
    ],
    &[
        "metadata.managedFields.fieldsV1[f:metadata]",
        "webhooks.rules",
        "rules.verbs",
    ],
];

pub(crate) fn skip_of(paths: &[&str]) -> FieldMask {
    let all = paths
        .iter()
        .try_fold(FieldMask::none(), |mask, path| mask.path(path));
    all.expect("valid paths")
}

/// Removes a field from an object in the simplest way. Elements of lists are searched, too.
pub(crate) fn remove(value: &mut Value, steps: &[&str]) {
    match (value, steps) {
        (Value::Array(items), _) => items.iter_mut().for_each(|item| remove(item, steps)),
        (Value::Object(fields), [name]) => drop(fields.remove(*name)),
        (Value::Object(fields), [name, inner @ ..]) => {
            if let Some(field) = fields.get_mut(*name) {
                remove(field, inner);
            }
        }
        _ => {}
    }
}

/// Removes empty values: protobuf has no empty maps.
pub(crate) fn without_empty(mut value: Value) -> Value {
    fn clear(value: &mut Value) {
        match value {
            Value::Array(items) => items.iter_mut().for_each(clear),
            Value::Object(fields) => {
                fields.values_mut().for_each(clear);
                fields.retain(|_, field| !field.is_null() && *field != json!({}) && *field != json!([]));
            }
            _ => {}
        }
    }
    clear(&mut value);
    value
}

/// Asserts that an identity belongs to an object.
#[track_caller]
pub(crate) fn assert_identity(identity: &Identity<'_>, object: &Value) {
    let text_of = |name: &str| object["metadata"][name].as_str().unwrap_or_default();
    let known = [
        ("name", &identity.name),
        ("namespace", &identity.namespace),
        ("resourceVersion", &identity.resource_version),
        ("uid", &identity.uid),
    ];
    for (name, part) in known {
        assert_eq!(part, text_of(name), "{name} of {object}");
    }
}

/// Returns the labels of an object, or none if some values are not strings.
pub(crate) fn labels(object: &Value) -> Option<BTreeMap<String, String>> {
    match &object["metadata"]["labels"] {
        Value::Null => Some(BTreeMap::new()),
        labels => serde_json::from_value(labels.clone()).ok(),
    }
}
