//! Finds duplicates in lists of type `set` and `map`.

use serde_json::{Map, Value};

use super::structure::{Additional, Schema};
use crate::status::FieldError;

/// Reports duplicates in lists of type `set` and `map`.
pub(super) fn check(schema: Schema<'_>, value: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    walk(schema, value, "", &mut errors);
    errors
}

fn walk(schema: Schema<'_>, value: &Value, path: &str, errors: &mut Vec<FieldError>) {
    match value {
        Value::Object(fields) => {
            for (name, field) in fields {
                let dot = if path.is_empty() { "" } else { "." };
                if let Additional::Schema(additional) = schema.additional() {
                    walk(additional, field, &format!("{path}[{name}]"), errors);
                }
                if let Some(property) = schema.property(name) {
                    walk(property, field, &format!("{path}{dot}{name}"), errors);
                }
            }
        }
        Value::Array(items) => {
            match schema.list_type() {
                "set" => repeated(items).for_each(|at| {
                    errors.push(FieldError::duplicate(format!("{path}[{at}]"), items[at].clone()));
                }),
                "map" => check_map(schema, items, path, errors),
                _ => {}
            }
            if let Some(item_schema) = schema.items() {
                for (at, item) in items.iter().enumerate() {
                    walk(item_schema, item, &format!("{path}[{at}]"), errors);
                }
            }
        }
        _ => {}
    }
}

/// Returns the index of the second occurrence of each value. Further occurrences are not reported.
fn repeated(items: &[Value]) -> impl Iterator<Item = usize> {
    (0..items.len()).filter(|at| {
        items[..*at]
            .iter()
            .filter(|earlier| **earlier == items[*at])
            .count()
            == 1
    })
}

fn check_map(schema: Schema<'_>, items: &[Value], path: &str, errors: &mut Vec<FieldError>) {
    for (at, item) in items.iter().enumerate() {
        if !item.is_object() && !item.is_null() {
            errors.push(FieldError::invalid(
                format!("{path}[{at}]"),
                item.clone(),
                "must be an object for an array of list-type map",
            ));
            return;
        }
    }
    let key_of = |item: &Value| -> Value {
        let parts = schema.texts("x-kubernetes-list-map-keys");
        let key: Map<String, Value> = parts
            .filter_map(|part| Some((part.to_owned(), item.get(part)?.clone())))
            .collect();
        key.into()
    };
    let keys: Vec<Value> = items.iter().map(key_of).collect();
    for at in repeated(&keys) {
        errors.push(FieldError::duplicate(format!("{path}[{at}]"), keys[at].clone()));
    }
}
