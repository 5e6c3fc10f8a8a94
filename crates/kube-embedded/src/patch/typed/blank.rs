//! What Go makes of an object that nobody has filled in.

use serde_json::{Map, Value, json};

use crate::schema::{Resolved, Type, Types};

/// An empty object of a built-in type: what can never be absent is there with its zero value. Nobody owns what an object
/// has from the start. A custom resource starts with nothing.
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

/// The zero value of a scalar type.
pub(super) fn zero(types: &Types, ty: &Type) -> Option<Value> {
    match types.resolve(ty) {
        Resolved::Scalar(Type::String) => Some(json!("")),
        Resolved::Scalar(Type::Int32 | Type::Int64 | Type::Double) => Some(json!(0)),
        Resolved::Scalar(Type::Bool) => Some(json!(false)),
        _ => None,
    }
}
