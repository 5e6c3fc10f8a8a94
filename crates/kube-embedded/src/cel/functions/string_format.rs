//! `format`, which fills values into a text.

use std::fmt::Write as _;

use super::super::eval::{Budget, EvalError};
use super::super::value::{Key, Value};
use super::{Entry, Evaluated, no_overload, strings, tenth, time};

pub(super) const TABLE: &[Entry] = &[("format", "string.(list<dyn>) string", format)];

/// The most digits behind the point.
const MOST_DIGITS: usize = 1000;

/// A part of a text with clauses such as `%d` and `%.2f`.
enum Piece {
    Text(char),
    Clause { verb: char, precision: usize },
}

/// Returns the parts of a text, or why one is not known.
fn pieces(text: &str) -> Result<Vec<Piece>, String> {
    let refuse = |clause: &str| {
        format!("could not parse formatting clause: unrecognized formatting clause {clause:?}")
    };
    let mut pieces = Vec::new();
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        if c != '%' {
            pieces.push(Piece::Text(c));
            continue;
        }
        let mut verb = rest.next();
        let mut precision = 6;
        if verb == Some('.') {
            let mut digits = String::new();
            verb = rest.next();
            while let Some(digit) = verb.filter(char::is_ascii_digit) {
                digits.push(digit);
                verb = rest.next();
            }
            precision = digits
                .parse::<usize>()
                .map_err(|_| refuse(&digits))?
                .min(MOST_DIGITS);
        }
        pieces.push(match verb {
            Some('%') => Piece::Text('%'),
            Some(verb) if "sdfebxXo".contains(verb) => Piece::Clause { verb, precision },
            Some(other) => return Err(refuse(&other.to_string())),
            None => return Err("unexpected end of string".into()),
        });
    }
    Ok(pieces)
}

fn too_many(wanted: usize, found: usize) -> String {
    format!("too many arguments supplied to string.format (expected {wanted}, got {found})")
}

/// Returns what is wrong with a call that has a constant text and `count` arguments; also the argument it is about.
///
/// `literal` returns the value of an argument that is constant.
pub(super) fn problem(
    text: &str,
    count: usize,
    literal: impl Fn(usize) -> Option<Value>,
) -> Option<(Option<usize>, String)> {
    let pieces = match pieces(text) {
        Ok(pieces) => pieces,
        Err(why) => return Some((None, why)),
    };
    let mut used = 0;
    for piece in pieces {
        let Piece::Clause { verb, precision } = piece else {
            continue;
        };
        if used >= count {
            return Some((None, format!("index {used} out of range")));
        }
        if let Some(value) = literal(used)
            && let Err(EvalError::Message(why)) = fill(verb, &value, precision, &mut Budget::new())
        {
            return Some((Some(used), why.to_string()));
        }
        used += 1;
    }
    (used < count).then(|| (None, too_many(used, count)))
}

fn format(budget: &mut Budget, args: &[Value]) -> Evaluated {
    let [Value::String(text), Value::List(list)] = args else {
        return Err(no_overload());
    };
    budget.charge(tenth(text.len()))?;
    let mut out = String::new();
    let mut used = 0;
    for piece in pieces(text).map_err(EvalError::message)? {
        let (verb, precision) = match piece {
            Piece::Text(c) => {
                out.push(c);
                continue;
            }
            Piece::Clause { verb, precision } => (verb, precision),
        };
        let Some(value) = list.items.get(used) else {
            return Err(EvalError::message(format!("index {used} out of range")));
        };
        used += 1;
        let filled = fill(verb, value, precision, budget)?;
        budget.charge(tenth(filled.len()))?;
        out += &filled;
    }
    if used < list.items.len() {
        return Err(EvalError::message(too_many(used, list.items.len())));
    }
    Ok(Value::from(out))
}

fn refuse(wanted: &str, value: &Value) -> EvalError {
    EvalError::message(format!(
        "error during formatting: {wanted}, was given {}",
        value.type_name()
    ))
}

fn fill(verb: char, value: &Value, precision: usize, budget: &mut Budget) -> Result<String, EvalError> {
    Ok(match verb {
        'd' => match value {
            Value::Int(n) => n.to_string(),
            Value::Uint(n) => n.to_string(),
            _ => return Err(refuse("decimal clause can only be used on integers", value)),
        },
        'f' => match value {
            Value::Double(d) => special(*d).unwrap_or_else(|| format!("{d:.precision$}")),
            _ => return Err(refuse("fixed-point clause can only be used on doubles", value)),
        },
        'e' => match value {
            Value::Double(d) => special(*d).unwrap_or_else(|| scientific(*d)),
            _ => return Err(refuse("scientific clause can only be used on doubles", value)),
        },
        'b' => match value {
            Value::Bool(b) => u8::from(*b).to_string(),
            Value::Int(n) => signed(*n, |n| format!("{n:b}")),
            Value::Uint(n) => format!("{n:b}"),
            _ => {
                return Err(refuse(
                    "only integers and bools can be formatted as binary",
                    value,
                ));
            }
        },
        'o' => match value {
            Value::Int(n) => signed(*n, |n| format!("{n:o}")),
            Value::Uint(n) => format!("{n:o}"),
            _ => return Err(refuse("octal clause can only be used on integers", value)),
        },
        'x' | 'X' => {
            let text = match value {
                Value::Int(n) => signed(*n, |n| format!("{n:x}")),
                Value::Uint(n) => format!("{n:x}"),
                Value::String(text) => hex(text.as_bytes()),
                Value::Bytes(bytes) => hex(bytes),
                _ => {
                    let wanted = "only integers, byte buffers, and strings can be formatted as hex";
                    return Err(refuse(wanted, value));
                }
            };
            if verb == 'X' { text.to_uppercase() } else { text }
        }
        _ => {
            let mut out = String::new();
            plain(value, false, &mut out, budget)?;
            out
        }
    })
}

fn special(double: f64) -> Option<String> {
    if double.is_nan() {
        return Some("NaN".into());
    }
    double
        .is_infinite()
        .then(|| if double > 0.0 { "Infinity" } else { "-Infinity" }.into())
}

/// Returns a double with a power of ten in small digits, always with six digits behind the point.
fn scientific(double: f64) -> String {
    let text = format!("{double:.6e}");
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let sign = if exponent < 0 { "\u{207b}" } else { "" };
    let small = |digit: char| match digit {
        '1' => '\u{b9}',
        '2' => '\u{b2}',
        '3' => '\u{b3}',
        other => char::from_u32(0x2070 + other.to_digit(10).unwrap_or(0)).unwrap_or(other),
    };
    let power: String = format!("{:02}", exponent.abs()).chars().map(small).collect();
    format!("{digits}\u{d7}10{sign}{power}")
}

fn signed(n: i64, print: fn(u64) -> String) -> String {
    let sign = if n < 0 { "-" } else { "" };
    format!("{sign}{}", print(n.unsigned_abs()))
}

fn hex(bytes: &[u8]) -> String {
    let mut out = String::new();
    for byte in bytes {
        let _ = write!(out, "{byte:02x}");
    }
    out
}

/// Writes a value as `%s` does; within lists and maps, texts are quoted.
fn plain(value: &Value, is_inner: bool, out: &mut String, budget: &mut Budget) -> Result<(), EvalError> {
    budget.charge(tenth(value.size().try_into().unwrap_or(usize::MAX)))?;
    match value {
        Value::Null => out.push_str("null"),
        Value::String(text) if is_inner => out.push_str(&strings::quoted(text)),
        Value::Timestamp(at) if is_inner => {
            let _ = write!(out, "timestamp({:?})", time::print_timestamp(*at));
        }
        Value::Duration(nanoseconds) if is_inner => {
            let _ = write!(out, "duration({:?})", time::print_duration(*nanoseconds));
        }
        Value::Bytes(bytes) => out.push_str(&String::from_utf8_lossy(bytes)),
        Value::Type(name) => out.push_str(name),
        Value::List(list) => {
            out.push('[');
            for (at, item) in list.items.iter().enumerate() {
                out.push_str(if at > 0 { ", " } else { "" });
                plain(item, true, out, budget)?;
            }
            out.push(']');
        }
        Value::Map(map) => {
            out.push('{');
            for (at, (key, value)) in map.iter().enumerate() {
                out.push_str(if at > 0 { ", " } else { "" });
                match key {
                    Key::String(text) => out.push_str(&strings::quoted(text)),
                    Key::Bool(b) => out.push_str(&b.to_string()),
                    Key::Number(n) => out.push_str(&n.to_string()),
                }
                out.push(':');
                plain(value, true, out, budget)?;
            }
            out.push('}');
        }
        other => {
            let known = !matches!(other, Value::Ip(_) | Value::Cidr(..));
            let Some(text) = super::convert::text(other).filter(|_| known) else {
                let wanted = "string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, \
                              durations, and timestamps";
                return Err(refuse(wanted, other));
            };
            out.push_str(&text);
        }
    }
    Ok(())
}
