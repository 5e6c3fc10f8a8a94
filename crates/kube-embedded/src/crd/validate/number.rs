//! Validates bounds, multiples and ranges of numbers.
//!
//! Integers are compared with truncated bounds, like in the server: the factor 0.25 is rejected for the value 1 and
//! accepted for 1.0.

use serde_json::{Number, Value};

use super::super::structure::Schema;
use super::{FieldErrorKind, Finding, Outcome, format};
use crate::golang::format_float;

#[derive(Debug, Clone, Copy)]
enum NumberValue {
    Int(i64),
    Float(f64),
}

impl NumberValue {
    fn of(number: &Number) -> NumberValue {
        match number.as_i64() {
            Some(int) => NumberValue::Int(int),
            None => NumberValue::Float(number.as_f64().unwrap_or(f64::INFINITY)),
        }
    }

    fn show(self) -> String {
        match self {
            NumberValue::Int(int) => int.to_string(),
            NumberValue::Float(float) => format_float(float),
        }
    }

    fn value(self) -> Value {
        match self {
            NumberValue::Int(int) => int.into(),
            NumberValue::Float(float) => float.into(),
        }
    }

    fn float(self) -> f64 {
        match self {
            #[allow(clippy::cast_precision_loss, reason = "as the server compares")]
            NumberValue::Int(int) => int as f64,
            NumberValue::Float(float) => float,
        }
    }
}

/// Returns whether a float is an integer that JSON can represent.
pub(super) fn is_whole(float: f64) -> bool {
    const LIMIT: f64 = 9_007_199_254_740_991.0;
    if !float.is_finite() || float.abs() > LIMIT {
        return false;
    }
    let whole = float.trunc();
    let difference = (float - whole).abs();
    difference == 0.0 || (whole != 0.0 && difference / (float.abs() + whole.abs()) < 1e-9)
}

/// Truncates a bound. On overflow, the result is the smallest integer, as on the server's hardware.
#[allow(clippy::cast_possible_truncation, reason = "as the server truncates bounds")]
fn truncate(float: f64) -> i64 {
    const LIMIT: f64 = 9_223_372_036_854_775_808.0;
    if (-LIMIT..LIMIT).contains(&float) {
        float as i64
    } else {
        i64::MIN
    }
}

/// Returns whether a value equals one of an enum. Numbers are compared in the type of the enum's.
#[allow(clippy::float_cmp, reason = "an enum lists exact values")]
pub(super) fn is_same(value: &Value, listed: &Value) -> bool {
    match (value, listed) {
        (Value::Null, _) => false,
        (Value::Number(value), Value::Number(listed)) => {
            match (NumberValue::of(value), NumberValue::of(listed)) {
                (NumberValue::Int(a), NumberValue::Int(b)) => a == b,
                (NumberValue::Float(a), NumberValue::Int(b)) => truncate(a) == b,
                (a, NumberValue::Float(b)) => a.float() == b,
            }
        }
        _ => value == listed,
    }
}

pub(super) fn check(schema: Schema<'_>, number: &Number, path: &str) -> Outcome {
    let mut outcome = Outcome::default();
    let value = NumberValue::of(number);
    let range = FormatRange::of(schema);
    range.check(value, "Checked", path, &mut outcome);
    // The order of the server's messages: multiple, lower bound, upper bound.
    if let Some(factor) = float(schema, "multipleOf") {
        let native = range.check(NumberValue::Float(factor), "MultipleOf", path, &mut outcome);
        check_multiple(value, factor, native, path, &mut outcome);
    }
    for bound in [Bound::Lower, Bound::Upper] {
        if let Some(limit) = float(schema, bound.key()) {
            let native = range.check(NumberValue::Float(limit), bound.title(), path, &mut outcome);
            let exclusive = schema.flag(bound.exclusive_key());
            bound.check(value, limit, exclusive, native, path, &mut outcome);
        }
    }
    outcome.passed += 1;
    outcome
}

fn float(schema: Schema<'_>, key: &str) -> Option<f64> {
    schema.get(key).and_then(Value::as_f64)
}

fn failure(value: NumberValue, path: &str, text: String) -> Finding {
    let mut failure = Finding::at(FieldErrorKind::Invalid, path, value.value(), text);
    failure.shown = Some(value.show());
    failure
}

/// The range of a type and format.
struct FormatRange<'a> {
    kind: &'a str,
    format: &'a str,
}

impl<'a> FormatRange<'a> {
    fn of(schema: Schema<'a>) -> FormatRange<'a> {
        if schema.int_or_string() || !matches!(schema.kind(), "integer" | "number") {
            return FormatRange { kind: "", format: "" };
        }
        FormatRange {
            kind: schema.kind(),
            format: format(schema),
        }
    }

    /// Checks that the number is in range, and reports it otherwise.
    fn check(&self, number: NumberValue, what: &str, path: &str, outcome: &mut Outcome) -> bool {
        let whole = match number {
            NumberValue::Int(int) => Some(int),
            #[allow(clippy::float_cmp, reason = "checks for a fraction")]
            NumberValue::Float(f) => Some(f)
                .filter(|f| f.trunc() == *f && f.abs() < 9.2e18)
                .map(truncate),
        };
        let fits = match (self.kind, self.format) {
            ("integer", "int32") => whole.is_some_and(|int| i32::try_from(int).is_ok()),
            ("integer", _) => whole.is_some(),
            (_, "float") => number.float().abs() <= f64::from(f32::MAX),
            _ => true,
        };
        if !fits {
            let format = match self.format {
                "" => "(default format)".to_owned(),
                format => format!("with format {format}"),
            };
            outcome.fail(Finding::without_path(format!(
                "{what} value must be of type {} {format} in {path}",
                self.kind
            )));
        }
        fits
    }
}

fn check_multiple(value: NumberValue, factor: f64, native: bool, path: &str, outcome: &mut Outcome) {
    let (shown, factor_is_positive, is_multiple) = match value {
        NumberValue::Int(int) if native => {
            let factor = truncate(factor);
            (
                NumberValue::Int(factor),
                factor > 0,
                factor > 0 && int % factor == 0,
            )
        }
        _ => {
            let float = value.float();
            let ratio = if factor < 1.0 {
                1.0 / factor * float
            } else {
                float / factor
            };
            (NumberValue::Float(factor), factor > 0.0, is_whole(ratio))
        }
    };
    if !factor_is_positive {
        let text = format!(
            "factor MultipleOf declared for {path} must be positive: {}",
            shown.show()
        );
        outcome.fail(failure(shown, path, text));
    } else if !is_multiple {
        let text = format!("{path} in body should be a multiple of {}", shown.show());
        outcome.fail(failure(value, path, text));
    }
}

#[derive(Debug, Clone, Copy)]
enum Bound {
    Lower,
    Upper,
}

impl Bound {
    fn key(self) -> &'static str {
        match self {
            Bound::Lower => "minimum",
            Bound::Upper => "maximum",
        }
    }

    fn exclusive_key(self) -> &'static str {
        match self {
            Bound::Lower => "exclusiveMinimum",
            Bound::Upper => "exclusiveMaximum",
        }
    }

    fn title(self) -> &'static str {
        match self {
            Bound::Lower => "Minimum boundary",
            Bound::Upper => "Maximum boundary",
        }
    }

    fn check(
        self,
        value: NumberValue,
        limit: f64,
        exclusive: bool,
        native: bool,
        path: &str,
        outcome: &mut Outcome,
    ) {
        let (order, limit) = match value {
            NumberValue::Int(int) if native => {
                (Some(int.cmp(&truncate(limit))), NumberValue::Int(truncate(limit)))
            }
            _ => (value.float().partial_cmp(&limit), NumberValue::Float(limit)),
        };
        let beyond = match self {
            Bound::Lower => order.is_some_and(|o| o.is_lt() || (exclusive && o.is_eq())),
            Bound::Upper => order.is_some_and(|o| o.is_gt() || (exclusive && o.is_eq())),
        };
        if !beyond {
            return;
        }
        let relation = match (self, exclusive) {
            (Bound::Lower, false) => "greater than or equal to",
            (Bound::Lower, true) => "greater than",
            (Bound::Upper, false) => "less than or equal to",
            (Bound::Upper, true) => "less than",
        };
        let text = format!("{path} in body should be {relation} {}", limit.show());
        outcome.fail(failure(value, path, text));
    }
}
