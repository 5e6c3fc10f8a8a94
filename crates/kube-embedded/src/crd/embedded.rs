//! Validates embedded resources: they need `apiVersion`, `kind` and valid metadata.

use serde_json::Value;

use super::names::{dns_label, label_value, qualified_name};
use super::structure::Schema;
use crate::status::FieldError;

/// Validates the embedded resources of an object.
pub(super) fn check(schema: Schema<'_>, value: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    walk(schema, value, "", &mut errors);
    errors
}

/// Validates the embedded resources of a value at a path.
pub(super) fn check_at(schema: Schema<'_>, value: &Value, path: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    walk(schema, value, path, &mut errors);
    errors
}

fn walk(schema: Schema<'_>, value: &Value, path: &str, errors: &mut Vec<FieldError>) {
    match value {
        Value::Object(fields) => {
            if schema.embedded() {
                check_resource(value, path, errors);
            }
            for (name, field) in fields {
                let dot = if path.is_empty() { "" } else { "." };
                if let Some(property) = schema.property(name) {
                    walk(property, field, &format!("{path}{dot}{name}"), errors);
                } else if let Some(additional) = schema.child(name) {
                    walk(additional, field, &format!("{path}[{name}]"), errors);
                }
            }
        }
        Value::Array(items) => {
            if let Some(item_schema) = schema.items() {
                for (at, item) in items.iter().enumerate() {
                    walk(item_schema, item, &format!("{path}[{at}]"), errors);
                }
            }
        }
        _ => {}
    }
}

fn check_resource(resource: &Value, path: &str, errors: &mut Vec<FieldError>) {
    for name in ["apiVersion", "kind"] {
        if resource.get(name).is_none() {
            errors.push(FieldError::required(format!("{path}.{name}"), ""));
        }
    }
    if let Some(version) = resource.get("apiVersion") {
        let field = format!("{path}.apiVersion");
        match version.as_str() {
            None => errors.push(FieldError::invalid(field, version.clone(), "must be a string")),
            Some("") => errors.push(FieldError::invalid(field, "", "must not be empty")),
            Some(text) if text.matches('/').count() > 1 => {
                let detail = format!("unexpected GroupVersion string: {text}");
                errors.push(FieldError::invalid(field, text, detail));
            }
            Some(_) => {}
        }
    }
    if let Some(kind) = resource.get("kind") {
        let field = format!("{path}.kind");
        match kind.as_str() {
            None => errors.push(FieldError::invalid(field, kind.clone(), "must be a string")),
            Some("") => errors.push(FieldError::invalid(field, "", "must not be empty")),
            Some(text) => {
                let wrong = dns_label(&text.to_lowercase());
                if !wrong.is_empty() {
                    let detail = format!(
                        "may have mixed case, but should otherwise match: {}",
                        wrong.join(",")
                    );
                    errors.push(FieldError::invalid(field, text, detail));
                }
            }
        }
    }
    check_labels(resource, path, errors);
}

fn check_labels(resource: &Value, path: &str, errors: &mut Vec<FieldError>) {
    let maps = ["labels", "annotations"].map(|name| (name, resource["metadata"][name].as_object()));
    for (name, entries) in maps {
        let field = format!("{path}.metadata.{name}");
        for (key, value) in entries.into_iter().flatten() {
            for wrong in qualified_name(key) {
                errors.push(FieldError::invalid(field.clone(), key.as_str(), wrong));
            }
            let value = value.as_str().filter(|_| name == "labels").unwrap_or_default();
            for wrong in label_value(value) {
                errors.push(FieldError::invalid(field.clone(), value, wrong));
            }
        }
    }
}
