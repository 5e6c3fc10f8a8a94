//! Operators, and `size`.

use std::cmp::Ordering;

use jiff::SignedDuration;
use jiff::civil::DateTime;

use super::super::eval::{Budget, EvalError};
use super::super::value::Value;
use super::{Entry, Evaluated, count, no_overload, tenth, time};

pub(super) const TABLE: &[Entry] = &[
    (
        "_+_",
        "(int, int) int; (uint, uint) uint; (double, double) double; (string, string) string; (bytes, bytes) bytes; (list<A>, list<A>) list<A>; (timestamp, duration) timestamp; (duration, timestamp) timestamp; (duration, duration) duration",
        add,
    ),
    (
        "_-_",
        "(int, int) int; (uint, uint) uint; (double, double) double; (timestamp, timestamp) duration; (timestamp, duration) timestamp; (duration, duration) duration",
        subtract,
    ),
    (
        "_*_",
        "(int, int) int; (uint, uint) uint; (double, double) double",
        multiply,
    ),
    (
        "_/_",
        "(int, int) int; (uint, uint) uint; (double, double) double",
        divide,
    ),
    ("_%_", "(int, int) int; (uint, uint) uint", modulo),
    ("-_", "(int) int; (double) double", negate),
    ("!_", "(bool) bool", not),
    ("_==_", "(A, A) bool", equal),
    ("_!=_", "(A, A) bool", not_equal),
    ("_<_", ORDERED, |_, args| ordered(args, Ordering::is_lt)),
    ("_<=_", ORDERED, |_, args| ordered(args, Ordering::is_le)),
    ("_>_", ORDERED, |_, args| ordered(args, Ordering::is_gt)),
    ("_>=_", ORDERED, |_, args| ordered(args, Ordering::is_ge)),
    ("@in", "(A, list<A>) bool; (A, map<A, B>) bool", contains),
    (
        "_[_]",
        "(list<A>, int) A; (map<A, B>, A) B; (optional<list<A>>, int) optional<A>; (optional<map<A, B>>, A) optional<B>",
        index,
    ),
    (
        "_[?_]",
        "(list<A>, int) optional<A>; (map<A, B>, A) optional<B>; (optional<list<A>>, int) optional<A>; (optional<map<A, B>>, A) optional<B>",
        optional_index,
    ),
    ("_?_:_", "(bool, A, A) A", |_, _| Err(no_overload())),
    (
        "size",
        "(string) int; (bytes) int; (list<A>) int; (map<A, B>) int; string.() int; bytes.() int; list<A>.() int; map<A, B>.() int",
        size,
    ),
];

const ORDERED: &str = "(bool, bool) bool; (int, int) bool; (uint, uint) bool; (double, double) bool; (string, string) bool; (bytes, bytes) bool; (timestamp, timestamp) bool; (duration, duration) bool; (int, uint) bool; (int, double) bool; (uint, int) bool; (uint, double) bool; (double, int) bool; (double, uint) bool";

fn overflow(what: &str) -> EvalError {
    EvalError::message(format!("{what} overflow"))
}

fn duration_out_of_range() -> EvalError {
    overflow("integer")
}

fn moved(at: DateTime, nanoseconds: i64) -> Evaluated {
    time::moved(at, SignedDuration::from_nanos(nanoseconds))
        .map(Value::Timestamp)
        .ok_or_else(|| overflow("timestamp"))
}

fn add(budget: &mut Budget, args: &[Value]) -> Evaluated {
    Ok(match args {
        [Value::Int(a), Value::Int(b)] => Value::Int(a.checked_add(*b).ok_or_else(|| overflow("integer"))?),
        [Value::Uint(a), Value::Uint(b)] => {
            Value::Uint(a.checked_add(*b).ok_or_else(|| overflow("unsigned integer"))?)
        }
        [Value::Double(a), Value::Double(b)] => Value::Double(a + b),
        [Value::String(a), Value::String(b)] => {
            budget.charge(tenth(a.len() + b.len()))?;
            Value::from(format!("{a}{b}"))
        }
        [Value::Bytes(a), Value::Bytes(b)] => {
            budget.charge(tenth(a.len() + b.len()))?;
            Value::Bytes(a.iter().chain(b.iter()).copied().collect())
        }
        [Value::List(a), Value::List(b)] => {
            budget.charge(tenth(a.items.len() + b.items.len()))?;
            Value::List(a.plus(b))
        }
        [Value::Timestamp(at), Value::Duration(by)] | [Value::Duration(by), Value::Timestamp(at)] => {
            return moved(*at, *by);
        }
        [Value::Duration(a), Value::Duration(b)] => {
            Value::Duration(a.checked_add(*b).ok_or_else(duration_out_of_range)?)
        }
        _ => return Err(no_overload()),
    })
}

fn subtract(_: &mut Budget, args: &[Value]) -> Evaluated {
    Ok(match args {
        [Value::Int(a), Value::Int(b)] => Value::Int(a.checked_sub(*b).ok_or_else(|| overflow("integer"))?),
        [Value::Uint(a), Value::Uint(b)] => {
            Value::Uint(a.checked_sub(*b).ok_or_else(|| overflow("unsigned integer"))?)
        }
        [Value::Double(a), Value::Double(b)] => Value::Double(a - b),
        [Value::Timestamp(a), Value::Timestamp(b)] => {
            let nanoseconds = a.duration_since(*b).as_nanos();
            Value::Duration(i64::try_from(nanoseconds).map_err(|_| duration_out_of_range())?)
        }
        [Value::Timestamp(at), Value::Duration(by)] => {
            return moved(*at, by.checked_neg().ok_or_else(duration_out_of_range)?);
        }
        [Value::Duration(a), Value::Duration(b)] => {
            Value::Duration(a.checked_sub(*b).ok_or_else(duration_out_of_range)?)
        }
        _ => return Err(no_overload()),
    })
}

fn multiply(_: &mut Budget, args: &[Value]) -> Evaluated {
    Ok(match args {
        [Value::Int(a), Value::Int(b)] => Value::Int(a.checked_mul(*b).ok_or_else(|| overflow("integer"))?),
        [Value::Uint(a), Value::Uint(b)] => {
            Value::Uint(a.checked_mul(*b).ok_or_else(|| overflow("unsigned integer"))?)
        }
        [Value::Double(a), Value::Double(b)] => Value::Double(a * b),
        _ => return Err(no_overload()),
    })
}

fn divide(_: &mut Budget, args: &[Value]) -> Evaluated {
    Ok(match args {
        [Value::Int(_), Value::Int(0)] | [Value::Uint(_), Value::Uint(0)] => {
            return Err(EvalError::message("division by zero"));
        }
        [Value::Int(a), Value::Int(b)] => Value::Int(a.checked_div(*b).ok_or_else(|| overflow("integer"))?),
        [Value::Uint(a), Value::Uint(b)] => Value::Uint(a / b),
        [Value::Double(a), Value::Double(b)] => Value::Double(a / b),
        _ => return Err(no_overload()),
    })
}

fn modulo(_: &mut Budget, args: &[Value]) -> Evaluated {
    Ok(match args {
        [Value::Int(_), Value::Int(0)] | [Value::Uint(_), Value::Uint(0)] => {
            return Err(EvalError::message("modulus by zero"));
        }
        [Value::Int(a), Value::Int(b)] => Value::Int(a.checked_rem(*b).ok_or_else(|| overflow("integer"))?),
        [Value::Uint(a), Value::Uint(b)] => Value::Uint(a % b),
        _ => return Err(no_overload()),
    })
}

fn negate(_: &mut Budget, args: &[Value]) -> Evaluated {
    match args {
        [Value::Int(a)] => Ok(Value::Int(a.checked_neg().ok_or_else(|| overflow("integer"))?)),
        [Value::Double(a)] => Ok(Value::Double(-a)),
        _ => Err(no_overload()),
    }
}

fn not(_: &mut Budget, args: &[Value]) -> Evaluated {
    match args {
        [Value::Bool(b)] => Ok(Value::Bool(!b)),
        _ => Err(no_overload()),
    }
}

fn are_equal(budget: &mut Budget, args: &[Value]) -> Result<bool, EvalError> {
    let [a, b] = args else {
        return Err(no_overload());
    };
    budget.charge(a.size().min(b.size()).div_ceil(10))?;
    Ok(a.equals(b))
}

fn equal(budget: &mut Budget, args: &[Value]) -> Evaluated {
    are_equal(budget, args).map(Value::Bool)
}

fn not_equal(budget: &mut Budget, args: &[Value]) -> Evaluated {
    are_equal(budget, args).map(|equal| Value::Bool(!equal))
}

fn ordered(args: &[Value], holds: fn(Ordering) -> bool) -> Evaluated {
    let [a, b] = args else {
        return Err(no_overload());
    };
    match (a, b) {
        (Value::Double(d), _) | (_, Value::Double(d)) if d.is_nan() => {
            Err(EvalError::message("NaN values cannot be ordered"))
        }
        _ => a
            .compare(b)
            .map(|order| Value::Bool(holds(order)))
            .ok_or_else(no_overload),
    }
}

fn contains(budget: &mut Budget, args: &[Value]) -> Evaluated {
    match args {
        [value, Value::List(list)] => {
            budget.charge(list.items.len() as u64)?;
            Ok(Value::Bool(list.items.iter().any(|item| item.equals(value))))
        }
        [key, Value::Map(map)] => Ok(Value::Bool(key.key().is_some_and(|key| map.contains_key(&key)))),
        _ => Err(no_overload()),
    }
}

/// Returns the item of a list or a map, or the error of a missing one.
fn item(of: &Value, key: &Value) -> Result<Result<Value, EvalError>, EvalError> {
    match (of, key) {
        (Value::List(list), Value::Int(_) | Value::Uint(_) | Value::Double(_)) => {
            let found = key
                .key()
                .and_then(|key| match key {
                    super::super::value::Key::Number(at) => usize::try_from(at).ok(),
                    _ => None,
                })
                .and_then(|at| list.items.get(at));
            Ok(found.cloned().ok_or_else(|| {
                let at = super::convert::text(key).unwrap_or_default();
                EvalError::message(format!("index out of bounds: {at}"))
            }))
        }
        (Value::Map(map), key) => {
            let found = key.key().and_then(|key| map.get(&key));
            Ok(found.cloned().ok_or_else(|| {
                let key = super::convert::text(key).unwrap_or_default();
                EvalError::message(format!("no such key: {key}"))
            }))
        }
        _ => Err(no_overload()),
    }
}

fn index(budget: &mut Budget, args: &[Value]) -> Evaluated {
    match args {
        [Value::Optional(_), _] => optional_index(budget, args),
        [of, key] => item(of, key)?,
        _ => Err(no_overload()),
    }
}

fn optional_index(_: &mut Budget, args: &[Value]) -> Evaluated {
    match args {
        [Value::Optional(None), _] => Ok(Value::Optional(None)),
        [Value::Optional(Some(of)), key] => Ok(item(of, key)?.map_or(Value::Optional(None), Value::some)),
        [of, key] => Ok(item(of, key)?.map_or(Value::Optional(None), Value::some)),
        _ => Err(no_overload()),
    }
}

fn size(_: &mut Budget, args: &[Value]) -> Evaluated {
    Ok(match args {
        [Value::String(text)] => count(text.chars().count()),
        [Value::Bytes(bytes)] => count(bytes.len()),
        [Value::List(list)] => count(list.items.len()),
        [Value::Map(map)] => count(map.len()),
        _ => return Err(no_overload()),
    })
}
