//! Migrates objects from client-side to server-side apply: `kubectl apply` stores the configuration in an annotation.
//!
//! This applies only to the manager named `kubectl`.

use serde_json::Value;

use super::field_set::FieldSet;
use super::typed::{self, Duplicates, SchemaNode};
use crate::golang::web_safe;

const ANNOTATION: &str = "kubectl.kubernetes.io/last-applied-configuration";
/// Maximum size of all annotations of an object in bytes.
const MAX_ANNOTATION_BYTES: usize = 256 * 1024;

fn annotation(object: &Value) -> Option<&str> {
    object["metadata"]["annotations"][ANNOTATION]
        .as_str()
        .filter(|text| !text.is_empty())
}

/// Returns the fields that the annotation contains with their current values. kubectl may take them over.
pub(super) fn unchanged_fields(node: SchemaNode<'_>, live: &Value, api_version: &str) -> Option<FieldSet> {
    let applied: Value = serde_json::from_str(annotation(live)?).ok()?;
    if applied["apiVersion"] != api_version {
        return None;
    }
    for object in [live, &applied] {
        typed::validate(node, object, Duplicates::Rejected).ok()?;
    }
    let changes = typed::compare(node, &applied, live);
    let fields = typed::field_set(node, &applied);
    let typed::Comparison {
        removed,
        modified,
        added,
    } = changes;
    Some(
        fields
            .difference(&modified)
            .difference(&added)
            .difference(&removed),
    )
}

/// Updates the annotation with the applied configuration, if the object has one.
pub(super) fn update(object: &mut Value, config: &Value) {
    if annotation(object).is_none() {
        return;
    }
    let mut config = config.clone();
    if let Some(annotations) = config
        .pointer_mut("/metadata/annotations")
        .and_then(Value::as_object_mut)
    {
        annotations.remove(ANNOTATION);
    }
    let text = web_safe(&config) + "\n";
    let Some(annotations) = object
        .pointer_mut("/metadata/annotations")
        .and_then(Value::as_object_mut)
    else {
        return;
    };
    annotations.insert(ANNOTATION.to_owned(), text.into());
    let size: usize = annotations
        .iter()
        .map(|(k, v)| k.len() + v.as_str().unwrap_or_default().len())
        .sum();
    if size > MAX_ANNOTATION_BYTES {
        annotations.remove(ANNOTATION);
    }
}
