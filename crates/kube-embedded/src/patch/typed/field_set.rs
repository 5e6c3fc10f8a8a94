//! The fields in a value, which its applier owns.

use serde_json::{Map, Value};

use super::{Atom, FieldSet, ListKind, MapAtom, PathElement, SchemaNode, item_element};

/// Returns the leaves of a value, the items of its lists and the keys of its maps. Duplicate items are owned as a
/// whole.
pub(in crate::patch) fn field_set(node: SchemaNode<'_>, value: &Value) -> FieldSet {
    fields_in(node, value).1
}

/// Returns whether a value is a leaf, and its nested fields.
fn fields_in(node: SchemaNode<'_>, value: &Value) -> (bool, FieldSet) {
    match (node.atom(Some(value)), value) {
        (Atom::Scalar(_) | Atom::List(_, ListKind::Atomic), _) => (true, FieldSet::default()),
        (Atom::Map(map), _) if map.atomic => (true, FieldSet::default()),
        (Atom::List(item, kind), Value::Array(items)) => (false, of_items(item, kind, items)),
        (Atom::Map(map), Value::Object(fields)) => (false, of_fields(&map, fields)),
        _ => (false, FieldSet::default()),
    }
}

fn of_fields(map: &MapAtom<'_>, fields: &Map<String, Value>) -> FieldSet {
    let mut fields: Vec<(&String, &Value)> = fields.iter().collect();
    fields.sort_by_key(|(name, _)| *name);
    let mut set = FieldSet::default();
    for (name, value) in fields {
        let (is_leaf, below) = fields_in(map.child(name), value);
        let is_empty = value.is_null() || value.as_object().is_some_and(Map::is_empty);
        let is_member = is_leaf || is_empty || map.named(name).is_none();
        set.push(PathElement::Field(name.clone()), is_member, below);
    }
    set
}

fn of_items(node: SchemaNode<'_>, kind: &ListKind, items: &[Value]) -> FieldSet {
    let identify = |item| Some((item_element(&node, kind, item).ok()?, item));
    let mut items: Vec<(PathElement, &Value)> = items.iter().filter_map(identify).collect();
    items.sort_by(|(a, _), (b, _)| a.cmp(b));
    let mut set = FieldSet::default();
    for same in items.chunk_by(|(a, _), (b, _)| a == b) {
        let below = match same {
            [(_, item)] => fields_in(node, item).1,
            _ => FieldSet::default(),
        };
        if let Some((element, _)) = same.first() {
            set.push(element.clone(), true, below);
        }
    }
    set
}
