//! An element of a path.

use std::cmp::Ordering;
use std::fmt;

use serde_json::{Number, Value};

use crate::golang;

/// An element of a path. The order of variants is that in field sets.
#[derive(Debug, Clone)]
pub(crate) enum PathElement {
    /// A field of an object.
    Field(String),
    /// The item of a list with these key fields, sorted by name.
    Key(Vec<(String, Value)>),
    /// The item of a set with this value.
    Value(Value),
    /// The item of a list at this index.
    Index(i64),
}

impl PathElement {
    fn rank(&self) -> u8 {
        match self {
            PathElement::Field(_) => 0,
            PathElement::Key(_) => 1,
            PathElement::Value(_) => 2,
            PathElement::Index(_) => 3,
        }
    }
}

impl Ord for PathElement {
    fn cmp(&self, other: &PathElement) -> Ordering {
        match (self, other) {
            (PathElement::Field(a), PathElement::Field(b)) => a.cmp(b),
            (PathElement::Key(a), PathElement::Key(b)) => {
                let fields = a
                    .iter()
                    .zip(b)
                    .map(|((an, av), (bn, bv))| an.cmp(bn).then_with(|| compare(av, bv)));
                first_difference(fields).then(a.len().cmp(&b.len()))
            }
            (PathElement::Value(a), PathElement::Value(b)) => compare(a, b),
            (PathElement::Index(a), PathElement::Index(b)) => a.cmp(b),
            _ => self.rank().cmp(&other.rank()),
        }
    }
}

impl PartialOrd for PathElement {
    fn partial_cmp(&self, other: &PathElement) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for PathElement {
    fn eq(&self, other: &PathElement) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for PathElement {}

impl fmt::Display for PathElement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PathElement::Field(name) => write!(f, ".{name}"),
            PathElement::Key(fields) => {
                let fields: Vec<String> = fields.iter().map(|(n, v)| format!("{n}={}", shown(v))).collect();
                write!(f, "[{}]", fields.join(","))
            }
            PathElement::Value(value) => write!(f, "[={}]", shown(value)),
            PathElement::Index(index) => write!(f, "[{index}]"),
        }
    }
}

fn shown(value: &Value) -> String {
    match value {
        Value::String(s) => golang::quoted(s),
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(shown).collect();
            format!("[{}]", items.join(","))
        }
        Value::Object(map) => {
            let entries: Vec<String> = map.iter().map(|(k, v)| format!("{k}={}", shown(v))).collect();
            entries.concat()
        }
        other => other.to_string(),
    }
}

fn first_difference(mut orders: impl Iterator<Item = Ordering>) -> Ordering {
    orders.find(|o| o.is_ne()).unwrap_or(Ordering::Equal)
}

fn kind(value: &Value) -> u8 {
    match value {
        Value::Number(_) => 0,
        Value::String(_) => 1,
        Value::Bool(_) => 2,
        Value::Array(_) => 3,
        Value::Object(_) => 4,
        Value::Null => 5,
    }
}

/// Compares values. `1` and `1.0` are equal.
fn compare(a: &Value, b: &Value) -> Ordering {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => compare_numbers(a, b),
        (Value::String(a), Value::String(b)) => a.cmp(b),
        (Value::Bool(a), Value::Bool(b)) => a.cmp(b),
        (Value::Array(a), Value::Array(b)) => {
            first_difference(a.iter().zip(b).map(|(a, b)| compare(a, b))).then(a.len().cmp(&b.len()))
        }
        (Value::Object(a), Value::Object(b)) => {
            let sorted = |map: &serde_json::Map<String, Value>| {
                let mut entries: Vec<(String, Value)> =
                    map.iter().map(|(k, v)| (k.clone(), v.clone())).collect();
                entries.sort_by(|(a, _), (b, _)| a.cmp(b));
                entries
            };
            PathElement::Key(sorted(a)).cmp(&PathElement::Key(sorted(b)))
        }
        _ => kind(a).cmp(&kind(b)),
    }
}

/// Returns the number as an integer if it has no fraction, like `1.0`.
fn whole(number: &Number) -> Option<i128> {
    let int = number.as_i64().map(i128::from);
    int.or_else(|| number.as_u64().map(i128::from))
        .or_else(|| number.as_f64()?.to_string().parse().ok())
}

fn compare_numbers(a: &Number, b: &Number) -> Ordering {
    if let (Some(a), Some(b)) = (whole(a), whole(b)) {
        return a.cmp(&b);
    }
    a.as_f64()
        .unwrap_or_default()
        .total_cmp(&b.as_f64().unwrap_or_default())
}

/// Returns whether values are equal. `1` and `1.0` are equal.
pub(in crate::patch) fn equal(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => compare_numbers(a, b).is_eq(),
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| equal(a, b)),
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len()
                && a.iter()
                    .all(|(k, v)| b.get(k).is_some_and(|other| equal(v, other)))
        }
        _ => a == b,
    }
}
