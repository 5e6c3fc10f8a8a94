//! Validates subresources and printer columns.

use serde_json::Value;

use super::super::structure::Schema;
use super::go_format;
use crate::status::FieldError;

/// Validates the paths of the scale subresource.
pub(super) fn check(subresources: &Value, path: &str, errors: &mut Vec<FieldError>) {
    let scale = &subresources["scale"];
    if !scale.is_object() {
        return;
    }
    let scale = Schema(scale);
    let replicas = [("specReplicasPath", ".spec"), ("statusReplicasPath", ".status")];
    for (key, root) in replicas {
        let field = format!("{path}.scale.{key}");
        let value = scale.text(key);
        if value.is_empty() {
            errors.push(FieldError::required(field, ""));
        } else if !value.starts_with('.') {
            errors.push(not_a_path(field, value));
        } else if !value.starts_with(&format!("{root}.")) {
            let detail = format!("should be a json path under {root}");
            errors.push(FieldError::invalid(field, value, detail));
        }
    }
    let selector = scale.text("labelSelectorPath");
    let field = format!("{path}.scale.labelSelectorPath");
    if selector.is_empty() {
        return;
    }
    if !selector.starts_with('.') {
        errors.push(not_a_path(field, selector));
    } else if !selector.starts_with(".spec.") && !selector.starts_with(".status.") {
        let detail = "should be a json path under either .spec or .status";
        errors.push(FieldError::invalid(field, selector, detail));
    }
}

fn not_a_path(field: String, value: &str) -> FieldError {
    FieldError::invalid(field, value, "must be a simple json path starting with .")
}

const COLUMN_TYPES: &str = "boolean,date,integer,number,string";
const COLUMN_FORMATS: &str = "byte,date,date-time,double,float,int32,int64,password";

/// Validates additional printer columns.
pub(super) fn check_columns(columns: &Value, path: &str, errors: &mut Vec<FieldError>) {
    for (at, column) in columns.as_array().into_iter().flatten().enumerate() {
        let column = Schema(column);
        let field = |name: &str| format!("{path}[{at}].{name}");
        let is_one_of = |list: &str, value: &str| list.split(',').any(|known| known == value);
        if column.text("name").is_empty() {
            errors.push(FieldError::required(field("name"), ""));
        }
        let must = format!("must be one of {COLUMN_TYPES}");
        match column.kind() {
            "" => errors.push(FieldError::required(field("type"), must)),
            known if is_one_of(COLUMN_TYPES, known) => {}
            other => errors.push(FieldError::invalid(field("type"), other, must)),
        }
        let format = column.text("format");
        if !format.is_empty() && !is_one_of(COLUMN_FORMATS, format) {
            let detail = format!("must be one of {COLUMN_FORMATS}");
            errors.push(FieldError::invalid(field("format"), format, detail));
        }
        match column.text("jsonPath") {
            "" => errors.push(FieldError::required(field("JSONPath"), "")),
            path if !path.starts_with('.') => errors.push(not_a_path(field("JSONPath"), path)),
            _ => {}
        }
    }
}

const ALLOWED_AT_ROOT: &str = "Description Type Format Title Maximum ExclusiveMaximum Minimum ExclusiveMinimum MaxLength \
    MinLength Pattern MaxItems MinItems UniqueItems MultipleOf Required Items Properties ExternalDocs Example \
    XPreserveUnknownFields XValidations";

/// Checks that the root of the schema has only fields that are allowed with a status subresource.
pub(super) fn check_root(schema: Schema<'_>, path: &str, errors: &mut Vec<FieldError>) {
    for name in go_format::set_fields(schema.0) {
        if name == "Type" && schema.kind() != "object" {
            let detail = "only \"object\" is allowed as the type at the root of the schema if the status subresource is enabled";
            errors.push(FieldError::invalid(format!("{path}.type"), schema.kind(), detail));
            return;
        }
        if !ALLOWED_AT_ROOT.split(' ').any(|allowed| allowed == name) {
            let detail = format!(
                "only [{ALLOWED_AT_ROOT}] fields are allowed at the root of the schema if the status subresource is \
                 enabled"
            );
            let error = FieldError::invalid(path, Value::Null, detail);
            errors.push(error.showing(go_format::schema(schema.0)));
            return;
        }
    }
}
