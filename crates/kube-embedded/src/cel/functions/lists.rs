//! Functions of lists and sets.

use std::cmp::Ordering;
use std::sync::Arc;

use super::super::eval::{Budget, EvalError};
use super::super::value::{Identity, List, Value};
use super::{Entry, Evaluated, no_overload};

pub(super) const TABLE: &[Entry] = &[
    (
        "isSorted",
        "list<int>.() bool; list<uint>.() bool; list<double>.() bool; list<bool>.() bool; list<duration>.() bool; list<timestamp>.() bool; list<string>.() bool; list<bytes>.() bool",
        is_sorted,
    ),
    (
        "sum",
        "list<int>.() int; list<uint>.() uint; list<double>.() double; list<duration>.() duration",
        sum,
    ),
    ("min", MOST, |b, args| most(b, args, "min", Ordering::Less)),
    ("max", MOST, |b, args| most(b, args, "max", Ordering::Greater)),
    ("slice", "list<A>.(int, int) list<A>", slice),
    (
        "flatten",
        "list<list<A>>.() list<A>; list<dyn>.(int) list<dyn>",
        flatten,
    ),
    (
        "sort",
        "list<int>.() list<int>; list<uint>.() list<uint>; list<double>.() list<double>; list<bool>.() list<bool>; list<duration>.() list<duration>; list<timestamp>.() list<timestamp>; list<string>.() list<string>; list<bytes>.() list<bytes>",
        sort,
    ),
    ("lists.range", "(int) list<int>", range),
    ("reverse", "list<A>.() list<A>", reverse),
    ("distinct", "list<A>.() list<A>", distinct),
    ("sets.contains", "(list<A>, list<A>) bool", |b, args| {
        sets(b, args, includes)
    }),
    ("sets.equivalent", "(list<A>, list<A>) bool", |b, args| {
        sets(b, args, |a, other| includes(a, other) && includes(other, a))
    }),
    ("sets.intersects", "(list<A>, list<A>) bool", |b, args| {
        sets(b, args, |a, other| a.iter().any(|item| has(other, item)))
    }),
];

const MOST: &str = "list<int>.() int; list<uint>.() uint; list<double>.() double; list<bool>.() bool; list<duration>.() duration; list<timestamp>.() timestamp; list<string>.() string; list<bytes>.() bytes";

fn items<'a>(budget: &mut Budget, args: &'a [Value]) -> Result<&'a Arc<Vec<Value>>, EvalError> {
    match args {
        [Value::List(list), ..] => {
            let traversal: u64 = list.items.iter().map(|item| item.size().div_ceil(10)).sum();
            budget.charge(traversal)?;
            Ok(&list.items)
        }
        _ => Err(no_overload()),
    }
}

fn is_sorted(budget: &mut Budget, args: &[Value]) -> Evaluated {
    let items = items(budget, args)?;
    for pair in items.windows(2) {
        match pair[0].compare(&pair[1]) {
            None => return Err(no_overload()),
            Some(Ordering::Greater) => return Ok(Value::Bool(false)),
            Some(_) => {}
        }
    }
    Ok(Value::Bool(true))
}

fn sum(budget: &mut Budget, args: &[Value]) -> Evaluated {
    let items = items(budget, args)?;
    let add = super::find("_+_").ok_or_else(no_overload)?.run;
    let Some((first, rest)) = items.split_first() else {
        // The type of an empty list is not known here; zeros of all types of numbers are equal.
        return Ok(Value::Int(0));
    };
    let mut total = first.clone();
    for item in rest {
        total = add(budget, &[total, item.clone()])?;
    }
    Ok(total)
}

fn most(budget: &mut Budget, args: &[Value], name: &str, wanted: Ordering) -> Evaluated {
    let items = items(budget, args)?;
    let mut best = items
        .first()
        .ok_or_else(|| EvalError::message(format!("{name} called on empty list")))?;
    for item in items.iter() {
        if item.compare(best).ok_or_else(no_overload)? == wanted {
            best = item;
        }
    }
    Ok(best.clone())
}

fn slice(budget: &mut Budget, args: &[Value]) -> Evaluated {
    let [Value::List(list), Value::Int(from), Value::Int(to)] = args else {
        return Err(no_overload());
    };
    budget.charge(list.items.len() as u64)?;
    let refuse = |why: String| Err(EvalError::message(format!("cannot slice({from}, {to}), {why}")));
    let (Ok(start), Ok(end)) = (usize::try_from(*from), usize::try_from(*to)) else {
        return refuse("negative indexes not supported".into());
    };
    if start > end {
        return refuse("start index must be less than or equal to end index".into());
    }
    match list.items.get(start..end) {
        Some(part) => Ok(Value::from(part.to_vec())),
        None => refuse(format!("list is length {}", list.items.len())),
    }
}

fn flatten(budget: &mut Budget, args: &[Value]) -> Evaluated {
    let (list, depth) = match args {
        [Value::List(list)] => (list, 1),
        [Value::List(list), Value::Int(depth)] => (list, *depth),
        _ => return Err(no_overload()),
    };
    if depth < 0 {
        return Err(EvalError::message("level must be non-negative"));
    }
    let mut out = Vec::new();
    flatten_into(budget, list, depth, &mut out)?;
    Ok(Value::from(out))
}

fn flatten_into(budget: &mut Budget, list: &List, depth: i64, out: &mut Vec<Value>) -> Result<(), EvalError> {
    budget.charge(list.items.len() as u64)?;
    for item in list.items.iter() {
        match item {
            Value::List(inner) if depth > 0 => flatten_into(budget, inner, depth - 1, out)?,
            other => out.push(other.clone()),
        }
    }
    Ok(())
}

/// Returns the indexes of comparable keys in their order.
pub(super) fn order(budget: &mut Budget, keys: &[Value]) -> Result<Vec<usize>, EvalError> {
    let size = keys.len() as u64;
    budget.charge(size * u64::from(size.max(1).ilog2() + 1))?;
    if let Some(first) = keys.first()
        && keys.iter().any(|key| first.compare(key).is_none())
    {
        return Err(EvalError::message("list elements must have the same type"));
    }
    let mut order: Vec<usize> = (0..keys.len()).collect();
    order.sort_by(|a, b| keys[*a].compare(&keys[*b]).unwrap_or(Ordering::Equal));
    Ok(order)
}

fn sort(budget: &mut Budget, args: &[Value]) -> Evaluated {
    let items = items(budget, args)?;
    let order = order(budget, items)?;
    let sorted: Vec<Value> = order.into_iter().map(|at| items[at].clone()).collect();
    Ok(Value::from(sorted))
}

fn range(budget: &mut Budget, args: &[Value]) -> Evaluated {
    let [Value::Int(end)] = args else {
        return Err(no_overload());
    };
    budget.charge(u64::try_from(*end).unwrap_or(0))?;
    let numbers: Vec<Value> = (0..*end).map(Value::Int).collect();
    Ok(Value::from(numbers))
}

fn reverse(budget: &mut Budget, args: &[Value]) -> Evaluated {
    let items = items(budget, args)?;
    let reversed: Vec<Value> = items.iter().rev().cloned().collect();
    Ok(Value::from(reversed))
}

fn distinct(budget: &mut Budget, args: &[Value]) -> Evaluated {
    let items = items(budget, args)?;
    let mut out: Vec<Value> = Vec::new();
    for item in items.iter() {
        budget.charge(out.len() as u64)?;
        if !has(&out, item) {
            out.push(item.clone());
        }
    }
    Ok(Value::List(List {
        items: Arc::new(out),
        identity: Identity::Position,
    }))
}

fn has(items: &[Value], wanted: &Value) -> bool {
    items.iter().any(|item| item.equals(wanted))
}

fn includes(items: &[Value], others: &[Value]) -> bool {
    others.iter().all(|other| has(items, other))
}

fn sets(budget: &mut Budget, args: &[Value], holds: fn(&[Value], &[Value]) -> bool) -> Evaluated {
    let [Value::List(a), Value::List(b)] = args else {
        return Err(no_overload());
    };
    budget.charge((a.items.len() as u64).saturating_mul(b.items.len() as u64))?;
    Ok(Value::Bool(holds(&a.items, &b.items)))
}
