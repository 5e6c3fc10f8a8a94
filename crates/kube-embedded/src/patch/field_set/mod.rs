//! Sets of fields, as recorded in `managedFields`.
//!
//! A [`FieldSet`] is a tree. A field and its nested fields are members independently: the owner of an item of a list
//! need not own its fields, and the owner of a field need not own the item.

mod element;
mod fields_v1;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

pub(crate) use self::element::PathElement;
pub(super) use self::element::equal as equal_values;

/// A set of fields of an object.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct FieldSet {
    members: BTreeSet<PathElement>,
    children: BTreeMap<PathElement, FieldSet>,
}

impl FieldSet {
    /// Creates a set of fields, each given by the names in its path.
    pub(crate) fn of_names(paths: &[&[&str]]) -> FieldSet {
        let mut set = FieldSet::default();
        for path in paths {
            let path: Vec<PathElement> = path.iter().map(|n| PathElement::Field((*n).to_owned())).collect();
            set.insert(&path);
        }
        set
    }

    /// Adds the field at `path`, without its parents. The whole object, an empty path, cannot be a member.
    pub(crate) fn insert(&mut self, path: &[PathElement]) {
        let Some((last, parents)) = path.split_last() else {
            return;
        };
        let mut at = self;
        for parent in parents {
            at = at.children.entry(parent.clone()).or_default();
        }
        at.members.insert(last.clone());
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.members.is_empty() && self.children.values().all(FieldSet::is_empty)
    }

    /// Returns whether the field at `path` is in the set.
    pub(crate) fn has(&self, path: &[PathElement]) -> bool {
        match path {
            [] => false,
            [last] => self.has_member(last),
            [first, rest @ ..] => self.below(first).is_some_and(|below| below.has(rest)),
        }
    }

    pub(super) fn has_member(&self, element: &PathElement) -> bool {
        self.members.contains(element)
    }

    /// Returns the fields below `element`.
    pub(super) fn below(&self, element: &PathElement) -> Option<&FieldSet> {
        self.children.get(element)
    }

    pub(super) fn children(&self) -> impl Iterator<Item = (&PathElement, &FieldSet)> {
        self.children.iter()
    }

    pub(super) fn with_children(&self, children: BTreeMap<PathElement, FieldSet>) -> FieldSet {
        FieldSet {
            members: self.members.clone(),
            children,
        }
    }

    pub(super) fn add_member(&mut self, element: PathElement) {
        self.members.insert(element);
    }

    pub(crate) fn union(&self, other: &FieldSet) -> FieldSet {
        let mut out = self.clone();
        out.merge(other);
        out
    }

    fn merge(&mut self, other: &FieldSet) {
        self.members.extend(other.members.iter().cloned());
        for (element, below) in &other.children {
            self.children.entry(element.clone()).or_default().merge(below);
        }
    }

    pub(crate) fn intersection(&self, other: &FieldSet) -> FieldSet {
        FieldSet {
            members: self.members.intersection(&other.members).cloned().collect(),
            children: self
                .shared_children(other)
                .map(|(element, a, b)| (element.clone(), a.intersection(b)))
                .filter(|(_, below)| !below.is_empty())
                .collect(),
        }
    }

    fn shared_children<'a>(
        &'a self,
        other: &'a FieldSet,
    ) -> impl Iterator<Item = (&'a PathElement, &'a FieldSet, &'a FieldSet)> {
        let both = |(element, below)| Some((element, below, other.children.get(element)?));
        self.children.iter().filter_map(both)
    }

    /// Removes the members of `other`, but not their nested fields.
    pub(crate) fn difference(&self, other: &FieldSet) -> FieldSet {
        FieldSet {
            members: self.members.difference(&other.members).cloned().collect(),
            children: self.children_without(other, FieldSet::difference, false),
        }
    }

    /// Removes the members of `other` and their nested fields.
    pub(crate) fn recursive_difference(&self, other: &FieldSet) -> FieldSet {
        FieldSet {
            members: self.members.difference(&other.members).cloned().collect(),
            children: self.children_without(other, FieldSet::recursive_difference, true),
        }
    }

    fn children_without(
        &self,
        other: &FieldSet,
        minus: impl Fn(&FieldSet, &FieldSet) -> FieldSet,
        recursive: bool,
    ) -> BTreeMap<PathElement, FieldSet> {
        let mut out = BTreeMap::new();
        for (element, below) in &self.children {
            if recursive && other.members.contains(element) {
                continue;
            }
            let left = match other.children.get(element) {
                Some(taken) => minus(below, taken),
                None => below.clone(),
            };
            if !left.is_empty() {
                out.insert(element.clone(), left);
            }
        }
        out
    }

    /// Returns the paths of all members, those of each level before nested ones.
    pub(crate) fn paths(&self) -> Vec<Vec<PathElement>> {
        let mut out = Vec::new();
        self.collect_paths(&mut Vec::new(), &mut out);
        out
    }

    fn collect_paths(&self, prefix: &mut Vec<PathElement>, out: &mut Vec<Vec<PathElement>>) {
        for element in &self.members {
            let mut path = prefix.clone();
            path.push(element.clone());
            out.push(path);
        }
        for (element, below) in &self.children {
            prefix.push(element.clone());
            below.collect_paths(prefix, out);
            prefix.pop();
        }
    }
}

/// Formats a path for messages, for example `.spec.containers[name="web"].image`.
pub(crate) fn path_text(path: &[PathElement]) -> String {
    path.iter().map(ToString::to_string).collect()
}
