//! Helpers for tests of both encodings.

use serde_json::Value;

/// Removes a field from an object, or from every object of a list.
pub(crate) fn remove_field(value: &mut Value, path: &[&str]) {
    match (value, path) {
        (Value::Array(items), _) => items.iter_mut().for_each(|item| remove_field(item, path)),
        (Value::Object(fields), [last]) => {
            fields.remove(*last);
        }
        (Value::Object(fields), [first, rest @ ..]) => {
            if let Some(inner) = fields.get_mut(*first) {
                remove_field(inner, rest);
            }
        }
        _ => {}
    }
}
