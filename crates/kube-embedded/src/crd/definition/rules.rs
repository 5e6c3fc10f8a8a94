//! Validates schemas, structural or not.

use serde_json::Value;

use super::super::expressions::is_field_path;
use super::super::structure::{Additional, Schema, is_meta_field};
use crate::status::FieldError;

const TYPES: [&str; 6] = ["array", "boolean", "integer", "number", "object", "string"];

/// Restrictions of the enclosing schemas.
#[derive(Clone, Default)]
struct Context {
    in_metadata: bool,
    /// Why defaults are not allowed.
    no_defaults: Option<String>,
}

/// Validates a schema, outer levels first.
pub(super) fn check(schema: Schema<'_>, path: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    walk(schema, path, &Context::default(), true, &mut errors);
    errors
}

fn walk(schema: Schema<'_>, path: &str, context: &Context, root: bool, errors: &mut Vec<FieldError>) {
    basics(schema, path, context, errors);
    additional(schema, path, context, errors);
    for (name, property) in schema.properties() {
        let mut inner = context.clone();
        if (root || schema.embedded()) && is_meta_field(name) {
            inner.in_metadata = true;
            if root {
                inner.no_defaults = Some(format!("in top-level {name}"));
            }
        }
        walk(
            property,
            &format!("{path}.properties[{name}]"),
            &inner,
            false,
            errors,
        );
    }
    if let Some(not) = schema.get("not") {
        walk(Schema(not), &format!("{path}.not"), context, false, errors);
    }
    for key in ["allOf", "oneOf", "anyOf"] {
        for (at, inner) in schema.schemas(key).enumerate() {
            walk(inner, &format!("{path}.{key}[{at}]"), context, false, errors);
        }
    }
    for (name, inner) in schema
        .get("definitions")
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
    {
        walk(
            Schema(inner),
            &format!("{path}.definitions[{name}]"),
            context,
            false,
            errors,
        );
    }
    if let Some(items) = schema.items() {
        walk(items, &format!("{path}.items"), context, false, errors);
    }
    for (at, inner) in schema.schemas("items").enumerate() {
        walk(inner, &format!("{path}.items[{at}]"), context, false, errors);
    }
    let preserve = "x-kubernetes-preserve-unknown-fields";
    if schema.get(preserve) == Some(&Value::Bool(false)) {
        let detail = "must be true or undefined";
        errors.push(FieldError::invalid(format!("{path}.{preserve}"), false, detail));
    }
    map_type(schema, path, errors);
    list_type(schema, path, errors);
    list_keys(schema, path, errors);
    keys_and_nulls(schema, path, errors);
    cel_rules(schema, path, errors);
}

fn basics(schema: Schema<'_>, path: &str, context: &Context, errors: &mut Vec<FieldError>) {
    let kind = schema.kind();
    if !kind.is_empty() && !TYPES.contains(&kind) {
        errors.push(FieldError::not_supported(format!("{path}.type"), kind, &TYPES));
    }
    if let Some(why) = context
        .no_defaults
        .as_ref()
        .filter(|_| schema.default().is_some())
    {
        errors.push(FieldError::forbidden(
            format!("{path}.default"),
            format!("must not be set {why}"),
        ));
    }
    for key in [
        "id",
        "additionalItems",
        "patternProperties",
        "definitions",
        "dependencies",
        "$ref",
    ] {
        if schema.get(key).is_some_and(|v| v != "") {
            errors.push(FieldError::forbidden(
                format!("{path}.{key}"),
                format!("{key} is not supported"),
            ));
        }
    }
    if kind == "null" {
        let detail = "type cannot be set to null, use nullable as an alternative";
        errors.push(FieldError::forbidden(format!("{path}.type"), detail));
    }
    if schema.get("items").is_some_and(Value::is_array) {
        let detail = "items must be a schema object and not an array";
        errors.push(FieldError::forbidden(format!("{path}.items"), detail));
    }
    if context.in_metadata && schema.embedded() {
        let detail = "must not be used inside of resource meta";
        errors.push(FieldError::forbidden(
            format!("{path}.x-kubernetes-embedded-resource"),
            detail,
        ));
    }
    if schema.flag("uniqueItems") {
        let detail = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic";
        errors.push(FieldError::forbidden(format!("{path}.uniqueItems"), detail));
    }
}

fn additional(schema: Schema<'_>, path: &str, context: &Context, errors: &mut Vec<FieldError>) {
    let path = format!("{path}.additionalProperties");
    let restricts = matches!(
        schema.additional(),
        Additional::Allowed(false) | Additional::Schema(_)
    );
    if restricts && schema.has_properties() {
        let detail = "additionalProperties and properties are mutual exclusive";
        errors.push(FieldError::forbidden(path.clone(), detail));
    }
    if let Additional::Schema(inner) = schema.additional() {
        let mut context = context.clone();
        if context.in_metadata {
            context.no_defaults = Some("inside additionalProperties applying to object metadata".into());
        }
        walk(inner, &path, &context, false, errors);
    }
}

/// Checks that a schema has the type that an extension requires.
fn need_type(schema: Schema<'_>, wanted: &str, extension: &str, path: &str, errors: &mut Vec<FieldError>) {
    let detail = format!("must be {wanted} if {extension} is specified");
    match schema.kind() {
        kind if kind == wanted => {}
        "" => errors.push(FieldError::required(format!("{path}.type"), detail)),
        other => errors.push(FieldError::invalid(format!("{path}.type"), other, detail)),
    }
}

fn map_type(schema: Schema<'_>, path: &str, errors: &mut Vec<FieldError>) {
    const KEY: &str = "x-kubernetes-map-type";
    if schema.get(KEY).is_none() {
        return;
    }
    need_type(schema, "object", KEY, path, errors);
    if !matches!(schema.text(KEY), "atomic" | "granular") {
        let field = format!("{path}.{KEY}");
        errors.push(FieldError::not_supported(
            field,
            schema.text(KEY),
            &["atomic", "granular"],
        ));
    }
}

fn list_type(schema: Schema<'_>, path: &str, errors: &mut Vec<FieldError>) {
    const KEY: &str = "x-kubernetes-list-type";
    if schema.get(KEY).is_none() {
        return;
    }
    need_type(schema, "array", KEY, path, errors);
    let list_type = schema.list_type();
    if let Some(items) = schema
        .items()
        .filter(|_| list_type == "set" && schema.kind() == "array")
    {
        let detail = "must be atomic as item of a list with x-kubernetes-list-type=set";
        let inner_type = items.get(KEY).cloned().unwrap_or_default();
        let granular_list = items.kind() == "array" && items.get(KEY).is_some_and(|t| t != "atomic");
        if granular_list {
            errors.push(FieldError::invalid(
                format!("{path}.items.{KEY}"),
                inner_type.clone(),
                detail,
            ));
        }
        if items.kind() == "object" && items.text("x-kubernetes-map-type") != "atomic" {
            let field = format!("{path}.items.x-kubernetes-map-type");
            errors.push(FieldError::invalid(field, inner_type, detail));
        }
    }
    if !matches!(list_type, "atomic" | "set" | "map") {
        let field = format!("{path}.{KEY}");
        errors.push(FieldError::not_supported(
            field,
            list_type,
            &["atomic", "set", "map"],
        ));
    }
}

fn list_keys(schema: Schema<'_>, path: &str, errors: &mut Vec<FieldError>) {
    const KEYS: &str = "x-kubernetes-list-map-keys";
    let keys = schema.list(KEYS);
    let list_type = format!("{path}.x-kubernetes-list-type");
    let is_map = schema.list_type() == "map";
    if !keys.is_empty() && !is_map {
        let detail = "must be map if x-kubernetes-list-map-keys is non-empty";
        errors.push(match schema.get("x-kubernetes-list-type") {
            None => FieldError::required(list_type, detail),
            Some(other) => FieldError::invalid(list_type, other.clone(), detail),
        });
    }
    if !is_map {
        return;
    }
    if keys.is_empty() {
        let detail = "must not be empty if x-kubernetes-list-type is map";
        errors.push(FieldError::required(format!("{path}.{KEYS}"), detail));
    }
    let Some(items) = schema.items() else {
        let detail = "must have a schema if x-kubernetes-list-type is map";
        errors.push(FieldError::required(format!("{path}.items"), detail));
        return;
    };
    if items.kind() != "object" {
        let detail = "must be object if parent array's x-kubernetes-list-type is map";
        errors.push(FieldError::invalid(
            format!("{path}.items.type"),
            items.kind(),
            detail,
        ));
        return;
    }
    for (at, key) in keys.iter().enumerate() {
        let name = key.as_str().unwrap_or_default();
        match items.property(name) {
            Some(property) if matches!(property.kind(), "array" | "object") => {
                let field = format!("{path}.items.properties[{name}].type");
                let detail = "must be a scalar type if parent array's x-kubernetes-list-type is map";
                errors.push(FieldError::invalid(field, items.kind(), detail));
            }
            Some(_) => {}
            None => {
                let detail = "entries must all be names of item properties";
                errors.push(FieldError::invalid(
                    format!("{path}.{KEYS}"),
                    keys.to_vec(),
                    detail,
                ));
            }
        }
        if keys[..at].contains(key) {
            let detail = "must not contain duplicate entries";
            errors.push(FieldError::invalid(
                format!("{path}.{KEYS}"),
                keys.to_vec(),
                detail,
            ));
        }
    }
}

/// Checks that items of sets and maps and keys of maps are not nullable, and that keys are required or have defaults.
fn keys_and_nulls(schema: Schema<'_>, path: &str, errors: &mut Vec<FieldError>) {
    let list_type = schema.list_type();
    let Some(items) = schema.items().filter(|_| matches!(list_type, "set" | "map")) else {
        return;
    };
    if items.nullable() {
        let detail = format!("cannot be nullable when x-kubernetes-list-type is {list_type}");
        errors.push(FieldError::forbidden(format!("{path}.items.nullable"), detail));
    }
    if list_type == "set" {
        return;
    }
    for key in schema.texts("x-kubernetes-list-map-keys") {
        let Some(property) = items.property(key) else {
            continue;
        };
        let path = format!("{path}.items.properties[{key}]");
        let always = "this property is in x-kubernetes-list-map-keys, so it";
        if property.default().is_none() && !items.texts("required").any(|r| r == key) {
            let detail = format!("{always} must have a default or be a required property");
            errors.push(FieldError::required(format!("{path}.default"), detail));
        }
        if property.nullable() {
            errors.push(FieldError::forbidden(
                format!("{path}.nullable"),
                format!("{always} cannot be nullable"),
            ));
        }
    }
}

/// Validates the fields of CEL rules. The expressions are compiled later.
fn cel_rules(schema: Schema<'_>, path: &str, errors: &mut Vec<FieldError>) {
    let has_break = |text: &str| text.contains(['\n', '\r']);
    for (at, rule) in schema.schemas("x-kubernetes-validations").enumerate() {
        let field = |name: &str| format!("{path}.x-kubernetes-validations[{at}].{name}");
        let (text, message) = (rule.text("rule"), rule.text("message"));
        if text.trim().is_empty() {
            errors.push(FieldError::required(field("rule"), "rule is not specified"));
        } else if !message.is_empty() && message.trim().is_empty() {
            errors.push(FieldError::invalid(
                field("message"),
                message,
                "must be non-empty if specified",
            ));
        } else if has_break(message.trim()) {
            errors.push(FieldError::invalid(
                field("message"),
                message,
                "must not contain line breaks",
            ));
        } else if has_break(text.trim()) && message.trim().is_empty() {
            let detail = "message must be specified if rule contains line breaks";
            errors.push(FieldError::required(field("message"), detail));
        }
        let expression = rule.text("messageExpression");
        if !expression.is_empty() && expression.trim().is_empty() {
            let detail = "messageExpression must be non-empty if specified";
            errors.push(FieldError::required(field("messageExpression"), detail));
        }
        let reasons = [
            "FieldValueDuplicate",
            "FieldValueForbidden",
            "FieldValueInvalid",
            "FieldValueRequired",
        ];
        if let Some(reason) = rule
            .get("reason")
            .and_then(Value::as_str)
            .filter(|r| !reasons.contains(r))
        {
            errors.push(FieldError::not_supported(field("reason"), reason, &reasons));
        }
        let target = rule.text("fieldPath");
        let mut refuse = |detail: &str| errors.push(FieldError::invalid(field("fieldPath"), target, detail));
        if !target.is_empty() && target.trim().is_empty() {
            refuse("must be non-empty if specified");
        }
        if has_break(target) {
            refuse("must not contain line breaks");
        }
        if !is_field_path(schema, target) {
            refuse("must be a valid path");
        }
    }
}
