//! Takes fields out of a value.

use serde_json::{Map, Value};

use super::{Atom, FieldSet, ListKind, MapAtom, PathElement, Site, item_element};

/// What becomes of an object or list when all that it held is taken out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::patch) enum Emptied {
    /// It goes as well.
    Gone,
    /// It stays as `null`, and with it who owns it.
    Null,
}

/// `value` without the fields in `gone`.
pub(in crate::patch) fn remove(site: Site<'_>, value: &Value, gone: &FieldSet, emptied: Emptied) -> Value {
    let removal = Removal { emptied };
    removal.value(site, value, gone).unwrap_or_default()
}

struct Removal {
    emptied: Emptied,
}

impl Removal {
    /// `None` if nothing is left.
    fn value(&self, site: Site<'_>, value: &Value, gone: &FieldSet) -> Option<Value> {
        let left = match (site.atom(Some(value)), value) {
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
            Emptied::Gone => left,
            Emptied::Null => Some(left.unwrap_or_default()),
        }
    }

    fn items(&self, site: Site<'_>, kind: &ListKind, list: &[Value], gone: &FieldSet) -> Vec<Value> {
        let keep = |item: &Value| {
            let Ok(element) = item_element(&site, kind, item) else {
                return Some(item.clone());
            };
            if gone.has_member(&element) {
                return None;
            }
            match gone.below(&element) {
                Some(below) => self.value(site, item, below).filter(|v| !v.is_null()),
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
                Some(below) => self.value(map.site(name), value, below)?,
                None => value.clone(),
            };
            Some((name.clone(), left))
        };
        object.iter().filter_map(keep).collect()
    }
}
