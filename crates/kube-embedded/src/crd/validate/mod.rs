//! Validates an object against its schema.
//!
//! The order of checks is the real server's, because messages are in that order, and because `anyOf` and `oneOf` report
//! the alternative with the most passed checks, which [`Outcome::passed`] counts.

mod combined;
mod number;
mod scalar;

use serde_json::Value;

use self::scalar::{check_enum, check_format, check_type, format, types};
use super::formats;

use super::structure::{Additional, Schema};
use crate::regexp::Patterns;
use crate::status::{FieldError, FieldErrorKind};

/// The result of a validation.
#[derive(Debug, Default)]
pub(super) struct Outcome {
    findings: Vec<Finding>,
    passed: usize,
}

/// An error in a value.
#[derive(Debug, Clone)]
struct Finding {
    kind: FieldErrorKind,
    /// Path of the value; `None` if the server's message has none.
    path: Option<String>,
    value: Value,
    shown: Option<String>,
    detail: String,
    /// Errors with the same text are reported once.
    text: String,
}

impl Finding {
    fn at(kind: FieldErrorKind, path: &str, value: Value, text: String) -> Finding {
        Finding {
            kind,
            path: Some(path.to_owned()),
            value,
            shown: None,
            detail: text.clone(),
            text,
        }
    }

    /// Creates an error without a path.
    fn without_path(text: String) -> Finding {
        Finding {
            kind: FieldErrorKind::Invalid,
            path: None,
            value: "".into(),
            shown: None,
            detail: text.clone(),
            text,
        }
    }

    fn with_detail(mut self, detail: impl Into<String>) -> Finding {
        self.detail = detail.into();
        self
    }

    fn wrong_type(path: &str, wanted: &str, found: &str) -> Finding {
        let text = format!("{path} in body must be of type {wanted}: {found:?}");
        Finding::at(FieldErrorKind::TypeInvalid, path, found.into(), text)
    }

    fn into_error(self, base: Option<&str>) -> FieldError {
        let path = self
            .path
            .as_deref()
            .map_or("", |p| p.strip_prefix('.').unwrap_or(p));
        let field = match (base, path) {
            (Some(base), "") => base.to_owned(),
            (None, "") => "<nil>".to_owned(),
            (Some(base), path) => format!("{base}.{path}"),
            (None, path) => path.to_owned(),
        };
        let error = FieldError::new(self.kind, field, self.value, self.detail);
        match self.shown {
            Some(text) => error.showing(text),
            None => error,
        }
    }
}

impl Outcome {
    fn one(failure: Finding) -> Outcome {
        Outcome {
            findings: vec![failure],
            passed: 0,
        }
    }

    fn is_valid(&self) -> bool {
        self.findings.is_empty()
    }

    fn fail(&mut self, failure: Finding) {
        if !self.findings.iter().any(|known| known.text == failure.text) {
            self.findings.push(failure);
        }
    }

    fn merge(&mut self, other: Outcome) {
        self.passed += other.passed;
        for failure in other.findings {
            self.fail(failure);
        }
    }
}

/// Validates a value. `base` is its path in the object. With `old`, errors in unchanged values are not reported.
pub(super) fn check(
    schema: Schema<'_>,
    patterns: &Patterns,
    value: &Value,
    old: Option<&Value>,
    base: Option<&str>,
) -> Vec<FieldError> {
    let validator = SchemaValidator { patterns };
    let outcome = validator.node(schema, value, old, "");
    outcome.findings.into_iter().map(|f| f.into_error(base)).collect()
}

/// Returns whether a value is equal to the old one. The order in lists of type `map` is ignored.
pub(super) fn unchanged(schema: Option<Schema<'_>>, new: &Value, old: &Value) -> bool {
    match (new, old) {
        (Value::Array(new), Value::Array(old)) => {
            new.len() == old.len()
                && match schema.filter(|s| s.list_type() == "map") {
                    None => new == old,
                    Some(list) => new.iter().all(|item| {
                        counterpart(list, item, old).is_some_and(|o| unchanged(list.items(), item, o))
                    }),
                }
        }
        (Value::Object(new), Value::Object(old)) => {
            new.len() == old.len()
                && new.iter().all(|(key, value)| {
                    let child = schema.and_then(|s| s.child(key));
                    old.get(key).is_some_and(|o| unchanged(child, value, o))
                })
        }
        _ => new == old,
    }
}

/// Returns the item in an old list of type `map` with the same keys as `item`.
pub(super) fn counterpart<'a>(list: Schema<'_>, item: &Value, old: &'a [Value]) -> Option<&'a Value> {
    let keys: Vec<&str> = list.texts("x-kubernetes-list-map-keys").collect();
    old.iter()
        .find(|o| keys.iter().all(|key| o.get(key) == item.get(key)))
}

struct SchemaValidator<'p> {
    patterns: &'p Patterns,
}

impl SchemaValidator<'_> {
    /// Validates a value, unless it is unchanged.
    fn node(&self, schema: Schema<'_>, value: &Value, old: Option<&Value>, path: &str) -> Outcome {
        let mut outcome = self.all(schema, value, old, path);
        if !outcome.is_valid() && old.is_some_and(|old| unchanged(Some(schema), value, old)) {
            outcome.findings.clear();
        }
        outcome
    }

    fn all(&self, schema: Schema<'_>, value: &Value, old: Option<&Value>, path: &str) -> Outcome {
        let mut outcome = Outcome::default();
        if value.is_null() {
            outcome.merge(check_type(schema, value, path));
            outcome.merge(check_enum(schema, value, path));
            return outcome;
        }
        let mut run = |part: Outcome| {
            outcome.merge(part);
            outcome.passed += 1;
        };
        if !types(schema).is_empty() || !format(schema).is_empty() {
            run(check_type(schema, value, path));
        }
        run(self.combined(schema, value, old, path));
        if let Value::String(text) = value {
            run(self.text(schema, text, path));
            if formats::is_known(format(schema)) {
                run(check_format(schema, text, path));
            }
        }
        if let Value::Number(n) = value {
            run(number::check(schema, n, path));
        }
        if let Value::Array(items) = value {
            run(self.list(schema, items, old, path));
        }
        run(check_enum(schema, value, path));
        if let Value::Object(fields) = value {
            run(self.object(schema, fields, old, path));
        }
        outcome.passed += 1;
        outcome
    }

    fn text(&self, schema: Schema<'_>, text: &str, path: &str) -> Outcome {
        let length = i64::try_from(text.chars().count()).unwrap_or(i64::MAX);
        if let Some(most) = schema.count("maxLength").filter(|most| length > *most) {
            let unit = if most == 1 { "byte" } else { "bytes" };
            let message = format!("{path} in body should be at most {most} chars long");
            let detail = format!("may not be more than {most} {unit}");
            return Outcome::one(
                Finding::at(FieldErrorKind::TooLong, path, Value::Null, message).with_detail(detail),
            );
        }
        if let Some(least) = schema.count("minLength").filter(|least| length < *least) {
            let message = format!("{path} in body should be at least {least} chars long");
            return Outcome::one(Finding::at(FieldErrorKind::Invalid, path, text.into(), message));
        }
        let pattern = schema.text("pattern");
        if pattern.is_empty() {
            return Outcome::default();
        }
        let wanted = match self.patterns.matches(pattern, text) {
            Ok(true) => return Outcome::default(),
            Ok(false) => pattern.to_owned(),
            Err(why) => format!("{pattern}, but pattern is invalid: {why}"),
        };
        let message = format!("{path} in body should match '{wanted}'");
        Outcome::one(Finding::at(FieldErrorKind::Invalid, path, text.into(), message))
    }

    fn list(&self, schema: Schema<'_>, items: &[Value], old: Option<&Value>, path: &str) -> Outcome {
        let mut outcome = Outcome::default();
        let old = old
            .and_then(Value::as_array)
            .filter(|_| schema.list_type() == "map");
        if let Some(item_schema) = schema.items() {
            for (at, item) in items.iter().enumerate() {
                let old_item = old.and_then(|old| counterpart(schema, item, old));
                outcome.merge(self.node(item_schema, item, old_item, &format!("{path}[{at}]")));
            }
        }
        let size = i64::try_from(items.len()).unwrap_or(i64::MAX);
        if let Some(least) = schema.count("minItems").filter(|least| size < *least) {
            let message = format!("{path} in body should have at least {least} items");
            outcome.fail(Finding::at(FieldErrorKind::Invalid, path, size.into(), message));
        }
        if let Some(most) = schema.count("maxItems").filter(|most| size > *most) {
            let message = format!("{path} in body should have at most {most} items");
            outcome.fail(too_many(path, size, most, message));
        }
        if schema.flag("uniqueItems")
            && items
                .iter()
                .enumerate()
                .any(|(at, item)| items[..at].contains(item))
        {
            let message = format!("{path} in body shouldn't contain duplicates");
            outcome.fail(Finding::at(FieldErrorKind::Invalid, path, "".into(), message));
        }
        outcome.passed += 1;
        outcome
    }

    fn object(
        &self,
        schema: Schema<'_>,
        fields: &serde_json::Map<String, Value>,
        old: Option<&Value>,
        path: &str,
    ) -> Outcome {
        let mut outcome = Outcome::default();
        let size = i64::try_from(fields.len()).unwrap_or(i64::MAX);
        if let Some(least) = schema.count("minProperties").filter(|least| size < *least) {
            let message = format!("{path} in body should have at least {least} properties");
            outcome.fail(Finding::at(FieldErrorKind::Invalid, path, size.into(), message));
        }
        if let Some(most) = schema.count("maxProperties").filter(|most| size > *most) {
            let message = format!("{path} in body should have at most {most} properties");
            outcome.fail(too_many(path, size, most, message));
        }
        let others = || fields.iter().filter(|(name, _)| schema.property(name).is_none());
        match schema.additional() {
            Additional::Allowed(false) => {
                for (name, _) in others() {
                    let message = format!("{path}.{name} in body is a forbidden property");
                    outcome.fail(Finding::at(
                        FieldErrorKind::Invalid,
                        path,
                        name.as_str().into(),
                        message,
                    ));
                }
            }
            Additional::Schema(additional) => {
                for (name, value) in others() {
                    let old = old_field(old, path, name);
                    outcome.merge(self.node(additional, value, old, &format!("{path}.{name}")));
                }
            }
            Additional::Unsaid | Additional::Allowed(true) => {}
        }
        for (name, property) in schema.properties() {
            if let Some(value) = fields.get(name) {
                let inner = if path.is_empty() {
                    name.to_owned()
                } else {
                    format!("{path}.{name}")
                };
                outcome.merge(self.node(property, value, old_field(old, path, name), &inner));
            }
        }
        for name in schema
            .texts("required")
            .filter(|name| !fields.contains_key(*name))
        {
            let message = format!("{path}.{name} in body is required");
            let missing = Finding::at(
                FieldErrorKind::Required,
                &format!("{path}.{name}"),
                Value::Null,
                message,
            );
            outcome.fail(missing.with_detail(""));
        }
        outcome
    }
}

/// Returns the old value of a field. There is none for `kind` and `apiVersion`, whose errors are always reported.
fn old_field<'a>(old: Option<&'a Value>, path: &str, name: &str) -> Option<&'a Value> {
    if path.is_empty() && matches!(name, "kind" | "apiVersion") {
        return None;
    }
    old?.get(name)
}

fn too_many(path: &str, found: i64, most: i64, message: String) -> Finding {
    let unit = if most == 1 { "item" } else { "items" };
    Finding::at(FieldErrorKind::TooMany, path, found.into(), message)
        .with_detail(format!("must have at most {most} {unit}"))
}
