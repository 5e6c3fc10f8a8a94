//! Converts a structural schema to [`Types`], for merging and server-side apply.

use super::structure::{Additional, Schema, is_meta_field};
use crate::schema::{Field, ListKind, Struct, Type, TypeDef, TypeKind, Types};

/// Returns the OpenAPI name of a custom kind, with the group's domain in reverse: `test.shop.v1.Gizmo`.
pub(crate) fn name(group: &str, version: &str, kind: &str) -> String {
    let reversed: Vec<&str> = group.split('.').rev().collect();
    format!("{}.{version}.{kind}", reversed.join("."))
}

/// Adds the types of a schema. Returns the type of the object.
pub(super) fn root(types: &mut Types, schema: Schema<'_>, name: &str) -> Type {
    structure(types, schema, name, true)
}

/// Adds an object with named fields. `resource` adds the fields that all resources have.
fn structure(types: &mut Types, schema: Schema<'_>, name: &str, resource: bool) -> Type {
    let mut fields: Vec<Field> = Vec::new();
    if resource {
        let builtin = Types::builtin();
        fields.push(Field::plain("apiVersion", Type::String));
        fields.push(Field::plain("kind", Type::String));
        if let Some(meta) = builtin.find("io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta") {
            fields.push(Field::plain("metadata", Type::Ref(types.adopt(builtin, meta))));
        }
    }
    for (property, inner) in schema.properties() {
        if resource && is_meta_field(property) {
            continue;
        }
        let required = schema.texts("required").any(|r| r == property);
        fields.push(field(
            types,
            property,
            inner,
            &format!("{name}.{property}"),
            required,
        ));
    }
    fields.sort_by(|a, b| a.name.cmp(&b.name));
    let id = types.add(TypeDef {
        name: name.to_owned(),
        kind: TypeKind::Struct(Struct {
            fields,
            atomic: schema.text("x-kubernetes-map-type") == "atomic",
            open: schema.preserves() || matches!(schema.additional(), Additional::Allowed(true)),
        }),
    });
    Type::Ref(id)
}

fn field(types: &mut Types, property: &str, schema: Schema<'_>, name: &str, required: bool) -> Field {
    let keys = schema
        .texts("x-kubernetes-list-map-keys")
        .map(str::to_owned)
        .collect();
    let list = match schema.list_type() {
        "set" => ListKind::Set,
        "map" => ListKind::Map(keys),
        _ => ListKind::Atomic,
    };
    let ty = of(types, schema, name);
    Field {
        required,
        list,
        atomic: schema.text("x-kubernetes-map-type") == "atomic",
        default: schema.default().cloned(),
        ..Field::plain(property, ty)
    }
}

fn of(types: &mut Types, schema: Schema<'_>, name: &str) -> Type {
    if schema.int_or_string() {
        return Type::IntOrString;
    }
    match schema.kind() {
        "string" => Type::String,
        "boolean" => Type::Bool,
        "integer" => Type::Int64,
        "number" => Type::Double,
        "array" => {
            let item = schema
                .items()
                .map_or(Type::Any, |item| of(types, item, &format!("{name}[]")));
            Type::List(Box::new(item))
        }
        "object" => match schema.additional() {
            Additional::Schema(value) if !schema.has_properties() => {
                Type::Map(Box::new(of(types, value, &format!("{name}{{}}"))))
            }
            Additional::Allowed(true) if !schema.has_properties() => Type::Map(Box::new(Type::Any)),
            _ => structure(types, schema, name, schema.embedded()),
        },
        _ => Type::Any,
    }
}
