//! Removes fields that are not in a schema.

use serde_json::Value;

use super::structure::{Additional, Schema, is_meta_field};
use crate::schema::{Resolved, Type, Types};

/// Removes unknown fields and nulls without effect, and adds the paths of the unknown fields to `unknown`.
///
/// Returns whether it removed anything. Fields of the object's `metadata` come first, then all others by name.
pub(super) fn prune(object: &mut Value, schema: Schema<'_>, unknown: &mut Vec<String>) -> bool {
    prune_metadata(object, &mut String::new(), unknown);
    unknown.append(&mut prune_fields(object, schema, true));
    let had_nulls = drop_nulls(object, Some(schema));
    let mut embedded = Vec::new();
    prune_embedded(object, schema, &mut String::new(), &mut embedded);
    embedded.sort();
    unknown.append(&mut embedded);
    had_nulls || !unknown.is_empty()
}

/// Removes unknown fields, and returns their paths. A `resource` keeps the fields that all resources have.
pub(super) fn prune_fields(value: &mut Value, schema: Schema<'_>, resource: bool) -> Vec<String> {
    let mut pruning = Pruning { unknown: Vec::new() };
    pruning.node(value, Some(schema), resource, &mut String::new());
    pruning.unknown.sort();
    pruning.unknown
}

fn prune_metadata(resource: &mut Value, path: &mut String, unknown: &mut Vec<String>) {
    let types = Types::builtin();
    let Some(meta) = types.find("io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta") else {
        return;
    };
    if let Some(metadata) = resource.get_mut("metadata") {
        path.push_str("metadata");
        prune_typed(metadata, types, &Type::Ref(meta), path, unknown);
    }
}

fn prune_typed(value: &mut Value, types: &Types, ty: &Type, path: &mut String, unknown: &mut Vec<String>) {
    let length = path.len();
    match (types.resolve(ty), value) {
        (Resolved::Struct(known), Value::Object(fields)) => {
            fields.retain(|name, field| {
                push_name(path, name);
                let of = known.field(name);
                match of {
                    Some(of) => prune_typed(field, types, &of.ty, path, unknown),
                    None => unknown.push(path.clone()),
                }
                path.truncate(length);
                of.is_some()
            });
        }
        (Resolved::List(item), Value::Array(items)) => {
            for (at, value) in items.iter_mut().enumerate() {
                push_index(path, at);
                prune_typed(value, types, item, path, unknown);
                path.truncate(length);
            }
        }
        _ => {}
    }
}

struct Pruning {
    unknown: Vec<String>,
}

impl Pruning {
    /// Prunes a value. Without a schema, all nested fields are unknown.
    fn node(&mut self, value: &mut Value, schema: Option<Schema<'_>>, resource: bool, path: &mut String) {
        if let Some(schema) = schema.filter(|s| s.preserves()) {
            self.preserved(value, schema, resource, path);
            return;
        }
        let length = path.len();
        match value {
            Value::Object(fields) => {
                let resource = resource || schema.is_some_and(Schema::embedded);
                fields.retain(|name, field| {
                    if resource && is_meta_field(name) {
                        return true;
                    }
                    push_name(path, name);
                    let kept = match inner(schema, name) {
                        Inner::Known(schema) => {
                            self.node(field, schema, false, path);
                            true
                        }
                        Inner::Unknown => {
                            self.unknown.push(path.clone());
                            false
                        }
                    };
                    path.truncate(length);
                    kept
                });
            }
            Value::Array(items) => {
                for (at, item) in items.iter_mut().enumerate() {
                    push_index(path, at);
                    self.node(item, schema.and_then(Schema::items), false, path);
                    path.truncate(length);
                }
            }
            _ => {}
        }
    }

    /// Prunes a value whose unknown fields are kept. Its known fields are pruned.
    fn preserved(&mut self, value: &mut Value, schema: Schema<'_>, resource: bool, path: &mut String) {
        let length = path.len();
        match value {
            Value::Object(fields) => {
                let resource = resource || schema.embedded();
                for (name, field) in fields {
                    if resource && is_meta_field(name) {
                        continue;
                    }
                    if let Inner::Known(inner) = inner(Some(schema), name) {
                        push_name(path, name);
                        self.node(field, inner, false, path);
                        path.truncate(length);
                    }
                }
            }
            Value::Array(items) => {
                for (at, item) in items.iter_mut().enumerate() {
                    if let Some(schema) = schema.items() {
                        push_index(path, at);
                        self.preserved(item, schema, false, path);
                        path.truncate(length);
                    }
                }
            }
            _ => {}
        }
    }
}

enum Inner<'a> {
    /// A known field. With `additionalProperties: true`, its nested fields are unknown.
    Known(Option<Schema<'a>>),
    Unknown,
}

fn inner<'a>(schema: Option<Schema<'a>>, name: &str) -> Inner<'a> {
    let Some(schema) = schema else {
        return Inner::Unknown;
    };
    if let Some(property) = schema.property(name) {
        return Inner::Known(Some(property));
    }
    match schema.additional() {
        Additional::Unsaid => Inner::Unknown,
        Additional::Allowed(_) => Inner::Known(None),
        Additional::Schema(schema) => Inner::Known(Some(schema)),
    }
}

fn push_name(path: &mut String, name: &str) {
    if !path.is_empty() {
        path.push('.');
    }
    path.push_str(name);
}

fn push_index(path: &mut String, at: usize) {
    path.extend(["[", &at.to_string(), "]"]);
}

/// Removes nulls that are neither allowed nor replaced by a default. Returns whether there were any.
fn drop_nulls(value: &mut Value, schema: Option<Schema<'_>>) -> bool {
    let mut found = false;
    match value {
        Value::Object(fields) => fields.retain(|name, field| {
            let property = schema.and_then(|s| s.child(name));
            if field.is_null() && property.is_some_and(|p| !p.nullable() && p.default().is_none()) {
                found = true;
                return false;
            }
            found |= drop_nulls(field, property);
            true
        }),
        Value::Array(items) => {
            let item_schema = schema.and_then(Schema::items);
            for item in items {
                found |= drop_nulls(item, item_schema);
            }
        }
        _ => {}
    }
    found
}

/// Prunes the metadata of embedded resources by the built-in type.
fn prune_embedded(value: &mut Value, schema: Schema<'_>, path: &mut String, unknown: &mut Vec<String>) {
    let length = path.len();
    if schema.embedded() {
        path.push('.');
        prune_metadata(value, path, unknown);
        path.truncate(length);
    }
    match value {
        Value::Object(fields) => {
            for (name, field) in fields {
                if let Some(property) = schema.child(name) {
                    push_name(path, name);
                    prune_embedded(field, property, path, unknown);
                    path.truncate(length);
                }
            }
        }
        Value::Array(items) => {
            if let Some(item_schema) = schema.items() {
                for (at, item) in items.iter_mut().enumerate() {
                    push_index(path, at);
                    prune_embedded(item, item_schema, path, unknown);
                    path.truncate(length);
                }
            }
        }
        _ => {}
    }
}
