//! Reads an object's fields for the printers: missing fields are empty, zero or false.

use jiff::Timestamp;
use serde_json::{Map, Value};

use crate::age;

/// An object that is printed as a row.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Row<'a> {
    /// API version of the object.
    pub(crate) version: &'a str,
    pub(crate) object: &'a Value,
    pub(crate) now: Timestamp,
}

impl<'a> Row<'a> {
    pub(crate) fn name(&self) -> &'a str {
        self.text("/metadata/name")
    }

    pub(crate) fn age(&self) -> String {
        self.since("/metadata/creationTimestamp")
    }

    /// Returns the creation time as stored, or Go's zero time.
    pub(crate) fn created(&self) -> &'a str {
        self.given("/metadata/creationTimestamp").unwrap_or(age::ZERO)
    }

    pub(crate) fn is_deleted(&self) -> bool {
        self.at("/metadata/deletionTimestamp").is_some()
    }

    pub(crate) fn annotation(&self, key: &str) -> Option<&'a str> {
        self.object["metadata"]["annotations"][key].as_str()
    }

    /// Returns the value at a JSON pointer, unless it is missing or null.
    pub(crate) fn at(&self, pointer: &str) -> Option<&'a Value> {
        self.object.pointer(pointer).filter(|value| !value.is_null())
    }

    pub(crate) fn given(&self, pointer: &str) -> Option<&'a str> {
        self.at(pointer).and_then(Value::as_str)
    }

    pub(crate) fn text(&self, pointer: &str) -> &'a str {
        self.given(pointer).unwrap_or_default()
    }

    pub(crate) fn text_or(&self, pointer: &str, otherwise: &'a str) -> &'a str {
        match self.text(pointer) {
            "" => otherwise,
            text => text,
        }
    }

    pub(crate) fn number(&self, pointer: &str) -> i64 {
        self.at(pointer).and_then(Value::as_i64).unwrap_or_default()
    }

    pub(crate) fn flag(&self, pointer: &str) -> Option<bool> {
        self.at(pointer).and_then(Value::as_bool)
    }

    pub(crate) fn items(&self, pointer: &str) -> &'a [Value] {
        self.at(pointer)
            .and_then(Value::as_array)
            .map_or(&[], Vec::as_slice)
    }

    pub(crate) fn entries(&self, pointer: &str) -> Option<&'a Map<String, Value>> {
        self.at(pointer).and_then(Value::as_object)
    }

    /// Returns the number of items or entries.
    pub(crate) fn count(&self, pointer: &str) -> usize {
        match self.at(pointer) {
            Some(Value::Array(items)) => items.len(),
            Some(Value::Object(entries)) => entries.len(),
            _ => 0,
        }
    }

    pub(crate) fn since(&self, pointer: &str) -> String {
        age::since(self.text(pointer), self.now)
    }

    /// Returns the first condition of a type.
    pub(crate) fn condition(&self, type_: &str) -> Option<&'a Value> {
        self.items("/status/conditions")
            .iter()
            .find(|condition| condition["type"] == type_)
    }

    /// Returns whether the first condition of a type has the status `True`.
    pub(crate) fn holds(&self, type_: &str) -> bool {
        self.condition(type_)
            .is_some_and(|condition| condition["status"] == "True")
    }
}

/// Returns the text of a field, or an empty one.
pub(crate) fn text<'a>(value: &'a Value, field: &str) -> &'a str {
    value[field].as_str().unwrap_or_default()
}

/// Returns the number of a field, or 0.
pub(crate) fn number(value: &Value, field: &str) -> i64 {
    value[field].as_i64().unwrap_or_default()
}

/// Returns the items of a list, or none if the value is not a list.
pub(crate) fn items(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}
