//! Merge patch (RFC 7386): objects are merged, `null` removes a field, other values are replaced.

use serde_json::Value;

use crate::golang::json_type_name;
use crate::status::{Result, Status};

/// Applies a merge patch to an object. Rejects a patch that is not an object.
pub(crate) fn apply(doc: &Value, patch: &Value) -> Result<Value> {
    match patch {
        Value::Object(_) => {
            let mut doc = doc.clone();
            merge(&mut doc, patch);
            Ok(doc)
        }
        Value::Null => Err(Status::bad_request("Invalid JSON Patch")),
        other => Err(Status::bad_request(format!(
            "error decoding patch: json: cannot unmarshal {} into Go value of type map[string]interface {{}}",
            json_type_name(other)
        ))),
    }
}

fn merge(target: &mut Value, patch: &Value) {
    let Value::Object(patch) = patch else {
        *target = patch.clone();
        return;
    };
    if !target.is_object() {
        *target = Value::Object(serde_json::Map::new());
    }
    let Value::Object(target) = target else {
        return;
    };
    for (key, value) in patch {
        if value.is_null() {
            target.remove(key);
        } else {
            merge(target.entry(key.as_str()).or_insert(Value::Null), value);
        }
    }
}
