//! Conversions between types.

use super::super::eval::{Budget, EvalError};
use super::super::value::Value;
use super::{Entry, Evaluated, no_overload, tenth, time};

pub(super) const TABLE: &[Entry] = &[
    (
        "int",
        "(int) int; (uint) int; (double) int; (string) int; (timestamp) int",
        int,
    ),
    (
        "uint",
        "(uint) uint; (int) uint; (double) uint; (string) uint",
        uint,
    ),
    (
        "double",
        "(double) double; (int) double; (uint) double; (string) double",
        double,
    ),
    (
        "string",
        "(string) string; (bool) string; (int) string; (uint) string; (double) string; (bytes) string; (timestamp) string; (duration) string; (net.IP) string; (net.CIDR) string",
        string,
    ),
    ("bytes", "(bytes) bytes; (string) bytes", bytes),
    ("bool", "(bool) bool; (string) bool", boolean),
    ("duration", "(duration) duration; (string) duration", duration),
    (
        "timestamp",
        "(timestamp) timestamp; (string) timestamp; (int) timestamp",
        timestamp,
    ),
    ("dyn", "(A) dyn", |_, args| {
        args.first().cloned().ok_or_else(no_overload)
    }),
    ("type", "(A) type<A>", |_, args| {
        args.first()
            .map(|value| Value::Type(value.type_name().into()))
            .ok_or_else(no_overload)
    }),
];

fn out_of_range(what: &str) -> EvalError {
    EvalError::message(format!("{what} overflow"))
}

#[expect(clippy::cast_possible_truncation, reason = "the range is checked")]
fn int(_: &mut Budget, args: &[Value]) -> Evaluated {
    Ok(Value::Int(match args {
        [Value::Int(n)] => *n,
        [Value::Uint(n)] => i64::try_from(*n).map_err(|_| out_of_range("integer"))?,
        [Value::Double(d)] if *d > -9.223_372_036_854_776e18 && *d < 9.223_372_036_854_776e18 => *d as i64,
        [Value::Double(_)] => return Err(out_of_range("integer")),
        [Value::String(text)] => text.parse().map_err(|_| no_conversion("int"))?,
        [Value::Timestamp(at)] => time::to_seconds(*at),
        _ => return Err(no_overload()),
    }))
}

fn no_conversion(to: &str) -> EvalError {
    EvalError::message(format!("type conversion error from 'string' to '{to}'"))
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the range is checked"
)]
fn uint(_: &mut Budget, args: &[Value]) -> Evaluated {
    Ok(Value::Uint(match args {
        [Value::Uint(n)] => *n,
        [Value::Int(n)] => u64::try_from(*n).map_err(|_| out_of_range("unsigned integer"))?,
        [Value::Double(d)] if *d >= 0.0 && *d < 1.844_674_407_370_955_2e19 => *d as u64,
        [Value::Double(_)] => return Err(out_of_range("unsigned integer")),
        [Value::String(text)] => text.parse().map_err(|_| no_conversion("uint"))?,
        _ => return Err(no_overload()),
    }))
}

#[expect(clippy::cast_precision_loss, reason = "as in Go")]
fn double(_: &mut Budget, args: &[Value]) -> Evaluated {
    Ok(Value::Double(match args {
        [Value::Double(d)] => *d,
        [Value::Int(n)] => *n as f64,
        [Value::Uint(n)] => *n as f64,
        [Value::String(text)] => text.parse().map_err(|_| no_conversion("double"))?,
        _ => return Err(no_overload()),
    }))
}

fn string(budget: &mut Budget, args: &[Value]) -> Evaluated {
    let [value] = args else {
        return Err(no_overload());
    };
    if let Value::String(_) = value {
        return Ok(value.clone());
    }
    if let Value::Bytes(bytes) = value {
        budget.charge(tenth(bytes.len()))?;
        let text = std::str::from_utf8(bytes);
        let text =
            text.map_err(|_| EvalError::message("invalid UTF-8 in bytes, cannot convert to string"))?;
        return Ok(Value::from(text));
    }
    text(value).map(Value::from).ok_or_else(no_overload)
}

/// Returns a scalar as `string()` does.
pub(super) fn text(value: &Value) -> Option<String> {
    Some(match value {
        Value::String(text) => text.to_string(),
        Value::Bool(b) => b.to_string(),
        Value::Int(n) => n.to_string(),
        Value::Uint(n) => n.to_string(),
        Value::Double(d) => shortest(*d),
        Value::Timestamp(at) => time::print_timestamp(*at),
        Value::Duration(nanoseconds) => time::print_duration(*nanoseconds),
        Value::Ip(address) => address.to_string(),
        Value::Cidr(address, bits) => format!("{address}/{bits}"),
        _ => return None,
    })
}

/// Returns a double as Go prints it with the verb `g`.
fn shortest(double: f64) -> String {
    if double.is_nan() {
        return "NaN".into();
    }
    if double.is_infinite() {
        return if double > 0.0 { "+Inf" } else { "-Inf" }.into();
    }
    let text = format!("{double:e}");
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if (-4..6).contains(&exponent) {
        return format!("{double}");
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{digits}e{sign}{:02}", exponent.abs())
}

fn bytes(budget: &mut Budget, args: &[Value]) -> Evaluated {
    match args {
        [value @ Value::Bytes(_)] => Ok(value.clone()),
        [Value::String(text)] => {
            budget.charge(tenth(text.len()))?;
            Ok(Value::Bytes(text.as_bytes().into()))
        }
        _ => Err(no_overload()),
    }
}

fn boolean(_: &mut Budget, args: &[Value]) -> Evaluated {
    match args {
        [value @ Value::Bool(_)] => Ok(value.clone()),
        [Value::String(text)] => match &**text {
            "1" | "t" | "T" | "true" | "TRUE" | "True" => Ok(Value::Bool(true)),
            "0" | "f" | "F" | "false" | "FALSE" | "False" => Ok(Value::Bool(false)),
            _ => Err(no_conversion("bool")),
        },
        _ => Err(no_overload()),
    }
}

fn duration(_: &mut Budget, args: &[Value]) -> Evaluated {
    match args {
        [value @ Value::Duration(_)] => Ok(value.clone()),
        [Value::String(text)] => time::parse_duration(text)
            .map(Value::Duration)
            .map_err(|_| no_conversion("google.protobuf.Duration")),
        _ => Err(no_overload()),
    }
}

fn timestamp(_: &mut Budget, args: &[Value]) -> Evaluated {
    match args {
        [value @ Value::Timestamp(_)] => Ok(value.clone()),
        [Value::Int(seconds)] => time::from_seconds(*seconds)
            .map(Value::Timestamp)
            .ok_or_else(|| out_of_range("timestamp")),
        [Value::String(text)] => time::parse_timestamp(text)
            .map(Value::Timestamp)
            .ok_or_else(|| no_conversion("google.protobuf.Timestamp")),
        _ => Err(no_overload()),
    }
}
