//! Merges two lists in a strategic merge patch, and orders their items.

use serde_json::{Map, Value};

use super::{DIRECTIVE, TypeContext, expected, merge_maps, unknown_directive};
use crate::golang;
use crate::status::{Result, Status};

type Object = Map<String, Value>;

/// How the list in a field is merged.
#[derive(Clone, Copy)]
pub(super) struct ListRule<'a> {
    /// Whether lists are merged; otherwise the patch replaces the list.
    pub(super) merges: bool,
    /// The field that identifies an item; `None` for lists of scalars.
    pub(super) key: Option<&'a str>,
}

impl ListRule<'_> {
    /// Returns the key of an item, or a scalar itself.
    fn identity<'v>(&self, item: &'v Value, is_map: bool) -> Option<&'v Value> {
        if is_map {
            item.as_object()?.get(self.key?)
        } else {
            Some(item)
        }
    }

    fn position(&self, list: &[Value], item: &Value, is_map: bool) -> Option<usize> {
        let wanted = self.identity(item, is_map);
        list.iter().position(|v| self.identity(v, is_map) == wanted)
    }

    /// Checks that the items of a patch are in the order that it requests, and that the order contains all of them.
    pub(super) fn check_order(&self, patch: &[Value], order: &[Value]) -> Result<()> {
        if patch.is_empty() || order.is_empty() {
            return Ok(());
        }
        let mut wanted = Vec::with_capacity(patch.len());
        for item in patch {
            if self.key.is_some() {
                let map = item.as_object().ok_or_else(|| not_a_map(item))?;
                if map.contains_key(DIRECTIVE) {
                    continue;
                }
            }
            wanted.push(item);
        }
        let mut rest = wanted.iter().peekable();
        for context in order {
            let Some(next) = rest.peek() else {
                break;
            };
            let same = match self.key {
                None => **next == context,
                Some(key) => merge_key(next, key)? == merge_key(context, key)?,
            };
            if same {
                rest.next();
            }
        }
        if rest.peek().is_some() {
            return Err(Status::unnamed(format!(
                "The order in patch list:\n{}\n doesn't match $setElementOrder list:\n{}\n",
                golang::plain(&Value::Array(patch.to_vec())),
                golang::plain(&Value::Array(order.to_vec()))
            )));
        }
        Ok(())
    }
}

fn not_a_map(item: &Value) -> Status {
    expected("map[string]interface {}", item)
}

fn no_merge_key(map: &Map<String, Value>, key: &str) -> Status {
    Status::unnamed(format!(
        "map: {} does not contain declared merge key: {key}",
        golang::plain(&Value::Object(map.clone()))
    ))
}

fn merge_key<'v>(item: &'v Value, key: &str) -> Result<&'v Value> {
    let map = item.as_object().ok_or_else(|| not_a_map(item))?;
    map.get(key).ok_or_else(|| no_merge_key(map, key))
}

/// Returns whether the items of both lists are objects. All items must have the same type, and must not be lists.
pub(super) fn of_maps(a: &[Value], b: &[Value]) -> Result<bool> {
    let mut items = a.iter().chain(b);
    let Some(first) = items.next() else {
        return Err(Status::unnamed("no elements in any of the given slices"));
    };
    if first.is_array() {
        return Err(Status::unprocessable());
    }
    if items.any(|v| golang::type_name(v) != golang::type_name(first)) {
        let both = Value::Array(vec![Value::Array(a.to_vec()), Value::Array(b.to_vec())]);
        let message = format!("list element types are not identical: {}", golang::plain(&both));
        return Err(Status::unnamed(message));
    }
    Ok(first.is_object())
}

/// Merges `patch` into `original`, or removes its items if `deletes`.
pub(super) fn merge_lists(
    item: TypeContext<'_>,
    rule: ListRule<'_>,
    original: Vec<Value>,
    patch: &[Value],
    deletes: bool,
) -> Result<Vec<Value>> {
    if original.is_empty() && patch.is_empty() {
        return Ok(original);
    }
    if !of_maps(&original, patch)? {
        if deletes {
            return Ok(original.into_iter().filter(|v| !patch.contains(v)).collect());
        }
        let mut merged: Vec<Value> = Vec::with_capacity(original.len() + patch.len());
        for value in original.iter().chain(patch) {
            if !merged.contains(value) {
                merged.push(value.clone());
            }
        }
        return put_in_order(ListRule { key: None, ..rule }, merged, patch, &original, false);
    }
    let Some(key) = rule.key else {
        return Err(Status::unnamed("cannot merge lists without merge key for struct"));
    };
    let (original, patch) = apply_directives(original, patch, key)?;
    let mut merged = original.clone();
    for new in &patch {
        let wanted = new.get(key).ok_or_else(|| no_merge_key(new, key))?;
        match merged.iter_mut().find(|old| old.get(key) == Some(wanted)) {
            Some(old) => {
                let map = old.as_object().cloned().unwrap_or_default();
                *old = Value::Object(merge_maps(item, map, new)?);
            }
            None => merged.push(Value::Object(new.clone())),
        }
    }
    let order: Vec<Value> = patch.into_iter().map(Value::Object).collect();
    put_in_order(rule, merged, &order, &original, true)
}

/// Applies the directives among the items of a patch, and returns the rest of both lists.
fn apply_directives(
    mut original: Vec<Value>,
    patch: &[Value],
    key: &str,
) -> Result<(Vec<Value>, Vec<Object>)> {
    let mut plain = Vec::with_capacity(patch.len());
    let mut replaces = false;
    for item in patch {
        let map = item.as_object().ok_or_else(|| not_a_map(item))?;
        match map.get(DIRECTIVE) {
            None => plain.push(map.clone()),
            Some(Value::String(d)) if d == "delete" => {
                let gone = map.get(key).ok_or_else(|| no_merge_key(map, key))?;
                original.retain(|old| old.get(key) != Some(gone));
            }
            Some(Value::String(d)) if d == "replace" => replaces = true,
            Some(Value::String(d)) if d == "merge" => {
                return Err(Status::unnamed(
                    "merging lists cannot yet be specified in the patch",
                ));
            }
            Some(other) => return Err(unknown_directive(other, map)),
        }
    }
    if replaces {
        return Ok((plain.into_iter().map(Value::Object).collect(), Vec::new()));
    }
    Ok((original, plain))
}

/// Sorts the items that are in `order`. Other items keep their order, each before the ordered item that followed it.
pub(super) fn put_in_order(
    rule: ListRule<'_>,
    merged: Vec<Value>,
    order: &[Value],
    former: &[Value],
    is_map: bool,
) -> Result<Vec<Value>> {
    if let (true, Some(key)) = (is_map, rule.key) {
        for item in merged.iter().chain(order) {
            merge_key(item, key)?;
        }
    }
    let (mut wanted, mut others): (Vec<Value>, Vec<Value>) = merged
        .into_iter()
        .partition(|v| rule.position(order, v, is_map).is_some());
    wanted.sort_by_cached_key(|v| rule.position(order, v, is_map));
    others.sort_by_cached_key(|v| rule.position(former, v, is_map));

    let mut out = Vec::with_capacity(wanted.len() + others.len());
    let mut others = others.into_iter().peekable();
    for item in wanted {
        let context = rule.position(former, &item, is_map);
        while let Some(other) = others.peek() {
            let before = match (rule.position(former, other, is_map), context) {
                (Some(other), Some(context)) => other < context,
                _ => false,
            };
            if !before {
                break;
            }
            out.extend(others.next());
        }
        out.push(item);
    }
    out.extend(others);
    Ok(out)
}
