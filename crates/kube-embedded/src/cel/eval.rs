//! Evaluates expressions, within limits.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::Arc;

use regex::Regex;

use super::ast::{Comprehension, Element, Entry, Expr, Form, Kind, Selection};
use super::functions;
use super::lazy::Activation;
use super::value::{Key, Value};

/// The most that one evaluation may cost.
const PER_EVALUATION: u64 = 1_000_000;
/// The most that all evaluations for one object may cost.
const PER_OBJECT: u64 = 10_000_000;
const CREATED_LIST: u64 = 10;
const CREATED_MAP: u64 = 30;
/// Compiled regular expressions that are kept.
const KEPT: usize = 64;

/// What the evaluations for one object may still cost.
///
/// A step costs one, as does every tenth character that a function looks at.
#[derive(Debug)]
pub(crate) struct Budget {
    remaining: u64,
    /// The cost of the current evaluation.
    spent: u64,
    regexes: HashMap<Arc<str>, Regex>,
}

/// Why an expression has no value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum EvalError {
    /// The evaluation costs more than one may.
    TooExpensive,
    /// A function is not defined for its arguments.
    NoSuchOverload,
    Message(Arc<str>),
}

impl EvalError {
    pub(super) fn message(text: impl Into<Arc<str>>) -> EvalError {
        EvalError::Message(text.into())
    }
}

impl fmt::Display for EvalError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            EvalError::TooExpensive => f.write_str("operation cancelled: actual cost limit exceeded"),
            EvalError::NoSuchOverload => f.write_str("no such overload"),
            EvalError::Message(text) => f.write_str(text),
        }
    }
}

impl Budget {
    /// Returns the budget for one object.
    pub(crate) fn new() -> Budget {
        Budget::of(PER_OBJECT)
    }

    /// Returns a budget of this size.
    pub(crate) fn of(remaining: u64) -> Budget {
        Budget {
            remaining,
            spent: 0,
            regexes: HashMap::new(),
        }
    }

    /// Returns whether nothing more may be evaluated.
    pub(crate) fn is_empty(&self) -> bool {
        self.remaining == 0
    }

    /// Takes the cost of the last evaluation away; returns whether there was enough.
    pub(crate) fn settle(&mut self) -> bool {
        let spent = std::mem::take(&mut self.spent);
        let rest = self.remaining.checked_sub(spent);
        self.remaining = rest.unwrap_or(0);
        rest.is_some()
    }

    /// Runs an evaluation within another one. It has a limit of its own, and its cost is taken away at once.
    pub(super) fn apart<T>(&mut self, run: impl FnOnce(&mut Budget) -> T) -> T {
        let outer = std::mem::take(&mut self.spent);
        let result = run(self);
        // Without a remainder, settling the outer evaluation fails.
        self.settle();
        self.spent = outer;
        result
    }

    pub(super) fn charge(&mut self, cost: u64) -> Result<(), EvalError> {
        self.spent = self.spent.saturating_add(cost);
        if self.spent > PER_EVALUATION {
            return Err(EvalError::TooExpensive);
        }
        Ok(())
    }

    /// Returns a regular expression in Go's syntax.
    pub(super) fn regex(&mut self, pattern: &Arc<str>) -> Result<Regex, EvalError> {
        if let Some(regex) = self.regexes.get(pattern) {
            return Ok(regex.clone());
        }
        let regex = crate::regexp::compile(pattern).map_err(EvalError::message)?;
        if self.regexes.len() < KEPT {
            self.regexes.insert(pattern.clone(), regex.clone());
        }
        Ok(regex)
    }
}

type Evaluated<T = Value> = Result<T, EvalError>;

/// Evaluates an expression.
pub(super) fn evaluate(
    expr: &Expr,
    variables: &[(&str, Value)],
    lazy: Option<&Activation<'_>>,
    budget: &mut Budget,
) -> Evaluated {
    let mut scope = Scope {
        lazy,
        variables: variables
            .iter()
            .map(|(name, value)| (Arc::from(*name), value.clone()))
            .collect(),
        budget,
    };
    scope.value(expr)
}

struct Scope<'b> {
    variables: Vec<(Arc<str>, Value)>,
    /// The variable whose fields are evaluated when they are first used.
    lazy: Option<&'b Activation<'b>>,
    budget: &'b mut Budget,
}

impl Scope<'_> {
    fn value(&mut self, expr: &Expr) -> Evaluated {
        let value = match &expr.kind {
            Kind::Literal(value) => return Ok(value.clone()),
            Kind::Identifier(name) => self.variable(name)?,
            Kind::Select { operand, field, form } => self.select(operand, field, *form)?,
            Kind::Call { function, args, .. } => self.call(*function, args)?,
            Kind::And(terms) => self.combined(terms, false)?,
            Kind::Or(terms) => self.combined(terms, true)?,
            Kind::Conditional(parts) => self.conditional(parts)?,
            Kind::List(elements) => self.list(elements)?,
            Kind::Map(entries) => self.map(entries)?,
            Kind::Comprehension(comprehension) => self.comprehension(comprehension)?,
        };
        match value {
            Value::Invalid(why) => Err(EvalError::Message(why)),
            value => Ok(value),
        }
    }

    fn variable(&mut self, name: &str) -> Evaluated {
        self.budget.charge(1)?;
        let found = self.variables.iter().rev().find(|(own, _)| &**own == name);
        match found {
            Some((_, value)) => Ok(value.clone()),
            None => Err(EvalError::message(format!("no such attribute(s): {name}"))),
        }
    }

    /// Returns a field of the variable whose fields are evaluated late, if the operand is that variable.
    fn lazy_field(&mut self, operand: &Expr, field: &Arc<str>) -> Option<Evaluated> {
        let Kind::Identifier(name) = &operand.kind else {
            return None;
        };
        let lazy = self.lazy.filter(|lazy| lazy.is_about(name))?;
        let is_shadowed = self.variables.iter().any(|(own, _)| own == name);
        if is_shadowed {
            return None;
        }
        lazy.field(field, self.budget)
    }

    fn select(&mut self, operand: &Expr, field: &Arc<str>, form: Selection) -> Evaluated {
        if let Some(value) = self.lazy_field(operand, field) {
            self.budget.charge(2)?;
            return value.map(|value| match form {
                Selection::Required => value,
                Selection::Optional => Value::some(value),
                Selection::Test => Value::Bool(true),
            });
        }
        let of = self.value(operand)?;
        if form != Selection::Test {
            self.budget.charge(1)?;
        }
        let (of, was_optional) = match of {
            Value::Optional(None) if form == Selection::Test => return Ok(Value::Bool(false)),
            Value::Optional(None) => return Ok(Value::Optional(None)),
            Value::Optional(Some(inner)) => ((*inner).clone(), true),
            other => (other, false),
        };
        let map = match of {
            Value::Map(map) => map,
            Value::List(_) => return Err(EvalError::message("unsupported index type 'string' in list")),
            _ => return Err(EvalError::message(format!("no such key: {field}"))),
        };
        let found = map.get(&Key::String(field.clone()));
        if form == Selection::Test {
            return Ok(Value::Bool(found.is_some()));
        }
        if let Some(Value::Invalid(why)) = found {
            return Err(EvalError::Message(why.clone()));
        }
        if form == Selection::Optional || was_optional {
            return Ok(found.cloned().map_or(Value::Optional(None), Value::some));
        }
        found
            .cloned()
            .ok_or_else(|| EvalError::message(format!("no such key: {field}")))
    }

    fn call(&mut self, function: Option<&functions::Function>, args: &[Expr]) -> Evaluated {
        let values = args
            .iter()
            .map(|arg| self.value(arg))
            .collect::<Evaluated<Vec<Value>>>()?;
        self.budget.charge(1)?;
        match function {
            Some(function) => (function.run)(self.budget, &values),
            None => Err(EvalError::NoSuchOverload),
        }
    }

    fn bool(&mut self, expr: &Expr) -> Evaluated<bool> {
        match self.value(expr)? {
            Value::Bool(b) => Ok(b),
            _ => Err(EvalError::NoSuchOverload),
        }
    }

    /// `&&` and `||`: one term that decides makes up for errors of the others.
    fn combined(&mut self, terms: &[Expr], decisive: bool) -> Evaluated {
        let mut error = None;
        for term in terms {
            match self.bool(term) {
                Ok(b) if b == decisive => return Ok(Value::Bool(decisive)),
                Ok(_) => {}
                Err(EvalError::TooExpensive) => return Err(EvalError::TooExpensive),
                Err(other) => error = error.or(Some(other)),
            }
        }
        error.map_or(Ok(Value::Bool(!decisive)), Err)
    }

    fn conditional(&mut self, parts: &[Expr; 3]) -> Evaluated {
        let [condition, then, otherwise] = parts;
        if self.bool(condition)? {
            self.value(then)
        } else {
            self.value(otherwise)
        }
    }

    fn list(&mut self, elements: &[Element]) -> Evaluated {
        self.budget.charge(CREATED_LIST)?;
        let mut items = Vec::new();
        for element in elements {
            let value = self.value(&element.value)?;
            match (element.is_optional, value) {
                (true, Value::Optional(None)) => {}
                (true, Value::Optional(Some(inner))) => items.push((*inner).clone()),
                (true, _) => return Err(EvalError::NoSuchOverload),
                (false, value) => items.push(value),
            }
        }
        Ok(Value::from(items))
    }

    fn map(&mut self, entries: &[Entry]) -> Evaluated {
        self.budget.charge(CREATED_MAP)?;
        let mut map = BTreeMap::new();
        for entry in entries {
            let key = self.value(&entry.key)?;
            let value = self.value(&entry.value)?;
            let value = match (entry.is_optional, value) {
                (true, Value::Optional(None)) => continue,
                (true, Value::Optional(Some(inner))) => (*inner).clone(),
                (true, _) => return Err(EvalError::NoSuchOverload),
                (false, value) => value,
            };
            // The last of entries with the same key counts.
            map.insert(key_of(&key)?, value);
        }
        Ok(Value::Map(Arc::new(map)))
    }

    /// The values that the variables of a macro take.
    fn pairs(&mut self, c: &Comprehension) -> Evaluated<Vec<(Value, Option<Value>)>> {
        let range = self.value(&c.range)?;
        let pairs: Vec<(Value, Option<Value>)> = match &range {
            Value::List(list) if c.second.is_some() => {
                let numbered = list.items.iter().enumerate();
                numbered
                    .map(|(at, item)| {
                        (
                            Value::Int(i64::try_from(at).unwrap_or(i64::MAX)),
                            Some(item.clone()),
                        )
                    })
                    .collect()
            }
            Value::List(list) => list.items.iter().map(|item| (item.clone(), None)).collect(),
            Value::Map(map) => {
                let second = |value: &Value| c.second.as_ref().map(|_| value.clone());
                map.iter()
                    .map(|(key, value)| (Value::from(key), second(value)))
                    .collect()
            }
            _ => return Err(EvalError::NoSuchOverload),
        };
        Ok(pairs)
    }

    fn with<T>(
        &mut self,
        c: &Comprehension,
        (first, second): &(Value, Option<Value>),
        run: impl FnOnce(&mut Self) -> T,
    ) -> T {
        let before = self.variables.len();
        self.variables.push((c.variable.clone(), first.clone()));
        if let (Some(name), Some(value)) = (&c.second, second) {
            self.variables.push((name.clone(), value.clone()));
        }
        let result = run(self);
        self.variables.truncate(before);
        result
    }

    fn comprehension(&mut self, c: &Comprehension) -> Evaluated {
        match c.form {
            Form::OptMap | Form::OptFlatMap => self.optional_macro(c),
            Form::All => self.quantifier(c, false),
            Form::Exists => self.quantifier(c, true),
            Form::ExistsOne => {
                let mut found = 0;
                for pair in self.pairs(c)? {
                    self.budget.charge(1)?;
                    found += usize::from(self.with(c, &pair, |scope| scope.bool(&c.body))?);
                }
                Ok(Value::Bool(found == 1))
            }
            Form::SortBy => self.sort_by(c),
            Form::Map | Form::Filter => {
                let mut items = Vec::new();
                self.budget.charge(CREATED_LIST)?;
                self.each(c, |pair, value| {
                    if c.form == Form::Map {
                        items.push(value);
                    } else if matches!(value, Value::Bool(true)) {
                        items.push(pair.0.clone());
                    }
                    Ok(())
                })?;
                Ok(Value::from(items))
            }
            Form::TransformMap | Form::TransformEntry => {
                let mut map = BTreeMap::new();
                self.budget.charge(CREATED_MAP)?;
                self.each(c, |pair, value| match value {
                    Value::Map(entries) if c.form == Form::TransformEntry => entries
                        .iter()
                        .try_for_each(|(key, value)| insert(&mut map, &Value::from(key), value.clone())),
                    _ if c.form == Form::TransformEntry => Err(EvalError::NoSuchOverload),
                    value => insert(&mut map, &pair.0, value),
                })?;
                Ok(Value::Map(Arc::new(map)))
            }
        }
    }

    /// Evaluates the body for every pair that the filter lets through.
    fn each(
        &mut self,
        c: &Comprehension,
        mut take: impl FnMut(&(Value, Option<Value>), Value) -> Evaluated<()>,
    ) -> Evaluated<()> {
        for pair in self.pairs(c)? {
            self.budget.charge(1)?;
            let value = self.with(c, &pair, |scope| match &c.filter {
                Some(filter) if !scope.bool(filter)? => Ok(None),
                _ => scope.value(&c.body).map(Some),
            })?;
            if let Some(value) = value {
                take(&pair, value)?;
            }
        }
        Ok(())
    }

    fn quantifier(&mut self, c: &Comprehension, decisive: bool) -> Evaluated {
        let mut error = None;
        for pair in self.pairs(c)? {
            self.budget.charge(1)?;
            match self.with(c, &pair, |scope| scope.bool(&c.body)) {
                Ok(b) if b == decisive => return Ok(Value::Bool(decisive)),
                Ok(_) => {}
                Err(EvalError::TooExpensive) => return Err(EvalError::TooExpensive),
                Err(other) => error = error.or(Some(other)),
            }
        }
        error.map_or(Ok(Value::Bool(!decisive)), Err)
    }

    fn sort_by(&mut self, c: &Comprehension) -> Evaluated {
        let (mut items, mut keys) = (Vec::new(), Vec::new());
        self.each(c, |pair, key| {
            items.push(pair.0.clone());
            keys.push(key);
            Ok(())
        })?;
        let order = functions::sorted(self.budget, &keys)?;
        let sorted: Vec<Value> = order
            .into_iter()
            .filter_map(|at| items.get(at).cloned())
            .collect();
        Ok(Value::from(sorted))
    }

    fn optional_macro(&mut self, c: &Comprehension) -> Evaluated {
        let inner = match self.value(&c.range)? {
            Value::Optional(None) => return Ok(Value::Optional(None)),
            Value::Optional(Some(inner)) => (*inner).clone(),
            _ => return Err(EvalError::NoSuchOverload),
        };
        let value = self.with(c, &(inner, None), |scope| scope.value(&c.body))?;
        match (c.form, value) {
            (Form::OptFlatMap, value @ Value::Optional(_)) => Ok(value),
            (Form::OptFlatMap, _) => Err(EvalError::NoSuchOverload),
            (_, value) => Ok(Value::some(value)),
        }
    }
}

fn key_of(key: &Value) -> Evaluated<Key> {
    key.key()
        .ok_or_else(|| EvalError::message(format!("unsupported key type: {}", key.type_name())))
}

fn insert(map: &mut BTreeMap<Key, Value>, key: &Value, value: Value) -> Evaluated<()> {
    if map.insert(key_of(key)?, value).is_some() {
        let key = functions::printed(key);
        return Err(EvalError::message(format!(
            "insert failed: key {key} already exists"
        )));
    }
    Ok(())
}

/// Converts constants, as the server does before it runs a program; returns why one cannot be converted.
pub(super) fn fold(expr: &Expr) -> Result<(), EvalError> {
    for child in expr.kind.children() {
        fold(child)?;
    }
    if let Kind::Call {
        name,
        function: Some(function),
        args,
        ..
    } = &expr.kind
        && matches!(
            name.as_str(),
            "bool" | "bytes" | "double" | "duration" | "int" | "string" | "timestamp" | "uint"
        )
        && let [arg] = args.as_slice()
        && let Kind::Literal(value) = &arg.kind
    {
        (function.run)(&mut Budget::new(), std::slice::from_ref(value))?;
    }
    Ok(())
}
