//! Which fields a value mentions: what its applier comes to own.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{Atom, FieldSet, ListKind, PathElement, Site, item_element};

/// The leaves of a value, the items of its lists and the keys of its maps. Lists that repeat an item own it as a whole.
pub(in crate::patch) fn field_set(site: Site<'_>, value: &Value) -> FieldSet {
    let mut set = FieldSet::default();
    walk(site, value, &mut Vec::new(), &mut set);
    set
}

fn walk(site: Site<'_>, value: &Value, path: &mut Vec<PathElement>, set: &mut FieldSet) {
    match site.atom(Some(value)) {
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
                walk(atom.site(name), below, path, set);
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
    site: Site<'_>,
    kind: &ListKind,
    items: &[Value],
    path: &mut Vec<PathElement>,
    set: &mut FieldSet,
) {
    let elements: Vec<(PathElement, &Value)> = items
        .iter()
        .filter_map(|item| Some((item_element(&site, kind, item).ok()?, item)))
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
            walk(site, item, path, set);
        }
        set.insert(path);
        path.pop();
    }
}
