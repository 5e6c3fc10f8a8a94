//! Compares two values.

use serde_json::{Map, Value};

use super::super::field_set::equal_values;
use super::{Atom, FieldSet, ListKind, MapAtom, PathElement, SchemaNode, fields_of, item_element, items_of};

/// The fields that differ between two values.
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

    /// Appends the difference at an element, which is greater than all others.
    fn push(&mut self, element: PathElement, Difference { here, below }: Difference) {
        if here.removed || !below.removed.is_empty() {
            self.removed.push(element.clone(), here.removed, below.removed);
        }
        if here.modified || !below.modified.is_empty() {
            self.modified.push(element.clone(), here.modified, below.modified);
        }
        self.added.push(element, here.added, below.added);
    }
}

/// Compares two values of one type.
pub(in crate::patch) fn compare(node: SchemaNode<'_>, old: &Value, new: &Value) -> Comparison {
    values(node, Some(old), Some(new)).below
}

/// The difference between two values: of the values themselves, and of their nested fields.
#[derive(Default)]
struct Difference {
    here: Changed,
    below: Comparison,
}

#[derive(Default)]
struct Changed {
    removed: bool,
    modified: bool,
    added: bool,
}

fn values(node: SchemaNode<'_>, old: Option<&Value>, new: Option<&Value>) -> Difference {
    let mut found = Difference::default();
    let is_leaf = match (old, new) {
        (Some(_), None) => found.atom(&node.atom(old), old, new),
        (Some(_), Some(_)) => {
            let (before, after) = (node.atom(old), node.atom(new));
            if !before.is_like(&after) {
                // At least one of the two is compared as a whole.
                found.atom(&before, old, new);
            }
            found.atom(&after, old, new)
        }
        (None, _) => found.atom(&node.atom(new), old, new),
    };
    if !is_leaf {
        found.here.added |= old.is_none();
        found.here.removed |= old.is_some() && new.is_none();
    }
    found
}

impl Difference {
    /// Returns whether the values were compared as a whole.
    fn atom(&mut self, atom: &Atom<'_>, old: Option<&Value>, new: Option<&Value>) -> bool {
        match atom {
            Atom::Scalar(_) | Atom::List(_, ListKind::Atomic) => self.leaf(old, new),
            Atom::List(item, kind) => {
                let (before, after) = (items_of(old), items_of(new));
                if before.is_empty() && after.is_empty() {
                    return self.leaf(old, new);
                }
                self.below = items_between(*item, kind, before, after);
                false
            }
            Atom::Map(map) => {
                let (before, after) = (fields_of(old), fields_of(new));
                if map.atomic || (before.is_none() && after.is_none()) {
                    return self.leaf(old, new);
                }
                self.below = fields_between(map, before, after);
                false
            }
        }
    }

    fn leaf(&mut self, old: Option<&Value>, new: Option<&Value>) -> bool {
        match (old, new) {
            (None, _) => self.here.added = true,
            (_, None) => self.here.removed = true,
            (Some(old), Some(new)) => self.here.modified |= !equal_values(old, new),
        }
        true
    }
}

fn fields_between(
    map: &MapAtom<'_>,
    old: Option<&Map<String, Value>>,
    new: Option<&Map<String, Value>>,
) -> Comparison {
    let before = old.into_iter().flatten();
    let after = new.into_iter().flatten();
    let before = before.map(|(name, old)| (name, Some(old), new.and_then(|new| new.get(name))));
    let after = after
        .filter(|(name, _)| old.is_none_or(|old| !old.contains_key(*name)))
        .map(|(name, new)| (name, None, Some(new)));
    let mut fields: Vec<_> = before.chain(after).collect();
    fields.sort_by_key(|(name, ..)| *name);
    let mut found = Comparison::default();
    for (name, old, new) in fields {
        found.push(
            PathElement::Field(name.clone()),
            values(map.child(name), old, new),
        );
    }
    found
}

/// The element of an item, whether it is in the new list, and the item.
type Identified<'a> = (PathElement, bool, &'a Value);

fn first_of<'a>(items: &[Identified<'a>]) -> Option<&'a Value> {
    items.first().map(|(.., item)| *item)
}

/// Matches items by key. Duplicate items are compared as a whole.
fn items_between(node: SchemaNode<'_>, kind: &ListKind, old: &[Value], new: &[Value]) -> Comparison {
    let identify = |(is_new, item)| Some((item_element(&node, kind, item).ok()?, is_new, item));
    let before = old.iter().map(|item| (false, item));
    let after = new.iter().map(|item| (true, item));
    let mut items: Vec<Identified<'_>> = before.chain(after).filter_map(identify).collect();
    // Stable: items of the old list stay before those of the new one.
    items.sort_by(|(a, ..), (b, ..)| a.cmp(b));
    let mut found = Comparison::default();
    for same in items.chunk_by(|(a, ..), (b, ..)| a == b) {
        let (before, after) = same.split_at(same.partition_point(|(_, is_new, _)| !is_new));
        let mut difference = Difference::default();
        match (before, after) {
            ([] | [_], [] | [_]) => difference = values(node, first_of(before), first_of(after)),
            ([_, _, ..], [_, _, ..]) => {
                let is_same = before.len() == after.len()
                    && before
                        .iter()
                        .zip(after)
                        .all(|((.., a), (.., b))| equal_values(a, b));
                difference.here.modified = !is_same;
            }
            ([_, _, ..], rest) => {
                if let Some(one) = first_of(rest) {
                    difference = values(node, None, Some(one));
                }
                difference.here.removed = true;
            }
            (rest, _) => {
                if let Some(one) = first_of(rest) {
                    difference = values(node, Some(one), None);
                }
                difference.here.added = true;
            }
        }
        if let Some((element, ..)) = same.first() {
            found.push(element.clone(), difference);
        }
    }
    found
}
