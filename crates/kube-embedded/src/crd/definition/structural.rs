//! Checks that a schema is structural: the path and type of every field do not depend on values.

use std::cell::RefCell;

use serde_json::{Value, json};

use super::super::structure::{Additional, Schema};
use crate::regexp;
use crate::status::FieldError;

/// Returns why a schema cannot be converted to a structural one. Other checks usually report it better.
pub(super) fn unsupported(schema: Schema<'_>) -> Option<String> {
    let keys = [
        ("id", "id"),
        ("$schema", "schema"),
        ("$ref", "$ref"),
        ("patternProperties", "patternProperties"),
        ("dependencies", "dependencies"),
        ("additionalItems", "additionalItems"),
        ("definitions", "definitions"),
    ];
    let reason = |s: Schema<'_>| {
        if let Some((_, name)) = keys.iter().find(|(key, _)| s.get(key).is_some_and(|v| v != "")) {
            return Some(format!("OpenAPIV3Schema '{name}' is not supported"));
        }
        if s.get("items").is_some_and(Value::is_array) {
            return Some("OpenAPIV3Schema 'items' must be a schema, but is an array".into());
        }
        let preserve = "x-kubernetes-preserve-unknown-fields";
        (s.get(preserve) == Some(&Value::Bool(false)))
            .then(|| format!("internal error: '{preserve}' must be true or undefined"))
    };
    let found = RefCell::new(None);
    schema.any(&|s| {
        *found.borrow_mut() = reason(s);
        found.borrow().is_some()
    });
    found.into_inner()
}

/// The position of a schema.
#[derive(Clone, Copy, PartialEq)]
enum Level {
    Root,
    Item,
    Field,
}

/// Returns why a schema is not structural, sorted by message.
pub(super) fn check(schema: Schema<'_>, path: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    invariants(schema, Level::Root, path, &mut errors);
    completeness(schema, Some(schema), path, path, &mut errors);
    errors.sort_by_cached_key(ToString::to_string);
    errors
}

fn invariants(schema: Schema<'_>, level: Level, path: &str, errors: &mut Vec<FieldError>) {
    if schema.kind() == "array" && schema.items().is_none() {
        errors.push(FieldError::required(format!("{path}.items"), "must be specified"));
    }
    if let Some(items) = schema.items() {
        invariants(items, Level::Item, &format!("{path}.items"), errors);
    }
    for (name, property) in schema.properties() {
        invariants(
            property,
            Level::Field,
            &format!("{path}.properties[{name}]"),
            errors,
        );
    }
    let additional = format!("{path}.additionalProperties");
    if !matches!(schema.additional(), Additional::Unsaid) && level == Level::Root {
        errors.push(FieldError::forbidden(
            additional.clone(),
            "must not be used at the root",
        ));
    }
    if let Additional::Schema(inner) = schema.additional() {
        invariants(inner, Level::Field, &additional, errors);
    }
    if schema.int_or_string() {
        for key in [
            "x-kubernetes-preserve-unknown-fields",
            "x-kubernetes-embedded-resource",
        ] {
            if schema.flag(key) {
                let detail = "must be false if x-kubernetes-int-or-string is true";
                errors.push(FieldError::invalid(format!("{path}.{key}"), true, detail));
            }
        }
    }
    let pattern = json!([{ "type": "integer" }, { "type": "string" }]);
    let skip_any_of = schema.get("anyOf") == Some(&pattern);
    let skip_first = schema
        .list("allOf")
        .first()
        .is_some_and(|first| first["anyOf"] == pattern);
    value_rules(schema, skip_any_of, skip_first, path, errors);
    check_type(schema, level, path, errors);
    check_meta(schema, level, path, errors);
    if schema.embedded() && !schema.preserves() && !schema.has_properties() {
        let detail = "must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields";
        errors.push(FieldError::required(format!("{path}.properties"), detail));
    }
}

fn check_type(schema: Schema<'_>, level: Level, path: &str, errors: &mut Vec<FieldError>) {
    let field = format!("{path}.type");
    let kind = schema.kind();
    if schema.embedded() && kind != "object" {
        let detail = "must be object if x-kubernetes-embedded-resource is true";
        errors.push(match kind {
            "" => FieldError::required(field.clone(), detail),
            other => FieldError::invalid(field.clone(), other, detail),
        });
    } else if kind.is_empty() && !schema.int_or_string() && !schema.preserves() {
        let place = match level {
            Level::Root => "at the root",
            Level::Item => "for specified array items",
            Level::Field => "for specified object fields",
        };
        errors.push(FieldError::required(
            field.clone(),
            format!("must not be empty {place}"),
        ));
    }
    if schema.embedded() && !matches!(schema.additional(), Additional::Unsaid) {
        let detail = "must not be used if x-kubernetes-embedded-resource is set";
        errors.push(FieldError::forbidden(
            format!("{path}.additionalProperties"),
            detail,
        ));
    }
    if level == Level::Root && !kind.is_empty() && kind != "object" {
        errors.push(FieldError::invalid(field, kind, "must be object at the root"));
    }
}

/// Checks that a schema does not change the types of fields that all resources have.
fn check_meta(schema: Schema<'_>, level: Level, path: &str, errors: &mut Vec<FieldError>) {
    let is_resource = level == Level::Root || schema.embedded();
    for name in ["kind", "apiVersion"] {
        if let Some(property) = schema
            .property(name)
            .filter(|p| is_resource && p.kind() != "string")
        {
            let field = format!("{path}.properties[{name}].type");
            errors.push(FieldError::invalid(field, property.kind(), "must be string"));
        }
    }
    let Some(metadata) = schema.property("metadata") else {
        return;
    };
    let path = format!("{path}.properties[metadata]");
    if is_resource && metadata.kind() != "object" {
        errors.push(FieldError::invalid(
            format!("{path}.type"),
            metadata.kind(),
            "must be object",
        ));
    }
    let says_nothing = |value: &Value| matches!(value, Value::Null | Value::Bool(false)) || value == "";
    let is_plain = metadata
        .0
        .as_object()
        .into_iter()
        .flatten()
        .all(|(key, value)| match key.as_str() {
            "type" | "default" => true,
            "properties" => metadata
                .properties()
                .all(|(name, _)| matches!(name, "name" | "generateName")),
            _ => says_nothing(value),
        });
    if level == Level::Root && !is_plain {
        let detail = "must not specify anything other than name and generateName, but metadata is implicitly specified";
        errors.push(FieldError::forbidden(path, detail));
    }
}

fn value_rules(
    schema: Schema<'_>,
    skip_any_of: bool,
    skip_first: bool,
    path: &str,
    errors: &mut Vec<FieldError>,
) {
    if !skip_any_of {
        for (at, inner) in schema.schemas("anyOf").enumerate() {
            nested(inner, false, &format!("{path}.anyOf[{at}]"), errors);
        }
    }
    for (at, inner) in schema.schemas("allOf").enumerate() {
        nested(
            inner,
            skip_first && at == 0,
            &format!("{path}.allOf[{at}]"),
            errors,
        );
    }
    for (at, inner) in schema.schemas("oneOf").enumerate() {
        nested(inner, false, &format!("{path}.oneOf[{at}]"), errors);
    }
    if let Some(not) = schema.get("not") {
        nested(Schema(not), false, &format!("{path}.not"), errors);
    }
    let regex = schema.text("pattern");
    if !regex.is_empty()
        && let Err(why) = regexp::compile(regex)
    {
        let detail = format!("must be a valid regular expression, but isn't: {why}");
        errors.push(FieldError::invalid(format!("{path}.pattern"), regex, detail));
    }
}

/// Checks that schemas in `anyOf` and the like only restrict values.
fn nested(schema: Schema<'_>, skip_any_of: bool, path: &str, errors: &mut Vec<FieldError>) {
    value_rules(schema, skip_any_of, false, path, errors);
    if let Some(items) = schema.items() {
        nested(items, false, &format!("{path}.items"), errors);
    }
    for (name, property) in schema.properties() {
        nested(property, false, &format!("{path}.properties[{name}]"), errors);
    }
    let mut forbid = |set: bool, key: &str, must: &str| {
        if set {
            errors.push(FieldError::forbidden(
                format!("{path}.{key}"),
                format!("must be {must} to be structural"),
            ));
        }
    };
    for key in ["type", "title", "description"] {
        forbid(!schema.text(key).is_empty(), key, "empty");
    }
    let additional = !matches!(
        schema.additional(),
        Additional::Unsaid | Additional::Allowed(false)
    );
    forbid(additional, "additionalProperties", "undefined");
    forbid(schema.default().is_some(), "default", "undefined");
    for key in [
        "nullable",
        "x-kubernetes-preserve-unknown-fields",
        "x-kubernetes-embedded-resource",
        "x-kubernetes-int-or-string",
    ] {
        forbid(schema.flag(key), key, "false");
    }
    for key in ["x-kubernetes-list-map-keys", "x-kubernetes-validations"] {
        forbid(!schema.list(key).is_empty(), key, "empty");
    }
    for key in ["x-kubernetes-list-type", "x-kubernetes-map-type"] {
        forbid(schema.get(key).is_some(), key, "undefined");
    }
    if schema.property("metadata").is_some() {
        let detail = "must not be specified in a nested context";
        errors.push(FieldError::forbidden(
            format!("{path}.properties[metadata]"),
            detail,
        ));
    }
}

/// Checks that restricted fields are also specified outside of the restriction.
fn completeness(
    rules: Schema<'_>,
    known: Option<Schema<'_>>,
    path: &str,
    rules_path: &str,
    errors: &mut Vec<FieldError>,
) {
    if let Some(not) = rules.get("not") {
        complete(Schema(not), known, path, &format!("{rules_path}.not"), errors);
    }
    for key in ["allOf", "anyOf", "oneOf"] {
        for (at, inner) in rules.schemas(key).enumerate() {
            complete(inner, known, path, &format!("{rules_path}.{key}[{at}]"), errors);
        }
    }
}

fn complete(
    rules: Schema<'_>,
    known: Option<Schema<'_>>,
    path: &str,
    rules_path: &str,
    errors: &mut Vec<FieldError>,
) {
    let Some(known) = known else {
        errors.push(FieldError::required(
            path,
            format!("because it is defined in {rules_path}"),
        ));
        return;
    };
    completeness(rules, Some(known), path, rules_path, errors);
    if let Some(items) = rules.items() {
        complete(
            items,
            known.items(),
            &format!("{path}.items"),
            &format!("{rules_path}.items"),
            errors,
        );
    }
    for (name, property) in rules.properties() {
        let at = format!("{path}.properties[{name}]");
        let rules_at = format!("{rules_path}.properties[{name}]");
        complete(property, known.property(name), &at, &rules_at, errors);
    }
}
