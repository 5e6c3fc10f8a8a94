//! A list of errors.

use serde_json::Value;

use super::names::Problems;
use crate::status::{FieldError, FieldErrorKind};

/// Collects errors in the order of validation.
#[derive(Debug, Default)]
pub(super) struct Errors(pub(super) Vec<FieldError>);

impl Errors {
    pub(super) fn add(&mut self, error: FieldError) {
        self.0.push(error);
    }

    pub(super) fn required(&mut self, field: impl Into<String>) {
        self.add(FieldError::required(field, ""));
    }

    pub(super) fn required_because(&mut self, field: impl Into<String>, detail: &str) {
        self.add(FieldError::required(field, detail));
    }

    pub(super) fn invalid(&mut self, field: impl Into<String>, value: impl Into<Value>, detail: &str) {
        self.add(FieldError::invalid(field, value, detail));
    }

    pub(super) fn forbidden(&mut self, field: impl Into<String>, detail: &str) {
        self.add(FieldError::forbidden(field, detail));
    }

    pub(super) fn duplicate(&mut self, field: impl Into<String>, value: impl Into<Value>) {
        self.add(FieldError::duplicate(field, value));
    }

    pub(super) fn not_found(&mut self, field: impl Into<String>, value: impl Into<Value>) {
        self.add(FieldError::new(FieldErrorKind::NotFound, field, value, ""));
    }

    /// Adds one error per problem with the text.
    pub(super) fn problems(&mut self, field: &str, text: &str, problems: Problems) {
        for problem in problems {
            self.invalid(field, text, &problem);
        }
    }

    /// Checks that the value is one of `allowed`, which is in the order of messages.
    pub(super) fn one_of(&mut self, field: impl Into<String>, value: &Value, allowed: &[&str]) {
        let text = value.as_str().unwrap_or("");
        if !allowed.contains(&text) {
            self.add(FieldError::not_supported(field, text, allowed));
        }
    }

    pub(super) fn not_negative(&mut self, field: impl Into<String>, value: &Value) {
        if let Some(number) = value.as_i64().filter(|n| *n < 0) {
            self.invalid(field, number, "must be greater than or equal to 0");
        }
    }

    pub(super) fn port(&mut self, field: impl Into<String>, number: i64) {
        if !(1..=65535).contains(&number) {
            self.invalid(field, number, "must be between 1 and 65535, inclusive");
        }
    }

    /// Checks that the value has not changed.
    pub(super) fn immutable(&mut self, field: impl Into<String>, new: &Value, old: &Value) {
        if new != old {
            self.invalid(field, new.clone(), "field is immutable");
        }
    }
}

/// Formats a JSON object with its fields in the given order, like Go's structs. Absent fields are omitted.
pub(super) fn in_order(value: &Value, order: &[&str]) -> String {
    match value {
        Value::Object(fields) => {
            let rank = |name: &str| order.iter().position(|o| *o == name).unwrap_or(order.len());
            let mut names: Vec<&String> = fields.keys().collect();
            names.sort_by_key(|name| rank(name));
            let parts: Vec<String> = names
                .into_iter()
                .map(|name| {
                    format!(
                        "{}:{}",
                        Value::from(name.as_str()),
                        in_order(&fields[name], order)
                    )
                })
                .collect();
            format!("{{{}}}", parts.join(","))
        }
        Value::Array(items) => {
            let parts: Vec<String> = items.iter().map(|item| in_order(item, order)).collect();
            format!("[{}]", parts.join(","))
        }
        scalar => scalar.to_string(),
    }
}
