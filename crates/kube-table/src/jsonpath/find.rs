//! Evaluates the steps of a path.

use std::borrow::Cow;
use std::cmp::Ordering;

use serde_json::Value;

use super::{End, Filter, Mismatch, Slice, Step};

/// A result: borrowed from the object, or owned if it is part of the path itself or a byte of a string.
type FoundValue<'a> = Cow<'a, Value>;

/// Applies every step to all results of the step before it.
pub(super) fn walk<'a>(steps: &[Step], from: Vec<FoundValue<'a>>) -> Result<Vec<FoundValue<'a>>, Mismatch> {
    let mut found = from;
    for step in steps {
        found = match step {
            Step::Field(name) => found.iter().filter_map(|value| field(value, name)).collect(),
            Step::Wildcard => found.iter().flat_map(children).collect(),
            Step::Descent => found.into_iter().flat_map(descend).collect(),
            Step::Slice(slice) => cut_all(*slice, &found)?,
            Step::Filter(filter) => select_all(filter, &found)?,
            Step::Union(branches) => {
                let mut all = Vec::new();
                for branch in branches {
                    all.extend(walk(branch, found.clone())?);
                }
                all
            }
            Step::Literal(value @ Value::String(_)) => vec![Cow::Owned(value.clone())],
            Step::Literal(value) => found.iter().map(|_| Cow::Owned(value.clone())).collect(),
            Step::Word => return Err(Mismatch),
        };
    }
    Ok(found)
}

fn field<'a>(value: &FoundValue<'a>, name: &str) -> Option<FoundValue<'a>> {
    match value {
        Cow::Borrowed(Value::Object(fields)) => fields.get(name).map(Cow::Borrowed),
        _ => None,
    }
}

/// Returns the values one level below. Like in Go, the children of a string are its bytes.
fn children<'a>(value: &FoundValue<'a>) -> Vec<FoundValue<'a>> {
    match value {
        Cow::Borrowed(Value::Object(fields)) => fields.values().map(Cow::Borrowed).collect(),
        Cow::Borrowed(Value::Array(items)) => items.iter().map(Cow::Borrowed).collect(),
        Cow::Borrowed(Value::String(text)) => text.bytes().map(|byte| Cow::Owned(byte.into())).collect(),
        _ => Vec::new(),
    }
}

/// Returns a value and all its descendants, without values that have no children.
fn descend(value: FoundValue<'_>) -> Vec<FoundValue<'_>> {
    let children = children(&value);
    if children.is_empty() {
        return Vec::new();
    }
    let mut all = vec![value];
    all.extend(children.into_iter().flat_map(descend));
    all
}

fn cut_all<'a>(slice: Slice, found: &[FoundValue<'a>]) -> Result<Vec<FoundValue<'a>>, Mismatch> {
    let mut all = Vec::new();
    for value in found {
        let items = match value {
            Cow::Borrowed(Value::Array(items)) => items,
            Cow::Borrowed(Value::Null) => continue,
            _ => return Err(Mismatch),
        };
        let part = cut(slice, items)?;
        if part.is_empty() {
            // Like the kube-apiserver, ignore further lists once a slice of one is empty.
            break;
        }
        all.extend(part);
    }
    Ok(all)
}

fn cut(slice: Slice, items: &[Value]) -> Result<Vec<FoundValue<'_>>, Mismatch> {
    let length = i64::try_from(items.len()).map_err(|_| Mismatch)?;
    let from_end = |place: i64| {
        if place < 0 {
            place.saturating_add(length)
        } else {
            place
        }
    };
    let start = from_end(slice.start.unwrap_or(0));
    let end = match slice.end {
        End::Open => length,
        End::At(end) => from_end(end),
        End::OneAfterStart => start.saturating_add(1),
    };
    if start == end {
        return Ok(Vec::new());
    }
    if start < 0 || start >= length || end < 0 || end > length || start > end {
        return Err(Mismatch);
    }
    let step = slice.step.unwrap_or(1);
    if step <= 0 {
        return Err(Mismatch);
    }
    let place = |number: i64| usize::try_from(number).map_err(|_| Mismatch);
    let part = items.get(place(start)?..place(end)?).ok_or(Mismatch)?;
    Ok(part.iter().step_by(place(step)?).map(Cow::Borrowed).collect())
}

fn select_all<'a>(filter: &Filter, found: &[FoundValue<'a>]) -> Result<Vec<FoundValue<'a>>, Mismatch> {
    let mut selected = Vec::new();
    for value in found {
        let Cow::Borrowed(Value::Array(items)) = value else {
            return Err(Mismatch);
        };
        for item in items {
            if passes(filter, item)? {
                selected.push(Cow::Borrowed(item));
            }
        }
    }
    Ok(selected)
}

fn passes(filter: &Filter, item: &Value) -> Result<bool, Mismatch> {
    let left = walk(&filter.left, vec![Cow::Borrowed(item)]);
    let Some((operator, right)) = &filter.right else {
        // A path that ends early counts as existing if it found a value on its way.
        return Ok(left.map_or(true, |found| !found.is_empty()));
    };
    let Some(left) = only(left?)? else {
        return Ok(false);
    };
    let Some(right) = only(walk(right, vec![Cow::Borrowed(item)])?)? else {
        return Ok(false);
    };
    let equal = equal(&left, &right);
    match operator.as_str() {
        "==" => equal,
        "!=" => equal.map(|equal| !equal),
        "<" => less(&left, &right),
        "<=" => Ok(less(&left, &right)? || equal?),
        ">" => Ok(!less(&left, &right)? && !equal?),
        ">=" => less(&left, &right).map(|less| !less),
        _ => Err(Mismatch),
    }
}

fn only(mut found: Vec<FoundValue<'_>>) -> Result<Option<Scalar>, Mismatch> {
    if found.len() > 1 {
        return Err(Mismatch);
    }
    found.pop().map(|found| scalar(&found)).transpose()
}

/// A value that can be compared with others of its kind.
enum Scalar {
    Bool(bool),
    Integer(i64),
    Float(f64),
    Text(String),
}

fn scalar(found: &FoundValue<'_>) -> Result<Scalar, Mismatch> {
    let stored = matches!(found, Cow::Borrowed(_));
    match &**found {
        Value::Bool(value) => Ok(Scalar::Bool(*value)),
        Value::String(text) => Ok(Scalar::Text(text.clone())),
        Value::Number(number) => match (number.as_i64(), number.as_f64()) {
            (Some(integer), _) => Ok(Scalar::Integer(integer)),
            // The kube-apiserver stores a whole number as an integer, however it was written.
            (None, Some(float)) if stored => {
                Ok(crate::go::whole(float).map_or(Scalar::Float(float), Scalar::Integer))
            }
            (None, Some(float)) => Ok(Scalar::Float(float)),
            (None, None) => Err(Mismatch),
        },
        _ => Err(Mismatch),
    }
}

fn equal(left: &Scalar, right: &Scalar) -> Result<bool, Mismatch> {
    match (left, right) {
        (Scalar::Bool(left), Scalar::Bool(right)) => Ok(left == right),
        _ => compare(left, right).map(|order| order == Some(Ordering::Equal)),
    }
}

fn less(left: &Scalar, right: &Scalar) -> Result<bool, Mismatch> {
    compare(left, right).map(|order| order == Some(Ordering::Less))
}

fn compare(left: &Scalar, right: &Scalar) -> Result<Option<Ordering>, Mismatch> {
    match (left, right) {
        (Scalar::Integer(left), Scalar::Integer(right)) => Ok(Some(left.cmp(right))),
        (Scalar::Float(left), Scalar::Float(right)) => Ok(left.partial_cmp(right)),
        (Scalar::Text(left), Scalar::Text(right)) => Ok(Some(left.cmp(right))),
        _ => Err(Mismatch),
    }
}
