//! Validates defaults against their schema.

use super::super::structure::{Schema, is_meta_field};
use super::super::{embedded, prune, validate};
use crate::regexp::Patterns;
use crate::status::FieldError;

/// Validates the defaults of a schema. Those of `metadata` are rejected elsewhere.
pub(super) fn check(schema: Schema<'_>, path: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    walk(schema, path, true, &Patterns::of(schema.0), &mut errors);
    errors
}

fn walk(schema: Schema<'_>, path: &str, resource: bool, patterns: &Patterns, errors: &mut Vec<FieldError>) {
    if let Some(default) = schema.default() {
        let field = format!("{path}.default");
        let mut pruned = default.clone();
        if !prune::prune_fields(&mut pruned, schema, schema.embedded()).is_empty() {
            let detail = "must not have unknown fields";
            errors.push(FieldError::invalid(field.clone(), default.clone(), detail));
        }
        let mut wrong = embedded::check_at(schema, default, &field);
        if wrong.is_empty() {
            wrong = validate::check(schema, patterns, default, None, Some(&field));
        }
        errors.append(&mut wrong);
    }
    if let Some(items) = schema.items() {
        walk(items, &format!("{path}.items"), false, patterns, errors);
    }
    let resource = resource || schema.embedded();
    for (name, property) in schema.properties() {
        if !(resource && is_meta_field(name)) {
            walk(
                property,
                &format!("{path}.properties[{name}]"),
                false,
                patterns,
                errors,
            );
        }
    }
}
