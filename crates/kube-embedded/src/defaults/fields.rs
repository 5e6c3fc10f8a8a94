//! Reading and setting fields of JSON objects.

use serde_json::{Map, Value};

/// Sets a field that is absent or null. Empty text that decoding has kept was meant.
pub(crate) fn set_default(object: &mut Value, name: &str, value: impl Into<Value>) {
    if let Value::Object(fields) = object
        && fields.get(name).is_none_or(Value::is_null)
    {
        fields.insert(name.to_owned(), value.into());
    }
}

/// Sets a field that is absent, null or empty text: for fields that are printed even when empty.
pub(crate) fn set_if_empty(object: &mut Value, name: &str, value: impl Into<Value>) {
    if let Value::Object(fields) = object
        && is_unset(fields.get(name))
    {
        fields.insert(name.to_owned(), value.into());
    }
}

/// Absent, null or empty text.
pub(crate) fn is_unset(value: Option<&Value>) -> bool {
    match value {
        None | Some(Value::Null) => true,
        Some(Value::String(text)) => text.is_empty(),
        Some(_) => false,
    }
}

/// Absent, or nothing in it.
pub(crate) fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        Value::Bool(_) | Value::Number(_) => false,
    }
}

/// The object in a field, made if it is not there.
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

/// Runs `each` on every item of a list field; nothing happens where there is none.
pub(crate) fn each_item(parent: &mut Value, name: &str, mut each: impl FnMut(&mut Value)) {
    if let Some(Value::Array(items)) = parent.get_mut(name) {
        items.iter_mut().for_each(&mut each);
    }
}

/// Runs `then` on the object in a field, if there is one.
pub(crate) fn with(parent: &mut Value, name: &str, then: impl FnOnce(&mut Value)) {
    if let Some(value) = parent.get_mut(name).filter(|v| v.is_object()) {
        then(value);
    }
}

/// Takes a field away.
pub(crate) fn remove(parent: &mut Value, name: &str) -> Option<Value> {
    parent.as_object_mut().and_then(|fields| fields.remove(name))
}

/// Makes a field of `to` what it is in `from`, absent included.
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

/// Text in a field, empty where there is none.
pub(crate) fn text<'a>(object: &'a Value, name: &str) -> &'a str {
    object[name].as_str().unwrap_or("")
}

/// Items of a list field.
pub(crate) fn items<'a>(object: &'a Value, name: &str) -> &'a [Value] {
    object[name].as_array().map_or(&[], Vec::as_slice)
}

/// Keeps a field that used to hold one value and the list that took its place in step: either gives the other.
pub(crate) fn first_of_many(object: &mut Value, one: &str, many: &str, item: impl Fn(Value) -> Value) {
    if is_empty(&object[many]) && !is_empty(&object[one]) {
        let only = object[one].clone();
        object[many] = Value::Array(vec![item(only)]);
    }
}
