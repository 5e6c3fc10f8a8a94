//! Ways through the tree: borrowed and owned.

use std::ops::RangeInclusive;
use std::sync::Arc;
use std::{array, slice};

use super::leaf::Leaf;
use super::node::Node;
use super::{MAX_HEIGHT, Slot, Tree, WIDTH};

/// The slots of a range of hashes, in the order of their hashes.
pub(crate) struct Range<'a, S, const W: usize = WIDTH> {
    /// What is left of the slots of the leaf at hand.
    left: slice::Iter<'a, Option<S>>,
    /// That leaf, and where in it the range ends.
    leaf: Option<(&'a Leaf<S, W>, usize)>,
    /// For each inner node above the leaf, from the root down, its children further right.
    ahead: [slice::Iter<'a, Option<Arc<Node<S, W>>>>; MAX_HEIGHT],
    /// How many of `ahead` are in use; none is when the end of the range lies in the leaf at hand.
    pub(super) depth: usize,
    end: u64,
}

/// All slots, in the order of their hashes.
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

    /// Goes down to the first leaf that may hold `start` or what follows it.
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
    /// The slots that lie together in memory, with copies of their names: many at once, for those who do better with
    /// many.
    pub(crate) fn next_leaf(
        &mut self,
    ) -> Option<impl Iterator<Item = (&'a S, Option<&'a [u8]>)> + Clone + use<'a, S, W>> {
        loop {
            let slots = std::mem::take(&mut self.left).as_slice();
            if let Some((leaf, to)) = self.leaf
                && !slots.is_empty()
            {
                let places = to - slots.len()..to;
                return Some(slots.iter().flatten().zip(places.map(|at| leaf.name(at))));
            }
            self.turn()?;
        }
    }

    /// Goes on to the next leaf, or some way towards it.
    fn turn(&mut self) -> Option<()> {
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
            self.turn()?;
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

/// All slots, in the order of their hashes, of the tree as it was when the walk began.
///
/// It owns what is ahead of it and nothing else: a slot or node it has passed is free as soon as nobody else holds it.
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
