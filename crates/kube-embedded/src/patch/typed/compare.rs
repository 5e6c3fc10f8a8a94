//! Compares two values.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::super::field_set::equal_values;
use super::{Atom, FieldSet, ListKind, MapAtom, PathElement, SchemaNode, item_element};

/// The fields that differ between two values. No field is in more than one set.
#[derive(Debug, Default)]
pub(in crate::patch) struct Comparison {
    pub(in crate::patch) removed: FieldSet,
    pub(in crate::patch) modified: FieldSet,
    pub(in crate::patch) added: FieldSet,
}

impl Comparison {
    /// Removes these fields and their nested fields.
    pub(in crate::patch) fn without(self, fields: &FieldSet) -> Comparison {
        Comparison {
            removed: self.removed.recursive_difference(fields),
            modified: self.modified.recursive_difference(fields),
            added: self.added.recursive_difference(fields),
        }
    }

    /// Returns the fields that the new value adds or changes.
    pub(in crate::patch) fn set(&self) -> FieldSet {
        self.modified.union(&self.added)
    }
}

/// Compares two values of one type.
pub(in crate::patch) fn compare(node: SchemaNode<'_>, old: &Value, new: &Value) -> Comparison {
    let mut walk = Comparer::default();
    walk.values(node, Some(old), Some(new));
    walk.found
}

#[derive(Default)]
struct Comparer {
    path: Vec<PathElement>,
    found: Comparison,
}

impl Comparer {
    fn values(&mut self, node: SchemaNode<'_>, old: Option<&Value>, new: Option<&Value>) {
        let is_leaf = match (old, new) {
            (Some(_), None) => self.atom(&node.atom(old), old, new),
            (Some(_), Some(_)) => {
                let (before, after) = (node.atom(old), node.atom(new));
                if !before.is_like(&after) {
                    self.atom(&before, old, new);
                }
                self.atom(&after, old, new)
            }
            (None, _) => self.atom(&node.atom(new), old, new),
        };
        if !is_leaf {
            match (old, new) {
                (None, _) => self.found.added.insert(&self.path),
                (_, None) => self.found.removed.insert(&self.path),
                _ => {}
            }
        }
    }

    /// Returns whether the values were compared as a whole.
    fn atom(&mut self, atom: &Atom<'_>, old: Option<&Value>, new: Option<&Value>) -> bool {
        match atom {
            Atom::Scalar(_) | Atom::List(_, ListKind::Atomic) => {
                self.leaf(old, new);
                true
            }
            Atom::List(item, kind) => {
                let items = |v: Option<&Value>| v.and_then(Value::as_array).cloned().unwrap_or_default();
                let (before, after) = (items(old), items(new));
                if before.is_empty() && after.is_empty() {
                    self.leaf(old, new);
                    return true;
                }
                self.items(*item, kind, &before, &after);
                false
            }
            Atom::Map(map) => {
                let is_empty = |v: Option<&Value>| v.and_then(Value::as_object).is_none_or(Map::is_empty);
                if map.atomic || (is_empty(old) && is_empty(new)) {
                    self.leaf(old, new);
                    return true;
                }
                self.fields(map, old, new);
                false
            }
        }
    }

    fn leaf(&mut self, old: Option<&Value>, new: Option<&Value>) {
        match (old, new) {
            (None, _) => self.found.added.insert(&self.path),
            (_, None) => self.found.removed.insert(&self.path),
            (Some(old), Some(new)) if !equal_values(old, new) => self.found.modified.insert(&self.path),
            _ => {}
        }
    }

    fn fields(&mut self, map: &MapAtom<'_>, old: Option<&Value>, new: Option<&Value>) {
        let entries = |v: Option<&'_ Value>| v.and_then(Value::as_object).cloned().unwrap_or_default();
        let (before, after) = (entries(old), entries(new));
        let names: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
        for name in names {
            self.path.push(PathElement::Field(name.clone()));
            self.values(map.child(name), before.get(name), after.get(name));
            self.path.pop();
        }
    }

    /// Matches items by key. Duplicate items are compared as a whole.
    fn items(&mut self, node: SchemaNode<'_>, kind: &ListKind, old: &[Value], new: &[Value]) {
        let mut matched: BTreeMap<PathElement, (Vec<&Value>, Vec<&Value>)> = BTreeMap::new();
        for item in old {
            if let Ok(element) = item_element(&node, kind, item) {
                matched.entry(element).or_default().0.push(item);
            }
        }
        for item in new {
            if let Ok(element) = item_element(&node, kind, item) {
                matched.entry(element).or_default().1.push(item);
            }
        }
        for (element, (before, after)) in matched {
            self.path.push(element);
            match (before.as_slice(), after.as_slice()) {
                ([] | [_], [] | [_]) => self.values(node, before.first().copied(), after.first().copied()),
                ([_, _, ..], [_, _, ..]) => {
                    let same = before.len() == after.len()
                        && before.iter().zip(&after).all(|(a, b)| equal_values(a, b));
                    if !same {
                        self.found.modified.insert(&self.path);
                    }
                }
                ([_, _, ..], rest) => {
                    if let Some(one) = rest.first() {
                        self.values(node, None, Some(one));
                    }
                    self.found.removed.insert(&self.path);
                }
                (rest, _) => {
                    if let Some(one) = rest.first() {
                        self.values(node, Some(one), None);
                    }
                    self.found.added.insert(&self.path);
                }
            }
            self.path.pop();
        }
    }
}
