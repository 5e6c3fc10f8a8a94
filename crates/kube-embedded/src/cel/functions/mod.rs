//! The functions of expressions: their signatures for the checker, and what they do.

pub(crate) mod authorization;
pub(crate) mod bytes;
mod convert;
mod formats;
mod lists;
mod net;
mod operators;
mod optional;
mod quantities;
pub(crate) mod semver;
mod string_format;
mod strings;
pub(crate) mod time;
pub(crate) mod url;

use std::collections::HashMap;
use std::sync::LazyLock;

use super::eval::{Budget, EvalError};
use super::types::Type;
use super::value::Value;

/// A function or an operator.
#[derive(Debug)]
pub(super) struct Function {
    pub(super) overloads: Vec<Overload>,
    pub(super) run: Run,
}

/// One signature of a [`Function`].
#[derive(Debug)]
pub(super) struct Overload {
    pub(super) is_member: bool,
    pub(super) args: Vec<Type>,
    pub(super) result: Type,
    /// How many open types the signature has.
    pub(super) parameters: usize,
}

/// What a function does with its arguments, of which the receiver is the first.
pub(super) type Run = fn(&mut Budget, &[Value]) -> Evaluated;
type Evaluated = Result<Value, EvalError>;
/// Name, signatures separated by `;`, and implementation. `A` and `B` are open types.
type Entry = (&'static str, &'static str, Run);

/// The types that libraries add.
pub(super) const LIBRARY_TYPES: [&str; 11] = [
    "kubernetes.authorization.Authorizer",
    "kubernetes.authorization.Decision",
    "kubernetes.authorization.GroupCheck",
    "kubernetes.authorization.PathCheck",
    "kubernetes.authorization.ResourceCheck",
    "kubernetes.NamedFormat",
    "kubernetes.Quantity",
    "kubernetes.Semver",
    "kubernetes.URL",
    "net.CIDR",
    "net.IP",
];

static FUNCTIONS: LazyLock<HashMap<&'static str, Function>> = LazyLock::new(|| {
    let tables: [&[Entry]; 13] = [
        authorization::TABLE,
        operators::TABLE,
        convert::TABLE,
        formats::TABLE,
        lists::TABLE,
        net::TABLE,
        optional::TABLE,
        quantities::TABLE,
        semver::TABLE,
        strings::TABLE,
        string_format::TABLE,
        time::TABLE,
        url::TABLE,
    ];
    let entries = tables.into_iter().flatten();
    entries
        .map(|(name, signatures, run)| {
            let overloads = signatures
                .split(';')
                .filter_map(|text| overload(text.trim()))
                .collect();
            (*name, Function { overloads, run: *run })
        })
        .collect()
});

/// Returns the function of this name.
pub(super) fn find(name: &str) -> Option<&'static Function> {
    FUNCTIONS.get(name)
}

/// The error of a function that cannot be applied to its arguments.
fn no_overload() -> EvalError {
    EvalError::NoSuchOverload
}

/// Reads a signature such as `string.(int) list<string>`.
fn overload(text: &str) -> Option<Overload> {
    let (receiver, rest) = text.split_once('(')?;
    let (args, result) = rest.split_once(')')?;
    let mut parameters = 0;
    let mut types = Vec::new();
    let receiver = receiver.strip_suffix('.');
    for part in receiver.into_iter().chain(top_level(args)) {
        types.push(type_of(part, &mut parameters)?);
    }
    Some(Overload {
        is_member: receiver.is_some(),
        args: types,
        result: type_of(result, &mut parameters)?,
        parameters,
    })
}

/// Splits at commas outside of `<>`.
fn top_level(text: &str) -> Vec<&str> {
    let mut depth = 0;
    let parts = text.split(move |c| {
        match c {
            '<' => depth += 1,
            '>' => depth -= 1,
            _ => {}
        }
        c == ',' && depth == 0
    });
    parts.map(str::trim).filter(|part| !part.is_empty()).collect()
}

fn type_of(text: &str, parameters: &mut usize) -> Option<Type> {
    let text = text.trim();
    if let Some((name, inner)) = text.strip_suffix('>').and_then(|t| t.split_once('<')) {
        let mut inner = top_level(inner).into_iter().map(|t| type_of(t, parameters));
        let first = inner.next()??;
        return Some(match name {
            "list" => Type::list(first),
            "optional" => Type::optional(first),
            "type" => Type::Meta(first.into()),
            "map" => Type::map(first, inner.next()??),
            _ => return None,
        });
    }
    let mut parameter = |at: usize| {
        *parameters = (*parameters).max(at + 1);
        Type::Parameter(at)
    };
    Some(match text {
        "A" => parameter(0),
        "B" => parameter(1),
        "dyn" => Type::Dyn,
        "null" => Type::Null,
        "bool" => Type::Bool,
        "int" => Type::Int,
        "uint" => Type::Uint,
        "double" => Type::Double,
        "string" => Type::String,
        "bytes" => Type::Bytes,
        "duration" => Type::Duration,
        "timestamp" => Type::Timestamp,
        library => Type::Library(LIBRARY_TYPES.iter().find(|t| **t == library)?),
    })
}

/// Returns the indexes of comparable keys in their order.
pub(super) fn sorted(budget: &mut Budget, keys: &[Value]) -> Result<Vec<usize>, EvalError> {
    lists::order(budget, keys)
}

/// Returns a scalar as `string()` does.
pub(super) fn printed(value: &Value) -> String {
    convert::text(value).unwrap_or_default()
}

/// Returns what is wrong with a call of `format` with a constant text; also the argument it is about.
pub(super) fn format_problem(
    text: &str,
    count: usize,
    literal: impl Fn(usize) -> Option<Value>,
) -> Option<(Option<usize>, String)> {
    string_format::problem(text, count, literal)
}

/// A count as a value.
fn count(n: usize) -> Value {
    Value::Int(i64::try_from(n).unwrap_or(i64::MAX))
}

/// Characters, bytes or items, at a tenth of the cost of a step.
fn tenth(n: usize) -> u64 {
    (n as u64).div_ceil(10)
}

#[cfg(test)]
mod tests {
    use super::{FUNCTIONS, operators};

    #[test]
    fn every_signature_can_be_read() {
        for (name, function) in FUNCTIONS.iter() {
            assert!(!function.overloads.is_empty(), "{name}");
        }
        for (name, signatures, _) in operators::TABLE {
            let wanted = signatures.split(';').count();
            assert_eq!(FUNCTIONS[name].overloads.len(), wanted, "{name}");
        }
    }
}
