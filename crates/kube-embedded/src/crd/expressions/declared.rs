//! Schemas as types of expressions.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::super::structure::{Additional, Schema};
use crate::cel::{ObjectType, Type, is_reserved};

/// Returns the name of a field in expressions, if it can have one.
pub(super) fn escape(name: &str) -> Option<String> {
    if is_reserved(name) {
        return Some(format!("__{name}__"));
    }
    if name.is_empty() || name.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let mut out = String::new();
    let mut rest = name.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '_' if rest.next_if_eq(&'_').is_some() => out += "__underscores__",
            '.' => out += "__dot__",
            '-' => out += "__dash__",
            '/' => out += "__slash__",
            c if c == '_' || c.is_ascii_alphanumeric() => out.push(c),
            _ => return None,
        }
    }
    Some(out)
}

/// Returns the type of what a schema describes, or nothing if expressions cannot use it.
///
/// A resource has its kind, its version and its name, whatever its schema has.
pub(super) fn declared(schema: Schema<'_>, is_resource: bool, name: &str) -> Option<Type> {
    if schema.int_or_string() {
        return Some(Type::Dyn);
    }
    Some(match schema.kind() {
        "boolean" => Type::Bool,
        "number" => Type::Double,
        "integer" => Type::Int,
        "string" => match schema.text("format") {
            "byte" => Type::Bytes,
            "duration" => Type::Duration,
            "date" | "date-time" => Type::Timestamp,
            _ => Type::String,
        },
        "array" => {
            let items = schema.items()?;
            Type::list(declared(items, items.embedded(), &format!("{name}.@idx"))?)
        }
        "object" => {
            if let Additional::Schema(value) = schema.additional() {
                let value = declared(value, value.embedded(), &format!("{name}.@elem"))?;
                return Some(Type::map(Type::String, value));
            }
            let mut fields: BTreeMap<String, Type> = schema
                .properties()
                .filter_map(|(field, inner)| {
                    let ty = declared(inner, inner.embedded(), &format!("{name}.{field}"))?;
                    Some((escape(field)?, ty))
                })
                .collect();
            if is_resource {
                add_metadata(&mut fields, name);
            }
            Type::Object(Arc::new(ObjectType {
                name: name.to_owned(),
                fields,
            }))
        }
        _ => return None,
    })
}

fn add_metadata(fields: &mut BTreeMap<String, Type>, name: &str) {
    fields.insert("apiVersion".into(), Type::String);
    fields.insert("kind".into(), Type::String);
    let names = ["name", "generateName"].map(|field| (field.to_owned(), Type::String));
    let metadata = ObjectType {
        name: format!("{name}.metadata"),
        fields: BTreeMap::from(names),
    };
    fields.insert("metadata".into(), Type::Object(Arc::new(metadata)));
}
