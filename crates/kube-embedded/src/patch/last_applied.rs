//! The way from client-side to server-side apply: `kubectl apply` leaves the configuration in an annotation.
//!
//! Only the manager named `kubectl` is treated so; whoever wants no part in it takes another name.

use serde_json::Value;

use super::field_set::FieldSet;
use super::typed::{self, Repeats, Site};
use crate::golang::web_safe;

const ANNOTATION: &str = "kubectl.kubernetes.io/last-applied-configuration";
/// All annotations of an object together.
const MAX_ANNOTATION_BYTES: usize = 256 * 1024;

fn annotation(object: &Value) -> Option<&str> {
    object["metadata"]["annotations"][ANNOTATION]
        .as_str()
        .filter(|text| !text.is_empty())
}

/// The fields that the annotation says were applied and that still have that value: kubectl may take them over.
pub(super) fn uncontested(site: Site<'_>, live: &Value, api_version: &str) -> Option<FieldSet> {
    let applied: Value = serde_json::from_str(annotation(live)?).ok()?;
    if applied["apiVersion"] != api_version {
        return None;
    }
    for object in [live, &applied] {
        typed::validate(site, object, Repeats::Refused).ok()?;
    }
    let changes = typed::compare(site, &applied, live);
    let fields = typed::field_set(site, &applied);
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

/// Brings the annotation up to date with what was applied just now, if the object has one.
pub(super) fn refresh(object: &mut Value, config: &Value) {
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
