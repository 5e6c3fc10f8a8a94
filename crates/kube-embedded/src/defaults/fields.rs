//! Reads and sets fields of JSON objects.

use serde_json::{Map, Value};

/// Sets a field that is absent or null, but not empty text that decoding has kept.
pub(crate) fn set_default(object: &mut Value, name: &str, value: impl Into<Value>) {
    if let Value::Object(fields) = object
        && fields.get(name).is_none_or(Value::is_null)
    {
        fields.insert(name.to_owned(), value.into());
    }
}

/// Sets a field that is absent, null or empty text, for fields that are printed when empty.
pub(crate) fn set_if_empty(object: &mut Value, name: &str, value: impl Into<Value>) {
    if let Value::Object(fields) = object
        && is_unset(fields.get(name))
    {
        fields.insert(name.to_owned(), value.into());
    }
}

/// Returns whether a field is absent, null or empty text.
pub(crate) fn is_unset(value: Option<&Value>) -> bool {
    match value {
        None | Some(Value::Null) => true,
        Some(Value::String(text)) => text.is_empty(),
        Some(_) => false,
    }
}

/// Returns whether a value is null or empty.
pub(crate) fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        Value::Bool(_) | Value::Number(_) => false,
    }
}

/// Returns the object in a field. Creates it if it is missing.
pub(crate) fn object_at<'a>(parent: &'a mut Value, name: &str) -> &'a mut Value {
    if !parent.is_object() {
        *parent = Value::Object(Map::new());
    }
    let slot = &mut parent[name];
    if !slot.is_object() {
        *slot = Value::Object(Map::new());
    }
    slot
}

/// Calls `each` for every item of a list field, if it exists.
pub(crate) fn each_item(parent: &mut Value, name: &str, mut each: impl FnMut(&mut Value)) {
    if let Some(Value::Array(items)) = parent.get_mut(name) {
        items.iter_mut().for_each(&mut each);
    }
}

/// Calls `then` for the object in a field, if it exists.
pub(crate) fn with(parent: &mut Value, name: &str, then: impl FnOnce(&mut Value)) {
    if let Some(value) = parent.get_mut(name).filter(|v| v.is_object()) {
        then(value);
    }
}

/// Removes a field.
pub(crate) fn remove(parent: &mut Value, name: &str) -> Option<Value> {
    parent.as_object_mut().and_then(|fields| fields.remove(name))
}

/// Copies a field from `from` to `to`, or removes it there if it is absent.
pub(crate) fn copy(from: &Value, to: &mut Value, name: &str) {
    match from.get(name) {
        Some(value) => {
            if let Value::Object(fields) = to {
                fields.insert(name.to_owned(), value.clone());
            }
        }
        None => {
            remove(to, name);
        }
    }
}

/// Returns the text in a field, or an empty text.
pub(crate) fn text<'a>(object: &'a Value, name: &str) -> &'a str {
    object[name].as_str().unwrap_or("")
}

/// Returns the items of a list field.
pub(crate) fn items<'a>(object: &'a Value, name: &str) -> &'a [Value] {
    object[name].as_array().map_or(&[], Vec::as_slice)
}

/// Keeps a deprecated single-value field consistent with the list that replaced it. Each is the default of the other.
pub(crate) fn first_of_many(object: &mut Value, one: &str, many: &str, item: impl Fn(Value) -> Value) {
    if is_empty(&object[many]) && !is_empty(&object[one]) {
        let only = object[one].clone();
        object[many] = Value::Array(vec![item(only)]);
    }
}
