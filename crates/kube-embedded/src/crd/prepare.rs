//! Prepares updates of custom resources.

use serde_json::Value;

/// Resets the fields that an update may not write: the status, or everything else for the `status` subresource.
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

/// Returns whether anything but metadata, and the status subresource, is different.
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
