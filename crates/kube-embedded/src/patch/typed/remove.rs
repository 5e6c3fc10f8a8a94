//! Removes fields from a value.

use serde_json::{Map, Value};

use super::{Atom, FieldSet, ListKind, MapAtom, PathElement, SchemaNode, item_element};

/// The handling of an object or list that has become empty.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::patch) enum EmptyContainer {
    /// Remove it.
    Removed,
    /// Replace it by `null`, so that it keeps its owner.
    Null,
}

/// Returns `value` without the fields in `gone`.
pub(in crate::patch) fn remove(
    node: SchemaNode<'_>,
    value: &Value,
    gone: &FieldSet,
    emptied: EmptyContainer,
) -> Value {
    let removal = Removal { emptied };
    removal.value(node, value, gone).unwrap_or_default()
}

struct Removal {
    emptied: EmptyContainer,
}

impl Removal {
    /// Returns `None` if nothing is left.
    fn value(&self, node: SchemaNode<'_>, value: &Value, gone: &FieldSet) -> Option<Value> {
        let left = match (node.atom(Some(value)), value) {
            (Atom::Scalar(_), scalar) => return Some(scalar.clone()),
            (Atom::List(item, kind), Value::Array(list)) if *kind != ListKind::Atomic => {
                let left = self.items(item, kind, list, gone);
                (!left.is_empty()).then_some(Value::Array(left))
            }
            (Atom::Map(map), Value::Object(object)) if !map.atomic => {
                let left = self.fields(&map, object, gone);
                (!left.is_empty()).then_some(Value::Object(left))
            }
            _ => None,
        };
        match self.emptied {
            EmptyContainer::Removed => left,
            EmptyContainer::Null => Some(left.unwrap_or_default()),
        }
    }

    fn items(&self, node: SchemaNode<'_>, kind: &ListKind, list: &[Value], gone: &FieldSet) -> Vec<Value> {
        let keep = |item: &Value| {
            let Ok(element) = item_element(&node, kind, item) else {
                return Some(item.clone());
            };
            if gone.has_member(&element) {
                return None;
            }
            match gone.below(&element) {
                Some(below) => self.value(node, item, below).filter(|v| !v.is_null()),
                None => Some(item.clone()),
            }
        };
        list.iter().filter_map(keep).collect()
    }

    fn fields(&self, map: &MapAtom<'_>, object: &Map<String, Value>, gone: &FieldSet) -> Map<String, Value> {
        let keep = |(name, value): (&String, &Value)| {
            let element = PathElement::Field(name.clone());
            if gone.has_member(&element) {
                return None;
            }
            let left = match gone.below(&element) {
                Some(below) => self.value(map.child(name), value, below)?,
                None => value.clone(),
            };
            Some((name.clone(), left))
        };
        object.iter().filter_map(keep).collect()
    }
}
