//! Columns that a CustomResourceDefinition declares.

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::jsonpath::Path;
use crate::{Column, age, built_in, go};

/// The columns of one version of a custom resource.
#[derive(Debug, Clone)]
pub(crate) struct CustomColumns {
    columns: Vec<Column>,
    /// The paths of all columns but the first, which is the name.
    paths: Vec<Path>,
}

impl CustomColumns {
    /// Parses a version's `additionalPrinterColumns`. Without any, the age is shown. Columns end before the first with an invalid path.
    pub(crate) fn new(additional_printer_columns: &Value) -> CustomColumns {
        let age = [json!({
            "name": "Age",
            "type": "date",
            "description": built_in::created_description(),
            "jsonPath": ".metadata.creationTimestamp",
        })];
        let declared = additional_printer_columns
            .as_array()
            .map_or(&[][..], Vec::as_slice);
        CustomColumns::read(if declared.is_empty() { &age } else { declared })
    }

    /// Returns the columns of a custom resource's `scale` subresource.
    pub(crate) fn scale() -> CustomColumns {
        CustomColumns::read(&[
            json!({ "name": "Desired", "type": "integer", "description": "Number of desired replicas",
                    "jsonPath": ".spec.replicas" }),
            json!({ "name": "Available", "type": "integer", "description": "Number of actual replicas",
                    "jsonPath": ".status.replicas" }),
            json!({ "name": "Age", "type": "date", "description": built_in::created_description(),
                    "jsonPath": ".metadata.creationTimestamp" }),
        ])
    }

    fn read(declared: &[Value]) -> CustomColumns {
        let mut custom = CustomColumns {
            columns: vec![Column {
                name: "Name".into(),
                type_: "string".into(),
                format: "name".into(),
                description: built_in::name_description().into(),
                priority: 0,
            }],
            paths: Vec::new(),
        };
        for column in declared {
            let text = |field: &str| column[field].as_str().unwrap_or_default().to_owned();
            let written = text("jsonPath");
            let Ok(path) = Path::parse(&written) else {
                break;
            };
            let description = match text("description") {
                none if none.is_empty() => {
                    format!("Custom resource definition column (in JSONPath format): {written}")
                }
                description => description,
            };
            custom.paths.push(path);
            custom.columns.push(Column {
                name: text("name").into(),
                type_: text("type").into(),
                format: text("format").into(),
                description: description.into(),
                priority: column["priority"].as_i64().unwrap_or_default(),
            });
        }
        custom
    }

    pub(crate) fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// Returns the cells of an object. Missing values and values of another type are null.
    pub(crate) fn cells(&self, object: &Value, now: Timestamp) -> Vec<Value> {
        let name = object["metadata"]["name"].as_str().unwrap_or_default();
        let declared = self.columns.iter().skip(1).zip(&self.paths);
        let cells = declared.map(|(column, path)| match path.first(object) {
            Some(value) => cell(&column.type_, &value, now),
            None => Value::Null,
        });
        std::iter::once(name.into()).chain(cells).collect()
    }
}

fn cell(type_: &str, value: &Value, now: Timestamp) -> Value {
    match (type_, value) {
        ("string", value) => go::print(value).into(),
        ("integer", Value::Number(number)) => match go::integer(number) {
            Some(integer) => integer.into(),
            None => number
                .as_f64()
                .map_or(Value::Null, |float| truncated(float).into()),
        },
        ("number", Value::Number(number)) => number.as_f64().map_or(Value::Null, |float| {
            go::whole(float).map_or_else(|| float.into(), Value::from)
        }),
        ("boolean", Value::Bool(value)) => (*value).into(),
        ("date", Value::String(text)) => match text.as_str() {
            "" | "null" => "<unknown>".into(),
            text => age::instant(text).map_or("<invalid>".into(), |at| age::elapsed(at, now).into()),
        },
        _ => Value::Null,
    }
}

/// Converts a float to an integer. Out of range, the result is that of a kube-apiserver on x86-64.
fn truncated(float: f64) -> i64 {
    go::whole(float.trunc()).unwrap_or(i64::MIN)
}
