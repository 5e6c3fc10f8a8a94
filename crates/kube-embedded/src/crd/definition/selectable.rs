//! Validates the selectable fields of a definition.

use serde_json::Value;

use super::super::structure::{Additional, Schema};
use crate::status::{FieldError, FieldErrorKind};

const MAX_FIELDS: usize = 8;

/// Validates selectable fields against the schema of the same level.
///
/// Like the server, this ignores other levels: selectable fields that all versions share need a shared schema, which is
/// `missing` otherwise.
pub(super) fn check(
    fields: &Value,
    schema: Option<&Value>,
    missing: &str,
    path: &str,
    errors: &mut Vec<FieldError>,
) {
    if fields.as_array().is_none_or(Vec::is_empty) {
        return;
    }
    let Some(schema) = schema else {
        errors.push(FieldError::invalid(path, "", missing));
        return;
    };
    let schema = Schema(&schema["openAPIV3Schema"]);
    let mut seen: Vec<&str> = Vec::new();
    for (at, field) in fields.as_array().into_iter().flatten().enumerate() {
        let name = format!("{path}[{at}].jsonPath");
        let json_path = Schema(field).text("jsonPath");
        if json_path.is_empty() {
            errors.push(FieldError::required(name, ""));
            continue;
        }
        let found = match schema_at(json_path, schema) {
            Ok(found) => found,
            Err(why) => {
                errors.push(FieldError::invalid(
                    name,
                    json_path,
                    format!("is an invalid path: {why}"),
                ));
                continue;
            }
        };
        if json_path.starts_with(".metadata") {
            errors.push(FieldError::invalid(
                name.clone(),
                json_path,
                "must not point to fields in metadata",
            ));
        }
        if !matches!(found.kind(), "string" | "boolean" | "integer") {
            let detail = "must point to a field of type string, boolean or integer. Enum string fields and strings with \
                formats are allowed.";
            errors.push(FieldError::invalid(name.clone(), json_path, detail));
        }
        if seen.contains(&json_path) {
            errors.push(FieldError::duplicate(name, json_path));
        } else {
            seen.push(json_path);
        }
    }
    if seen.len() > MAX_FIELDS {
        let detail = format!("must have at most {MAX_FIELDS} items");
        errors.push(FieldError::new(FieldErrorKind::TooMany, path, seen.len(), detail));
    }
}

/// Returns the schema at a path such as `.spec.color`.
fn schema_at<'a>(path: &str, schema: Schema<'a>) -> Result<Schema<'a>, String> {
    if path.contains('[') {
        return Err("array notation is not allowed".into());
    }
    let Some(names) = path.strip_prefix('.') else {
        return Err(format!("expected [ or . but got: {path}"));
    };
    let mut schema = schema;
    for name in names.split('.') {
        if name.is_empty() {
            return Err("unexpected end of JSON path".into());
        }
        let next = if schema.has_properties() {
            schema.property(name)
        } else if let Additional::Schema(additional) = schema.additional() {
            Some(additional)
        } else {
            None
        };
        schema = next.ok_or("does not refer to a valid field")?;
    }
    Ok(schema)
}
