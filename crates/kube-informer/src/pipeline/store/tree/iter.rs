//! Iterators over the tree, borrowed and owned.

use std::ops::RangeInclusive;
use std::sync::Arc;
use std::{array, slice};

use super::leaf::Leaf;
use super::node::Node;
use super::{MAX_HEIGHT, Slot, Tree, WIDTH};

/// An iterator over the slots of a range of hashes, in order.
pub(crate) struct Range<'a, S, const W: usize = WIDTH> {
    /// The remaining slots of the current leaf.
    left: slice::Iter<'a, Option<S>>,
    /// The current leaf, and the end of the range in it.
    leaf: Option<(&'a Leaf<S, W>, usize)>,
    /// For each inner node above the leaf, from the root down: its remaining children.
    ahead: [slice::Iter<'a, Option<Arc<Node<S, W>>>>; MAX_HEIGHT],
    /// Number of `ahead` in use; zero when the end of the range is in the current leaf.
    pub(super) depth: usize,
    end: u64,
}

/// An iterator over all slots, in the order of their hashes.
pub(crate) type Iter<'a, S, const W: usize = WIDTH> = Range<'a, S, W>;

impl<'a, S, const W: usize> Range<'a, S, W> {
    pub(super) fn new(root: Option<&'a Node<S, W>>, hashes: &RangeInclusive<u64>) -> Self {
        let mut range = Range {
            left: [].iter(),
            leaf: None,
            ahead: Default::default(),
            depth: 0,
            end: *hashes.end(),
        };
        if let Some(root) = root.filter(|_| !hashes.is_empty()) {
            range.descend(root, *hashes.start());
        }
        range
    }

    /// Descends to the first leaf that may contain `start` or a later hash.
    fn descend(&mut self, mut node: &'a Node<S, W>, start: u64) {
        loop {
            match node {
                Node::Inner(children) => {
                    // The child before a bound may end with hashes equal to it.
                    let at = children.below(start).saturating_sub(1);
                    self.ahead[self.depth] = children.items()[at + 1..].iter();
                    self.depth += 1;
                    node = children.item(at);
                }
                Node::Leaf(leaf) => {
                    let slots = leaf.slots();
                    let (from, to) = (slots.below(start), slots.up_to(self.end));
                    if to < slots.len() {
                        self.depth = 0;
                    }
                    self.left = slots.items()[from..to].iter();
                    self.leaf = Some((leaf, to));
                    return;
                }
            }
        }
    }
}

impl<'a, S, const W: usize> Range<'a, S, W> {
    /// Returns the next slots that are adjacent in memory, with their names, for bulk processing.
    pub(crate) fn next_leaf(
        &mut self,
    ) -> Option<impl Iterator<Item = (&'a S, Option<&'a [u8]>)> + Clone + use<'a, S, W>> {
        loop {
            let slots = std::mem::take(&mut self.left).as_slice();
            if let Some((leaf, to)) = self.leaf
                && !slots.is_empty()
            {
                let positions = to - slots.len()..to;
                return Some(slots.iter().flatten().zip(positions.map(|at| leaf.name(at))));
            }
            self.advance()?;
        }
    }

    /// Moves to the next leaf, or one step towards it.
    fn advance(&mut self) -> Option<()> {
        let level = self.depth.checked_sub(1)?;
        match self.ahead[level].next() {
            Some(node) => self.descend(node.as_ref()?, 0),
            None => self.depth = level,
        }
        Some(())
    }
}

impl<'a, S, const W: usize> Iterator for Range<'a, S, W> {
    type Item = &'a S;

    fn next(&mut self) -> Option<&'a S> {
        loop {
            if let Some(slot) = self.left.next() {
                return slot.as_ref();
            }
            self.advance()?;
        }
    }
}

impl<S, const W: usize> Clone for Range<'_, S, W> {
    fn clone(&self) -> Self {
        Self {
            left: self.left.clone(),
            leaf: self.leaf,
            ahead: self.ahead.clone(),
            depth: self.depth,
            end: self.end,
        }
    }
}

impl<'a, S: Slot, const W: usize> IntoIterator for &'a Tree<S, W> {
    type Item = &'a S;
    type IntoIter = Iter<'a, S, W>;

    fn into_iter(self) -> Iter<'a, S, W> {
        self.iter()
    }
}

/// An owned iterator over all slots of the tree, in the order of their hashes, unaffected by later changes.
///
/// It owns only the slots ahead of it: slots and nodes that it has passed can be freed.
pub(crate) struct Walk<S, const W: usize = WIDTH> {
    leaf: RemainingItems<S, W>,
    ahead: Vec<RemainingItems<Arc<Node<S, W>>, W>>,
}

type RemainingItems<T, const W: usize> = array::IntoIter<Option<T>, W>;

impl<S: Slot, const W: usize> Walk<S, W> {
    pub(super) fn new(root: Option<Arc<Node<S, W>>>) -> Self {
        let mut walk = Walk {
            leaf: [const { None }; W].into_iter(),
            ahead: Vec::new(),
        };
        if let Some(root) = root {
            walk.enter(root);
        }
        walk
    }

    fn enter(&mut self, node: Arc<Node<S, W>>) {
        match Arc::unwrap_or_clone(node) {
            Node::Leaf(leaf) => self.leaf = leaf.into_slots().into_items(),
            Node::Inner(children) => self.ahead.push(children.into_items()),
        }
    }
}

impl<S: Slot, const W: usize> Iterator for Walk<S, W> {
    type Item = S;

    fn next(&mut self) -> Option<S> {
        loop {
            if let Some(slot) = self.leaf.next().flatten() {
                return Some(slot);
            }
            match self.ahead.last_mut()?.next().flatten() {
                Some(node) => self.enter(node),
                None => {
                    self.ahead.pop();
                }
            }
        }
    }
}

impl<S, const W: usize> std::fmt::Debug for Walk<S, W> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Walk").finish_non_exhaustive()
    }
}
