//! Values that may be absent.

use super::super::eval::{Budget, EvalError};
use super::super::value::Value;
use super::{Entry, Evaluated, no_overload};

pub(super) const TABLE: &[Entry] = &[
    ("optional.of", "(A) optional<A>", |_, args| {
        one(args).cloned().map(Value::some)
    }),
    ("optional.ofNonZeroValue", "(A) optional<A>", non_zero),
    ("optional.none", "() optional<A>", |_, _| {
        Ok(Value::Optional(None))
    }),
    ("value", "optional<A>.() A", value),
    ("hasValue", "optional<A>.() bool", has_value),
    ("or", "optional<A>.(optional<A>) optional<A>", or),
    ("orValue", "optional<A>.(A) A", or_value),
    ("first", "list<A>.() optional<A>", |_, args| {
        end(args, |items| items.first())
    }),
    ("last", "list<A>.() optional<A>", |_, args| {
        end(args, |items| items.last())
    }),
    ("optional.unwrap", "(list<optional<A>>) list<A>", unwrap),
    ("unwrapOpt", "list<optional<A>>.() list<A>", unwrap),
];

fn one(args: &[Value]) -> Result<&Value, EvalError> {
    match args {
        [value] => Ok(value),
        _ => Err(no_overload()),
    }
}

fn non_zero(_: &mut Budget, args: &[Value]) -> Evaluated {
    let value = one(args)?;
    Ok(if value.is_zero() {
        Value::Optional(None)
    } else {
        Value::some(value.clone())
    })
}

fn value(_: &mut Budget, args: &[Value]) -> Evaluated {
    match args {
        [Value::Optional(Some(value))] => Ok((**value).clone()),
        [Value::Optional(None)] => Err(EvalError::message("optional.none() dereference")),
        _ => Err(no_overload()),
    }
}

fn has_value(_: &mut Budget, args: &[Value]) -> Evaluated {
    match args {
        [Value::Optional(value)] => Ok(Value::Bool(value.is_some())),
        _ => Err(no_overload()),
    }
}

fn or(_: &mut Budget, args: &[Value]) -> Evaluated {
    match args {
        [Value::Optional(None), other @ Value::Optional(_)] => Ok(other.clone()),
        [some @ Value::Optional(_), Value::Optional(_)] => Ok(some.clone()),
        _ => Err(no_overload()),
    }
}

fn or_value(_: &mut Budget, args: &[Value]) -> Evaluated {
    match args {
        [Value::Optional(Some(value)), _] => Ok((**value).clone()),
        [Value::Optional(None), other] => Ok(other.clone()),
        _ => Err(no_overload()),
    }
}

fn end(args: &[Value], which: fn(&Vec<Value>) -> Option<&Value>) -> Evaluated {
    match args {
        [Value::List(list)] => Ok(which(&list.items)
            .cloned()
            .map_or(Value::Optional(None), Value::some)),
        _ => Err(no_overload()),
    }
}

fn unwrap(budget: &mut Budget, args: &[Value]) -> Evaluated {
    let [Value::List(list)] = args else {
        return Err(no_overload());
    };
    budget.charge(list.items.len() as u64)?;
    let present = list.items.iter().filter_map(|item| match item {
        Value::Optional(Some(value)) => Some((**value).clone()),
        _ => None,
    });
    Ok(Value::from(present.collect::<Vec<_>>()))
}
