//! Which fields a value mentions: what its applier comes to own.

use serde_json::{Map, Value};

use super::{Atom, FieldSet, ListKind, MapAtom, PathElement, Site, item_element};

/// The leaves of a value, the items of its lists and the keys of its maps. Lists that repeat an item own it as a whole.
pub(in crate::patch) fn field_set(site: Site<'_>, value: &Value) -> FieldSet {
    mentioned(site, value).1
}

/// Whether a value is a leaf, and what it mentions below.
fn mentioned(site: Site<'_>, value: &Value) -> (bool, FieldSet) {
    match (site.atom(Some(value)), value) {
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
        let (is_leaf, below) = mentioned(map.site(name), value);
        let is_empty = value.is_null() || value.as_object().is_some_and(Map::is_empty);
        let is_member = is_leaf || is_empty || map.named(name).is_none();
        set.push(PathElement::Field(name.clone()), is_member, below);
    }
    set
}

fn of_items(site: Site<'_>, kind: &ListKind, items: &[Value]) -> FieldSet {
    let identify = |item| Some((item_element(&site, kind, item).ok()?, item));
    let mut items: Vec<(PathElement, &Value)> = items.iter().filter_map(identify).collect();
    items.sort_by(|(a, _), (b, _)| a.cmp(b));
    let mut set = FieldSet::default();
    for same in items.chunk_by(|(a, _), (b, _)| a == b) {
        let below = match same {
            [(_, item)] => mentioned(site, item).1,
            _ => FieldSet::default(),
        };
        if let Some((element, _)) = same.first() {
            set.push(element.clone(), true, below);
        }
    }
    set
}
