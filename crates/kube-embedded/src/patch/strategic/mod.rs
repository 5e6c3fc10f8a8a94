//! Strategic merge patch: a merge patch that merges lists by key, as the types define.
//!
//! Directives in the patch: `$patch: replace|delete`, `$retainKeys`, `$setElementOrder/LIST` and
//! `$deleteFromPrimitiveList/LIST`.

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
    merge_maps(TypeContext { types, ty: Some(ty) }, doc, patch).map(Value::Object)
}

/// The type of the current value; `None` below values without a type.
#[derive(Clone, Copy)]
struct TypeContext<'a> {
    types: &'a Types,
    ty: Option<&'a Type>,
}

impl<'a> TypeContext<'a> {
    fn at(self, ty: &'a Type) -> TypeContext<'a> {
        TypeContext {
            types: self.types,
            ty: Some(ty),
        }
    }

    /// Returns the field with this name, in which two objects or lists are merged.
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

    /// Returns the type of a list's items, and how the list is merged.
    fn list(self, name: &str) -> Result<(TypeContext<'a>, ListRule<'a>)> {
        let field = self.field(name)?;
        let item = match self.types.resolve(&field.ty) {
            Resolved::List(item) => self.at(item),
            _ => TypeContext {
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
    // Go formats a nil type with `%s`.
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
    context: TypeContext<'_>,
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
    let ordered = merge_ordered_lists(context, &mut original, patch)?;
    let is_done = |key: &str| key == RETAIN_KEYS || key.starts_with(SET_ORDER) || ordered.contains(&key);
    let entries = patch.iter().filter(|(key, _)| !is_done(key));
    // Deletions come last, because the same patch may also contain the items in its list.
    let (deletions, entries): (Vec<_>, Vec<_>) =
        entries.partition(|(key, _)| key.starts_with(DELETE_FROM_LIST));
    for (key, value) in entries {
        merge_entry(context, &mut original, key, value, false)?;
    }
    for (key, value) in deletions {
        let name = key
            .strip_prefix(DELETE_FROM_LIST)
            .and_then(|rest| rest.strip_prefix('/'));
        let name = name.ok_or_else(|| Status::bad_request("invalid patch format of primitive list"))?;
        merge_entry(context, &mut original, name, value, true)?;
    }
    Ok(original)
}

/// Merges one value of a patch, or removes items of a list if `deletes`.
fn merge_entry(
    context: TypeContext<'_>,
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
            let field = context.field(name)?;
            if field.patch_replace {
                Some(value.clone())
            } else {
                Some(Value::Object(merge_maps(context.at(&field.ty), old, new)?))
            }
        }
        (Some(Value::Array(old)), Value::Array(new)) => {
            let (item, rule) = context.list(name)?;
            if deletes || rule.merges {
                Some(Value::Array(merge_lists(item, rule, old, new, deletes)?))
            } else {
                Some(value.clone())
            }
        }
        (old, _) if deletes => old,
        _ => without_directives(value, true),
    };
    if let Some(merged) = merged {
        original.insert(name.to_owned(), merged);
    }
    Ok(())
}

/// Returns the value of a patch without directives, and without `null` in objects if `without_nulls`. Returns `None` if
/// the value is a directive.
fn without_directives(value: &Value, without_nulls: bool) -> Option<Value> {
    match value {
        Value::Object(map) if map.contains_key(DIRECTIVE) => None,
        Value::Object(map) => Some(Value::Object(
            map.iter()
                .filter(|(_, v)| !(without_nulls && v.is_null()))
                .filter_map(|(k, v)| Some((k.clone(), without_directives(v, without_nulls)?)))
                .collect(),
        )),
        Value::Array(items) => Some(
            items
                .iter()
                .filter_map(|v| without_directives(v, without_nulls))
                .collect(),
        ),
        scalar => Some(scalar.clone()),
    }
}

/// Removes the keys that are not in `$retainKeys`. The patch must not contain other keys.
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

/// Merges the lists with a `$setElementOrder`, and returns their names.
fn merge_ordered_lists<'p>(
    context: TypeContext<'_>,
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
        let (item, rule) = context.list(name)?;
        let empty = Vec::new();
        rule.check_order(new.as_ref().unwrap_or(&empty), order)?;
        let merged = match (&old, &new) {
            (None, None) => continue,
            (Some(old), None) => old.clone(),
            (None, Some(new)) => new.iter().filter_map(|v| without_directives(v, false)).collect(),
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
