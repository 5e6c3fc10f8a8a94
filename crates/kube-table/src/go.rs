//! Formats JSON values as Go does, for cells of JSONPath columns.

use serde_json::{Number, Value};

/// Formats a value as `fmt.Print` does; lists and maps as JSON.
pub(crate) fn print(value: &Value) -> String {
    match value {
        Value::Null => "<no value>".into(),
        Value::Bool(value) => value.to_string(),
        Value::String(text) => text.clone(),
        Value::Number(number) => match integer(number) {
            Some(integer) => integer.to_string(),
            None => float(number.as_f64().unwrap_or_default(), -4, 6, 2),
        },
        Value::Array(_) | Value::Object(_) => {
            let mut out = String::new();
            json(value, &mut out);
            out
        }
    }
}

/// Returns the integer that a kube-apiserver decodes from this number.
pub(crate) fn integer(number: &Number) -> Option<i64> {
    number.as_i64().or_else(|| number.as_f64().and_then(whole))
}

/// Converts a float without a fraction to an integer, if it is in range.
pub(crate) fn whole(float: f64) -> Option<i64> {
    #[allow(
        clippy::cast_possible_truncation,
        reason = "checked to be whole and within range"
    )]
    (float.fract() == 0.0 && float.abs() < 9_223_372_036_854_775_808.0).then_some(float as i64)
}

fn json(value: &Value, out: &mut String) {
    match value {
        Value::Null | Value::Bool(_) => out.push_str(&value.to_string()),
        Value::Number(number) => match integer(number) {
            Some(integer) => out.push_str(&integer.to_string()),
            None => out.push_str(&float(number.as_f64().unwrap_or_default(), -6, 21, 1)),
        },
        Value::String(text) => string(text, out),
        Value::Array(items) => {
            out.push('[');
            for (place, item) in items.iter().enumerate() {
                if place > 0 {
                    out.push(',');
                }
                json(item, out);
            }
            out.push(']');
        }
        Value::Object(fields) => {
            let mut fields: Vec<_> = fields.iter().collect();
            fields.sort_unstable_by_key(|(name, _)| *name);
            out.push('{');
            for (place, (name, field)) in fields.into_iter().enumerate() {
                if place > 0 {
                    out.push(',');
                }
                string(name, out);
                out.push(':');
                json(field, out);
            }
            out.push('}');
        }
    }
}

/// Like Go, also escape characters that could end a script element or a JavaScript line.
fn string(text: &str, out: &mut String) {
    for next in Value::from(text).to_string().chars() {
        match next {
            '<' => out.push_str("\\u003c"),
            '>' => out.push_str("\\u003e"),
            '&' => out.push_str("\\u0026"),
            '\u{2028}' => out.push_str("\\u2028"),
            '\u{2029}' => out.push_str("\\u2029"),
            _ => out.push(next),
        }
    }
}

/// Returns the shortest digits that parse to the same number, with an exponent below `least` and from `most`
/// on.
fn float(value: f64, least: i32, most: i32, exponent_digits: usize) -> String {
    let scientific = format!("{value:e}");
    let Some((mantissa, exponent)) = scientific.split_once('e') else {
        return scientific;
    };
    let exponent: i32 = exponent.parse().unwrap_or_default();
    if (least..most).contains(&exponent) {
        return value.to_string();
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{mantissa}e{sign}{:0exponent_digits$}", exponent.abs())
}
