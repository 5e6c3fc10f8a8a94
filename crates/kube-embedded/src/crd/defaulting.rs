//! Fills in the defaults of a schema.

use serde_json::Value;

use super::structure::Schema;

fn is_forbidden_null(value: &Value, schema: Schema<'_>) -> bool {
    value.is_null() && !schema.nullable()
}

/// Sets what is missing, or null where null is not allowed, to its default, from the outside in.
pub(super) fn fill(value: &mut Value, schema: Schema<'_>) {
    match value {
        Value::Object(fields) => {
            for (name, property) in schema.properties() {
                let Some(default) = property.default() else {
                    continue;
                };
                if fields.get(name).is_none_or(|v| is_forbidden_null(v, property)) {
                    fields.insert(name.to_owned(), default.clone());
                }
            }
            for (name, field) in fields {
                if let Some(property) = schema.child(name) {
                    if schema.property(name).is_none() {
                        replace_null(field, property);
                    }
                    fill(field, property);
                }
            }
        }
        Value::Array(items) => {
            if let Some(item_schema) = schema.items() {
                for item in items {
                    replace_null(item, item_schema);
                    fill(item, item_schema);
                }
            }
        }
        _ => {}
    }
}

fn replace_null(value: &mut Value, schema: Schema<'_>) {
    if is_forbidden_null(value, schema)
        && let Some(default) = schema.default()
    {
        *value = default.clone();
    }
}
