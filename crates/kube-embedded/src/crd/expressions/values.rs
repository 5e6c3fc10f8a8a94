//! Objects as values of expressions.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Map, Value as Json};

use super::super::formats::parse_duration;
use super::super::structure::{Additional, Schema, is_meta_field};
use super::declared::escape;
use crate::cel::{Identity, Key, List, Value, decode_base64, parse_timestamp};

fn invalid(why: impl Into<Arc<str>>) -> Value {
    Value::Invalid(why.into())
}

/// Returns a value by its schema; what does not fit is [`Value::Invalid`].
pub(super) fn value(json: &Json, schema: Schema<'_>, is_resource: bool) -> Value {
    if json.is_null() {
        return if schema.nullable() {
            Value::Null
        } else {
            invalid("invalid data, got null for schema with nullable=false")
        };
    }
    if schema.int_or_string() {
        return match (json, json.as_i64()) {
            (Json::String(text), _) => Value::from(text.as_str()),
            (_, Some(n)) => Value::Int(n),
            _ => invalid("invalid data, expected XIntOrString value to be either a string or integer"),
        };
    }
    match (schema.kind(), json) {
        ("object", Json::Object(fields)) => object(fields, schema, is_resource),
        ("array", Json::Array(items)) => list(items, schema),
        ("string", Json::String(text)) => string(text, schema.text("format")),
        ("boolean", Json::Bool(b)) => Value::Bool(*b),
        ("integer", Json::Number(n)) => match n.as_i64() {
            Some(n) => Value::Int(n),
            None => invalid("invalid data, expected int, got float64"),
        },
        ("number", Json::Number(n)) => Value::Double(n.as_f64().unwrap_or(f64::NAN)),
        ("", _) if schema.preserves() => Value::Unknown(Arc::new(json.clone())),
        ("object", _) => invalid("invalid data, expected a map for the provided schema with type=object"),
        ("array", _) => invalid("invalid data, expected an array for the provided schema with type=array"),
        (kind, _) => invalid(format!("invalid data, expected {kind}")),
    }
}

fn object(fields: &Map<String, Json>, schema: Schema<'_>, is_resource: bool) -> Value {
    let mut map = BTreeMap::new();
    let is_map = matches!(schema.additional(), Additional::Schema(_));
    for (name, field) in fields {
        // In an object with named fields, null is the same as nothing.
        if field.is_null() && !is_map {
            continue;
        }
        let key = if is_map {
            name.clone()
        } else {
            escape(name).unwrap_or_else(|| name.clone())
        };
        let value = if is_resource && is_meta_field(name) {
            metadata(field)
        } else {
            match schema.child(name) {
                Some(inner) => value(field, inner, inner.embedded()),
                None => Value::Unknown(Arc::new(field.clone())),
            }
        };
        map.insert(Key::String(key.into()), value);
    }
    Value::Map(Arc::new(map))
}

/// Kind and version, or the metadata of which only the names are known.
fn metadata(json: &Json) -> Value {
    match json {
        Json::String(text) => Value::from(text.as_str()),
        Json::Object(fields) => {
            let known = fields.iter().map(|(name, field)| {
                let value = match field {
                    Json::String(text) if matches!(name.as_str(), "name" | "generateName") => {
                        Value::from(text.as_str())
                    }
                    other => Value::Unknown(Arc::new(other.clone())),
                };
                (Key::String(name.as_str().into()), value)
            });
            Value::Map(Arc::new(known.collect()))
        }
        other => Value::Unknown(Arc::new(other.clone())),
    }
}

fn list(items: &[Json], schema: Schema<'_>) -> Value {
    let Some(inner) = schema.items() else {
        return invalid("invalid array type, expected Items with a non-empty Schema");
    };
    let identity = match schema.list_type() {
        "set" => Identity::Value,
        "map" => {
            let keys = schema.texts("x-kubernetes-list-map-keys");
            Identity::Keys(
                keys.map(|key| escape(key).unwrap_or_else(|| key.to_owned()))
                    .collect(),
            )
        }
        _ => Identity::Position,
    };
    let items = items.iter().map(|item| value(item, inner, inner.embedded()));
    Value::List(List {
        items: Arc::new(items.collect()),
        identity,
    })
}

fn string(text: &str, format: &str) -> Value {
    match format {
        "byte" => match decode_base64(text) {
            Some(bytes) => Value::Bytes(bytes.into()),
            None => invalid(format!(
                "Invalid byte formatted string {text}: illegal base64 data"
            )),
        },
        "duration" => match parse_duration(text) {
            Some(nanoseconds) => Value::Duration(nanoseconds),
            None => invalid(format!(
                "Invalid duration {text}: time: invalid duration {text:?}"
            )),
        },
        "date" => match parse_timestamp(&format!("{text}T00:00:00Z")) {
            Some(at) => Value::Timestamp(at),
            None => invalid(format!("Invalid date formatted string {text}: cannot be parsed")),
        },
        "date-time" => match parse_timestamp(text) {
            Some(at) => Value::Timestamp(at),
            None => invalid(format!(
                "Invalid date-time formatted string {text}: cannot be parsed"
            )),
        },
        _ => Value::from(text),
    }
}
