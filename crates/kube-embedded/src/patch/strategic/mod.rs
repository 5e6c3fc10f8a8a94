//! Strategic merge patch: a merge patch that knows from the types which lists merge, and by which key.
//!
//! Directives inside the patch say what plain JSON cannot: `$patch: replace|delete`, `$retainKeys`,
//! `$setElementOrder/LIST` and `$deleteFromPrimitiveList/LIST`.

mod lists;

use serde_json::{Map, Value};

use self::lists::{ListRule, merge_lists, put_in_order};
use crate::golang;
use crate::golang::json_type_name;
use crate::schema::{Field, Resolved, Type, Types};
use crate::status::{Result, Status};

const DIRECTIVE: &str = "$patch";
const RETAIN_KEYS: &str = "$retainKeys";
const SET_ORDER: &str = "$setElementOrder";
const DELETE_FROM_LIST: &str = "$deleteFromPrimitiveList";

/// Applies a strategic merge patch to an object of type `ty`.
pub(crate) fn apply(types: &Types, ty: &Type, doc: &Value, patch: &Value) -> Result<Value> {
    let empty = Map::new();
    let patch = match patch {
        Value::Object(patch) => patch,
        Value::Null => &empty,
        other => {
            return Err(Status::bad_request(format!(
                "json: cannot unmarshal {} into Go value of type map[string]interface {{}}",
                json_type_name(other)
            )));
        }
    };
    let doc = doc.as_object().cloned().unwrap_or_default();
    merge_maps(Place { types, ty: Some(ty) }, doc, patch).map(Value::Object)
}

/// Where in the types the merge stands. Below what the types do not describe, there is nothing to look up.
#[derive(Clone, Copy)]
struct Place<'a> {
    types: &'a Types,
    ty: Option<&'a Type>,
}

impl<'a> Place<'a> {
    fn at(self, ty: &'a Type) -> Place<'a> {
        Place {
            types: self.types,
            ty: Some(ty),
        }
    }

    /// The field under which two objects or two lists meet.
    fn field(self, name: &str) -> Result<&'a Field> {
        let Some(ty) = self.ty else {
            return Err(not_a_struct("interface"));
        };
        let (structure, type_name) = match (self.types.resolve(ty), ty) {
            (Resolved::Struct(s), Type::Ref(id)) => (Some(s), self.types.get(*id).name.as_str()),
            (Resolved::Scalar(Type::Any), Type::Ref(id)) => (None, self.types.get(*id).name.as_str()),
            (Resolved::Map(_), _) => return Err(not_a_struct("map")),
            (Resolved::List(_), _) => return Err(not_a_struct("slice")),
            _ => return Err(not_a_struct("string")),
        };
        structure.and_then(|s| s.field(name)).ok_or_else(|| {
            let short = type_name.rsplit('.').next().unwrap_or(type_name);
            Status::unnamed(format!(
                "unable to find api field in struct {short} for the json field {}",
                golang::quoted(name)
            ))
        })
    }

    /// The list in this field: its items' place, and how it merges.
    fn list(self, name: &str) -> Result<(Place<'a>, ListRule<'a>)> {
        let field = self.field(name)?;
        let item = match self.types.resolve(&field.ty) {
            Resolved::List(item) => self.at(item),
            _ => Place {
                types: self.types,
                ty: None,
            },
        };
        let rule = ListRule {
            merges: field.patch_merge,
            key: field.merge_key.as_deref(),
        };
        Ok((item, rule))
    }
}

fn not_a_struct(kind: &str) -> Status {
    Status::unnamed(format!(
        "merging an object in json but data type is not struct, instead is: {kind}"
    ))
}

fn expected(what: &str, got: &Value) -> Status {
    // Go prints a nil type with `%s`.
    let got = match got {
        Value::Null => "%!s(<nil>)",
        other => golang::type_name(other),
    };
    Status::unnamed(format!("expected a {what}, but received a {got}"))
}

fn unknown_directive(directive: &Value, patch: &Map<String, Value>) -> Status {
    Status::unnamed(format!(
        "unknown patch type: {} in map: {}",
        golang::plain(directive),
        golang::plain(&Value::Object(patch.clone()))
    ))
}

fn merge_maps(
    place: Place<'_>,
    mut original: Map<String, Value>,
    patch: &Map<String, Value>,
) -> Result<Map<String, Value>> {
    match patch.get(DIRECTIVE) {
        None => {}
        Some(Value::String(d)) if d == "replace" => {
            let mut replacement = patch.clone();
            replacement.remove(DIRECTIVE);
            return Ok(replacement);
        }
        Some(Value::String(d)) if d == "delete" => return Ok(Map::new()),
        Some(other) => return Err(unknown_directive(other, patch)),
    }
    retain_keys(&mut original, patch)?;
    let ordered = merge_ordered_lists(place, &mut original, patch)?;
    let is_done = |key: &str| key == RETAIN_KEYS || key.starts_with(SET_ORDER) || ordered.contains(&key);
    let entries = patch.iter().filter(|(key, _)| !is_done(key));
    // What is to be deleted may also be in the list of the same patch, so it comes last.
    let (deletions, entries): (Vec<_>, Vec<_>) =
        entries.partition(|(key, _)| key.starts_with(DELETE_FROM_LIST));
    for (key, value) in entries {
        merge_entry(place, &mut original, key, value, false)?;
    }
    for (key, value) in deletions {
        let name = key
            .strip_prefix(DELETE_FROM_LIST)
            .and_then(|rest| rest.strip_prefix('/'));
        let name = name.ok_or_else(|| Status::bad_request("invalid patch format of primitive list"))?;
        merge_entry(place, &mut original, name, value, true)?;
    }
    Ok(original)
}

/// Merges one value of a patch, or takes the items of a list away if `deletes`.
fn merge_entry(
    place: Place<'_>,
    original: &mut Map<String, Value>,
    name: &str,
    value: &Value,
    deletes: bool,
) -> Result<()> {
    if value.is_null() {
        original.remove(name);
        return Ok(());
    }
    let merged = match (original.remove(name), value) {
        (Some(Value::Object(old)), Value::Object(new)) => {
            let field = place.field(name)?;
            if field.patch_replace {
                Some(value.clone())
            } else {
                Some(Value::Object(merge_maps(place.at(&field.ty), old, new)?))
            }
        }
        (Some(Value::Array(old)), Value::Array(new)) => {
            let (item, rule) = place.list(name)?;
            if deletes || rule.merges {
                Some(Value::Array(merge_lists(item, rule, old, new, deletes)?))
            } else {
                Some(value.clone())
            }
        }
        (old, _) if deletes => old,
        _ => settle(value, true),
    };
    if let Some(merged) = merged {
        original.insert(name.to_owned(), merged);
    }
    Ok(())
}

/// What a patch means where there is nothing to merge it with: no directives, and no `null` in any object.
/// `None` if the value itself is a directive.
fn settle(value: &Value, without_nulls: bool) -> Option<Value> {
    match value {
        Value::Object(map) if map.contains_key(DIRECTIVE) => None,
        Value::Object(map) => Some(Value::Object(
            map.iter()
                .filter(|(_, v)| !(without_nulls && v.is_null()))
                .filter_map(|(k, v)| Some((k.clone(), settle(v, without_nulls)?)))
                .collect(),
        )),
        Value::Array(items) => Some(items.iter().filter_map(|v| settle(v, without_nulls)).collect()),
        scalar => Some(scalar.clone()),
    }
}

/// `$retainKeys` lists every key that may remain; the patch itself must not go beyond it.
fn retain_keys(original: &mut Map<String, Value>, patch: &Map<String, Value>) -> Result<()> {
    let Some(keys) = patch.get(RETAIN_KEYS) else {
        return Ok(());
    };
    let malformed = || Status::bad_request("invalid patch format of retainKeys");
    let keys = keys.as_array().ok_or_else(malformed)?;
    let retained = |key: &str| keys.iter().any(|k| k == key);
    let stray = patch.iter().any(|(key, value)| {
        key != RETAIN_KEYS
            && !value.is_null()
            && !key.starts_with(DELETE_FROM_LIST)
            && !key.starts_with(SET_ORDER)
            && !retained(key)
    });
    if stray {
        return Err(malformed());
    }
    original.retain(|key, _| retained(key));
    Ok(())
}

/// Merges each list that comes with a `$setElementOrder`, and returns the names of those that are done.
fn merge_ordered_lists<'p>(
    place: Place<'_>,
    original: &mut Map<String, Value>,
    patch: &'p Map<String, Value>,
) -> Result<Vec<&'p str>> {
    let mut done = Vec::new();
    for (key, order) in patch {
        let Some(rest) = key.strip_prefix(SET_ORDER) else {
            continue;
        };
        let Value::Array(order) = order else {
            return Err(expected("[]interface {}", order));
        };
        let name = rest
            .strip_prefix('/')
            .ok_or_else(|| Status::bad_request("invalid patch format of setElementOrder list"))?;
        let as_list = |value: Option<&Value>| match value {
            None => Ok(None),
            Some(Value::Array(items)) => Ok(Some(items.clone())),
            Some(other) => Err(expected("[]interface {}", other)),
        };
        let old = as_list(original.get(name))?;
        let new = as_list(patch.get(name))?;
        let (item, rule) = place.list(name)?;
        let empty = Vec::new();
        rule.check_order(new.as_ref().unwrap_or(&empty), order)?;
        let merged = match (&old, &new) {
            (None, None) => continue,
            (Some(old), None) => old.clone(),
            (None, Some(new)) => new.iter().filter_map(|v| settle(v, false)).collect(),
            (Some(old), Some(new)) if rule.merges => merge_lists(item, rule, old.clone(), new, false)?,
            (Some(_), Some(new)) => new.clone(),
        };
        let old = old.unwrap_or_default();
        let is_map = lists::of_maps(&old, new.as_ref().unwrap_or(&empty))?;
        let ordered = put_in_order(rule, merged, order, &old, is_map)?;
        original.insert(name.to_owned(), Value::Array(ordered));
        done.push(name);
    }
    Ok(done)
}
