//! Sets of fields, as recorded in `managedFields`.
//!
//! A [`FieldSet`] is a tree. A field and its nested fields are members independently: the owner of an item of a list
//! need not own its fields, and the owner of a field need not own the item.

mod element;
mod fields_v1;
#[cfg(test)]
mod tests;

pub(crate) use self::element::PathElement;
pub(super) use self::element::equal as equal_values;

/// A set of fields of an object, sorted by element and without duplicates.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct FieldSet(Vec<Node>);

/// An element that is a member of a set, or has nested members.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Node {
    pub(super) element: PathElement,
    pub(super) is_member: bool,
    pub(super) below: FieldSet,
}

impl Node {
    fn is_empty(&self) -> bool {
        !self.is_member && self.below.is_empty()
    }
}

impl FieldSet {
    /// Creates a set of fields, each given by the names in its path.
    pub(crate) fn of_names(paths: &[&[&str]]) -> FieldSet {
        fn of_path(path: &[&str]) -> FieldSet {
            let Some((first, rest)) = path.split_first() else {
                return FieldSet::default();
            };
            FieldSet(vec![Node {
                element: PathElement::Field((*first).to_owned()),
                is_member: rest.is_empty(),
                below: of_path(rest),
            }])
        }
        paths
            .iter()
            .fold(FieldSet::default(), |set, path| set.union(of_path(path)))
    }

    /// Creates a set of nodes. `join` merges the nested fields of duplicate elements.
    fn of_nodes(mut nodes: Vec<Node>, join: fn(FieldSet, FieldSet) -> FieldSet) -> FieldSet {
        nodes.retain(|node| !node.is_empty());
        // Cheap, because the nodes are one or two sorted runs.
        nodes.sort_by(|a, b| a.element.cmp(&b.element));
        nodes.dedup_by(|later, first| {
            let same = later.element == first.element;
            if same {
                first.is_member |= later.is_member;
                first.below = join(std::mem::take(&mut first.below), std::mem::take(&mut later.below));
            }
            same
        });
        FieldSet(nodes)
    }

    /// Appends an element that is greater than all others, if it is a member or has nested members.
    pub(super) fn push(&mut self, element: PathElement, is_member: bool, below: FieldSet) {
        debug_assert!(
            self.0.last().is_none_or(|last| last.element < element),
            "elements are sorted"
        );
        let node = Node {
            element,
            is_member,
            below,
        };
        if !node.is_empty() {
            self.0.push(node);
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns whether the field at `path` is in the set.
    pub(crate) fn has(&self, path: &[PathElement]) -> bool {
        match path {
            [] => false,
            [last] => self.has_member(last),
            [first, rest @ ..] => self.below(first).is_some_and(|below| below.has(rest)),
        }
    }

    fn node(&self, element: &PathElement) -> Option<&Node> {
        let at = self.0.binary_search_by(|node| node.element.cmp(element)).ok()?;
        self.0.get(at)
    }

    pub(super) fn nodes_mut(&mut self) -> impl Iterator<Item = &mut Node> {
        self.0.iter_mut()
    }

    pub(super) fn has_member(&self, element: &PathElement) -> bool {
        self.node(element).is_some_and(|node| node.is_member)
    }

    /// Returns the fields below `element`.
    pub(super) fn below(&self, element: &PathElement) -> Option<&FieldSet> {
        let below = &self.node(element)?.below;
        (!below.is_empty()).then_some(below)
    }

    pub(crate) fn union(mut self, mut other: FieldSet) -> FieldSet {
        if self.is_empty() {
            return other;
        }
        self.0.append(&mut other.0);
        FieldSet::of_nodes(self.0, FieldSet::union)
    }

    pub(crate) fn intersection(&self, other: &FieldSet) -> FieldSet {
        let mut out = FieldSet::default();
        for node in &self.0 {
            if let Some(same) = other.node(&node.element) {
                let below = node.below.intersection(&same.below);
                out.push(node.element.clone(), node.is_member && same.is_member, below);
            }
        }
        out
    }

    /// Removes the members of `other`, but not their nested fields.
    pub(crate) fn difference(self, other: &FieldSet) -> FieldSet {
        self.without(other, false)
    }

    /// Removes the members of `other` and their nested fields.
    pub(crate) fn recursive_difference(self, other: &FieldSet) -> FieldSet {
        self.without(other, true)
    }

    fn without(mut self, other: &FieldSet, recursive: bool) -> FieldSet {
        self.0.retain_mut(|node| {
            let Some(gone) = other.node(&node.element) else {
                return true;
            };
            node.is_member &= !gone.is_member;
            if recursive && gone.is_member {
                return false;
            }
            node.below = std::mem::take(&mut node.below).without(&gone.below, recursive);
            !node.is_empty()
        });
        self
    }

    /// Returns the paths of all members, those of each level before nested ones.
    pub(crate) fn paths(&self) -> Vec<Vec<PathElement>> {
        let mut out = Vec::new();
        self.collect_paths(&mut Vec::new(), &mut out);
        out
    }

    fn collect_paths(&self, prefix: &mut Vec<PathElement>, out: &mut Vec<Vec<PathElement>>) {
        for node in self.0.iter().filter(|node| node.is_member) {
            let mut path = prefix.clone();
            path.push(node.element.clone());
            out.push(path);
        }
        for node in &self.0 {
            prefix.push(node.element.clone());
            node.below.collect_paths(prefix, out);
            prefix.pop();
        }
    }
}

/// Formats a path for messages, for example `.spec.containers[name="web"].image`.
pub(crate) fn path_text(path: &[PathElement]) -> String {
    path.iter().map(ToString::to_string).collect()
}
