//! Sets the defaults of a schema.

use serde_json::Value;

use super::structure::Schema;

fn is_forbidden_null(value: &Value, schema: Schema<'_>) -> bool {
    value.is_null() && !schema.nullable()
}

/// Sets the defaults of missing fields, and of nulls that are not allowed. Returns whether it set any.
///
/// Parents come before their nested fields, which may be in the default of the parent.
pub(super) fn fill(value: &mut Value, schema: Schema<'_>) -> bool {
    let mut found = false;
    match value {
        Value::Object(fields) => {
            for (name, property) in schema.properties() {
                let Some(default) = property.default() else {
                    continue;
                };
                if fields.get(name).is_none_or(|v| is_forbidden_null(v, property)) {
                    fields.insert(name.to_owned(), default.clone());
                    found = true;
                }
            }
            for (name, field) in fields {
                if let Some(property) = schema.child(name) {
                    if schema.property(name).is_none() {
                        found |= replace_null(field, property);
                    }
                    found |= fill(field, property);
                }
            }
        }
        Value::Array(items) => {
            if let Some(item_schema) = schema.items() {
                for item in items {
                    found |= replace_null(item, item_schema);
                    found |= fill(item, item_schema);
                }
            }
        }
        _ => {}
    }
    found
}

fn replace_null(value: &mut Value, schema: Schema<'_>) -> bool {
    let default = schema.default().filter(|_| is_forbidden_null(value, schema));
    if let Some(default) = default {
        *value = default.clone();
    }
    default.is_some()
}
