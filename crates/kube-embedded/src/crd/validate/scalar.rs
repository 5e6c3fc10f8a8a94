//! Validates type, format and enum of a single value.

use serde_json::Value;

use super::super::formats;
use super::super::structure::Schema;
use super::{Finding, Outcome, number};
use crate::status::FieldErrorKind;

/// Returns the types that a schema accepts.
pub(super) fn types(schema: Schema<'_>) -> Vec<&str> {
    if schema.int_or_string() {
        return vec!["integer", "string"];
    }
    Some(schema.kind())
        .filter(|kind| !kind.is_empty())
        .into_iter()
        .collect()
}

/// Returns the format of a schema, if the server checks it.
pub(super) fn format(schema: Schema<'_>) -> &str {
    let kind = if schema.int_or_string() { "" } else { schema.kind() };
    let format = schema.text("format");
    if formats::is_recognized(kind, format) {
        format
    } else {
        ""
    }
}

/// Returns the OpenAPI type and format of a JSON value.
fn type_of(value: &Value) -> (&'static str, &'static str) {
    match value {
        Value::Null => ("null", ""),
        Value::Bool(_) => ("boolean", ""),
        Value::Number(n) if n.as_i64().is_some() => ("integer", "int64"),
        Value::Number(_) => ("number", "float64"),
        Value::String(_) => ("string", ""),
        Value::Array(_) => ("array", ""),
        Value::Object(_) => ("object", ""),
    }
}

pub(super) fn check_type(schema: Schema<'_>, value: &Value, path: &str) -> Outcome {
    let fine = Outcome {
        passed: 1,
        ..Outcome::default()
    };
    let wanted = types(schema);
    let (found, found_format) = type_of(value);
    if value.is_null() {
        if wanted.is_empty() || schema.nullable() {
            return fine;
        }
        return Outcome::one(Finding::wrong_type(path, &wanted.join(","), found));
    }
    let accepted = wanted.contains(&found)
        || (found == "integer" && wanted.contains(&"number"))
        || (wanted.contains(&"integer") && value.as_f64().is_some_and(number::is_whole));
    let is_text_or_list = value.is_string() || value.is_array();
    let format = format(schema);
    if !is_text_or_list && !format.is_empty() && !accepted && found_format != format {
        return Outcome::one(Finding::wrong_type(path, format, found_format));
    }
    let is_numeric = wanted.contains(&"number") || wanted.contains(&"integer");
    if accepted || (!is_numeric && !format.is_empty() && is_text_or_list) {
        return fine;
    }
    Outcome::one(Finding::wrong_type(path, &wanted.join(","), found))
}

pub(super) fn check_format(schema: Schema<'_>, text: &str, path: &str) -> Outcome {
    let format = schema.text("format");
    if formats::holds(format, text) {
        return Outcome::default();
    }
    Outcome::one(Finding::wrong_type(path, format, text))
}

/// Checks an enum. Null is never accepted, even if it is listed.
pub(super) fn check_enum(schema: Schema<'_>, value: &Value, path: &str) -> Outcome {
    let allowed = schema.list("enum");
    if allowed.is_empty() || allowed.iter().any(|a| number::is_same(value, a)) {
        return Outcome::default();
    }
    let shown: Vec<String> = allowed
        .iter()
        .map(|a| a.as_str().map_or_else(|| a.to_string(), str::to_owned))
        .collect();
    let quoted: Vec<String> = shown.iter().map(|a| format!("{a:?}")).collect();
    let message = format!("{path} in body should be one of [{}]", shown.join(" "));
    Outcome::one(
        Finding::at(FieldErrorKind::NotSupported, path, value.clone(), message)
            .with_detail(format!("supported values: {}", quoted.join(", "))),
    )
}
