//! The zero values of types.

use serde_json::{Map, Value, json};

use crate::schema::{Resolved, Type, Types};

/// Returns an object of a built-in type with the zero values of fields that are always present, which have no owner.
/// For custom resources, the object is empty.
pub(in crate::patch) fn blank(types: &Types, ty: &Type) -> Value {
    let mut out = Map::new();
    if let (true, Resolved::Struct(structure)) = (types.is_builtin(), types.resolve(ty)) {
        for field in &structure.fields {
            let zero = match types.resolve(&field.ty) {
                Resolved::Struct(_) if field.present => Some(blank(types, &field.ty)),
                _ if field.present || field.required => Some(zero(types, &field.ty).unwrap_or_default()),
                _ => None,
            };
            out.extend(zero.map(|zero| (field.name.clone(), zero)));
        }
    }
    Value::Object(out)
}

/// Returns the zero value of a scalar type.
pub(super) fn zero(types: &Types, ty: &Type) -> Option<Value> {
    match types.resolve(ty) {
        Resolved::Scalar(Type::String) => Some(json!("")),
        Resolved::Scalar(Type::Int32 | Type::Int64 | Type::Double) => Some(json!(0)),
        Resolved::Scalar(Type::Bool) => Some(json!(false)),
        _ => None,
    }
}
