//! The fields in a value, which its applier owns.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{Atom, FieldSet, ListKind, PathElement, SchemaNode, item_element};

/// Returns the leaves of a value, the items of its lists and the keys of its maps. Duplicate items are owned as a
/// whole.
pub(in crate::patch) fn field_set(node: SchemaNode<'_>, value: &Value) -> FieldSet {
    let mut set = FieldSet::default();
    walk(node, value, &mut Vec::new(), &mut set);
    set
}

fn walk(node: SchemaNode<'_>, value: &Value, path: &mut Vec<PathElement>, set: &mut FieldSet) {
    match node.atom(Some(value)) {
        Atom::Scalar(_) | Atom::List(_, ListKind::Atomic) => set.insert(path),
        Atom::List(item, kind) => {
            if let Value::Array(items) = value {
                walk_items(item, kind, items, path, set);
            }
        }
        Atom::Map(atom) if atom.atomic => set.insert(path),
        Atom::Map(atom) => {
            for (name, below) in value.as_object().into_iter().flatten() {
                path.push(PathElement::Field(name.clone()));
                walk(atom.child(name), below, path, set);
                let empty = below.is_null() || below.as_object().is_some_and(serde_json::Map::is_empty);
                if empty || atom.named(name).is_none() {
                    set.insert(path);
                }
                path.pop();
            }
        }
    }
}

fn walk_items(
    node: SchemaNode<'_>,
    kind: &ListKind,
    items: &[Value],
    path: &mut Vec<PathElement>,
    set: &mut FieldSet,
) {
    let elements: Vec<(PathElement, &Value)> = items
        .iter()
        .filter_map(|item| Some((item_element(&node, kind, item).ok()?, item)))
        .collect();
    let mut seen = BTreeSet::new();
    let repeated: BTreeSet<&PathElement> = elements
        .iter()
        .map(|(e, _)| e)
        .filter(|e| !seen.insert(*e))
        .collect();
    for (element, item) in &elements {
        path.push(element.clone());
        if !repeated.contains(element) {
            walk(node, item, path, set);
        }
        set.insert(path);
        path.pop();
    }
}
