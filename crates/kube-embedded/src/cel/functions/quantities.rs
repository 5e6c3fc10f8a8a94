//! Quantities of Kubernetes, such as `500m`.

use std::cmp::Ordering;
use std::sync::Arc;

use super::super::eval::{Budget, EvalError};
use super::super::value::Value;
use super::{Entry, Evaluated, no_overload, tenth};
use crate::schema::quantity::Quantity;

pub(super) const TABLE: &[Entry] = &[
    ("quantity", "(string) kubernetes.Quantity", |b, args| {
        let quantity = Quantity::parse(text(b, args)?).map_err(EvalError::message)?;
        Ok(Value::Quantity(Arc::new(quantity)))
    }),
    ("isQuantity", "(string) bool", |b, args| {
        text(b, args).map(|text| Value::Bool(Quantity::parse(text).is_ok()))
    }),
    ("sign", "(kubernetes.Quantity) int", |_, args| {
        one(args).map(|q| Value::Int(number(q.sign())))
    }),
    ("isInteger", "kubernetes.Quantity.() bool", |_, args| {
        one(args).map(|q| Value::Bool(q.to_i64().is_some()))
    }),
    ("asInteger", "kubernetes.Quantity.() int", |_, args| {
        let whole = one(args)?.to_i64();
        whole
            .map(Value::Int)
            .ok_or_else(|| EvalError::message("cannot convert value to integer"))
    }),
    (
        "asApproximateFloat",
        "kubernetes.Quantity.() double",
        |_, args| one(args).map(|q| Value::Double(q.to_f64())),
    ),
    ("add", CHANGE, |_, args| changed(args, false)),
    ("sub", CHANGE, |_, args| changed(args, true)),
    ("isGreaterThan", TEST, |_, args| {
        compare(args).map(|order| Value::Bool(order.is_gt()))
    }),
    ("isLessThan", TEST, |_, args| {
        compare(args).map(|order| Value::Bool(order.is_lt()))
    }),
    (
        "compareTo",
        "kubernetes.Quantity.(kubernetes.Quantity) int; kubernetes.Semver.(kubernetes.Semver) int",
        |_, args| compare(args).map(|order| Value::Int(number(order))),
    ),
];

const CHANGE: &str = "kubernetes.Quantity.(kubernetes.Quantity) kubernetes.Quantity; kubernetes.Quantity.(int) kubernetes.Quantity";
const TEST: &str =
    "kubernetes.Quantity.(kubernetes.Quantity) bool; kubernetes.Semver.(kubernetes.Semver) bool";

fn text<'a>(budget: &mut Budget, args: &'a [Value]) -> Result<&'a str, EvalError> {
    match args {
        [Value::String(text)] => {
            budget.charge(tenth(text.len()))?;
            Ok(text)
        }
        _ => Err(no_overload()),
    }
}

fn one(args: &[Value]) -> Result<&Quantity, EvalError> {
    match args {
        [Value::Quantity(quantity)] => Ok(quantity),
        _ => Err(no_overload()),
    }
}

fn number(order: Ordering) -> i64 {
    match order {
        Ordering::Less => -1,
        Ordering::Equal => 0,
        Ordering::Greater => 1,
    }
}

/// Compares two quantities or two versions.
fn compare(args: &[Value]) -> Result<Ordering, EvalError> {
    match args {
        [Value::Quantity(a), Value::Quantity(b)] => Ok(a.compare(b)),
        [Value::Semver(a), Value::Semver(b)] => Ok(a.compare(b)),
        _ => Err(no_overload()),
    }
}

fn changed(args: &[Value], negated: bool) -> Evaluated {
    let result = match args {
        [Value::Quantity(a), Value::Quantity(b)] => a.plus(b, negated),
        [Value::Quantity(a), Value::Int(b)] => {
            let b = Quantity::parse(&b.to_string()).map_err(EvalError::message)?;
            a.plus(&b, negated)
        }
        _ => return Err(no_overload()),
    };
    let quantity = result.ok_or_else(|| EvalError::message("quantity overflow"))?;
    Ok(Value::Quantity(Arc::new(quantity)))
}
