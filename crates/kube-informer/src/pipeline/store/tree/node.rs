//! The nodes of the tree and their rebalancing.

use std::sync::Arc;

use super::leaf::{Leaf, Slot, touch};
use super::run::SortedRun;

/// A leaf with slots, or an inner node whose children all have the same height.
///
/// The hash of a child is a bound, not a copy of the child's first hash: all hashes in the child are at least
/// the bound, and all hashes in the children before it are at most the bound. Equal hashes may be on both
/// sides of a bound. Bounds are plain numbers, so inner nodes keep no replaced slot alive.
pub(super) enum Node<S, const W: usize> {
    Leaf(Leaf<S, W>),
    Inner(Children<S, W>),
}

impl<S: Slot, const W: usize> Clone for Node<S, W> {
    /// Prefetches all items before they are cloned: see [`Slot::touch`].
    fn clone(&self) -> Self {
        match self {
            Node::Leaf(leaf) => {
                leaf.slots().items().iter().flatten().for_each(Slot::touch);
                Node::Leaf(leaf.clone())
            }
            Node::Inner(children) => {
                children.items().iter().flatten().for_each(touch);
                Node::Inner(children.clone())
            }
        }
    }
}

pub(super) type Children<S, const W: usize> = SortedRun<Arc<Node<S, W>>, W>;

impl<S, const W: usize> Node<S, W> {
    /// Minimum number of items of all nodes except the root. It is well below a half, so that a node that was
    /// just split is not merged by the next removal.
    pub(super) const MIN_ITEMS: usize = W / 3;

    /// Maximum number of items of a node that takes items of a full neighbour or is merged with another node.
    /// The rest stays free, so that the next change does not move the items again.
    const MAX_MERGED: usize = W * 3 / 4;

    pub(super) fn len(&self) -> usize {
        match self {
            Node::Leaf(leaf) => leaf.slots().len(),
            Node::Inner(children) => children.len(),
        }
    }

    pub(super) fn first_hash(&self) -> u64 {
        match self {
            Node::Leaf(leaf) => leaf.slots().hashes()[0],
            Node::Inner(children) => children.hashes()[0],
        }
    }

    /// Returns the slot with that hash that matches, and stores its position in `path`. See [`Leaf::find`].
    pub(super) fn find(
        &self,
        hash: u64,
        matches: &mut impl FnMut(&S, Option<&[u8]>) -> bool,
        path: &mut [usize],
    ) -> Option<&S> {
        let (step, path) = path
            .split_first_mut()
            .expect("a path is longer than the height of any tree");
        match self {
            Node::Leaf(leaf) => {
                let (at, slot) = leaf.find(hash, matches)?;
                *step = at;
                return Some(slot);
            }
            Node::Inner(children) => {
                for at in (0..=child_for(children, hash)).rev() {
                    if let Some(slot) = children.item(at).find(hash, matches, path) {
                        *step = at;
                        return Some(slot);
                    }
                    // The previous child can only end with that hash if this child's bound is the hash.
                    if children.hashes()[at] != hash {
                        break;
                    }
                }
            }
        }
        None
    }
}

impl<S: Slot, const W: usize> Node<S, W> {
    /// Returns the slot at the end of the path, after copying shared nodes on the path.
    pub(super) fn slot_mut(&mut self, path: &[usize]) -> &mut S {
        match self {
            Node::Leaf(leaf) => leaf.slot_mut(path[0]),
            Node::Inner(children) => Arc::make_mut(children.item_mut(path[0])).slot_mut(&path[1..]),
        }
    }

    /// Adds a slot after those with the same hash. This node must have space.
    pub(super) fn add(&mut self, hash: u64, slot: S) {
        match self {
            Node::Leaf(leaf) => leaf.insert(leaf.slots().up_to(hash), hash, slot),
            Node::Inner(children) => {
                let mut at = child_for(children, hash);
                if children.item(at).len() == W {
                    make_room(children, at);
                    at = child_for(children, hash);
                }
                if hash < children.hashes()[at] {
                    children.set_hash(at, hash);
                }
                Arc::make_mut(children.item_mut(at)).add(hash, slot);
            }
        }
    }

    /// Removes the slot at the end of the path.
    pub(super) fn remove(&mut self, path: &[usize]) -> S {
        match self {
            Node::Leaf(leaf) => leaf.remove(path[0]),
            Node::Inner(children) => {
                let at = path[0];
                let child = Arc::make_mut(children.item_mut(at));
                let slot = child.remove(&path[1..]);
                if child.len() < Self::MIN_ITEMS {
                    merge_or_rebalance(children, at.saturating_sub(1));
                }
                slot
            }
        }
    }

    /// Moves items between two neighbours until their numbers differ by at most one.
    pub(super) fn rebalance(&mut self, right: &mut Self) {
        match (self, right) {
            (Node::Leaf(left), Node::Leaf(right)) => left.rebalance(right),
            (Node::Inner(left), Node::Inner(right)) => left.rebalance(right),
            _ => unreachable!("neighbours have the same height"),
        }
    }

    fn append(&mut self, right: Self) {
        match (self, right) {
            (Node::Leaf(left), Node::Leaf(right)) => left.append(right),
            (Node::Inner(left), Node::Inner(right)) => left.append(right),
            _ => unreachable!("neighbours have the same height"),
        }
    }

    fn empty_neighbour(&self) -> Self {
        match self {
            Node::Leaf(_) => Node::Leaf(Leaf::new()),
            Node::Inner(_) => Node::Inner(SortedRun::new()),
        }
    }
}

/// Returns the last child whose bound is at most the hash, where a new slot with that hash is added.
fn child_for<S, const W: usize>(children: &Children<S, W>, hash: u64) -> usize {
    children.up_to(hash).saturating_sub(1)
}

/// Makes space in a full child, with a neighbour that has space, or else by a split. Using neighbours first
/// keeps nodes four fifths full instead of two thirds.
fn make_room<S: Slot, const W: usize>(children: &mut Children<S, W>, at: usize) {
    let has_room = |at: usize| at < children.len() && children.item(at).len() <= Node::<S, W>::MAX_MERGED;
    if has_room(at + 1) {
        rebalance(children, at);
    } else if at > 0 && has_room(at - 1) {
        rebalance(children, at - 1);
    } else {
        let full = Arc::make_mut(children.item_mut(at));
        let mut right = full.empty_neighbour();
        full.rebalance(&mut right);
        children.insert(at + 1, right.first_hash(), Arc::new(right));
    }
}

/// Merges or rebalances the neighbours at `at` and `at + 1`, one of which has too few items.
fn merge_or_rebalance<S: Slot, const W: usize>(children: &mut Children<S, W>, at: usize) {
    if children.item(at).len() + children.item(at + 1).len() <= Node::<S, W>::MAX_MERGED {
        let right = children.remove(at + 1);
        Arc::make_mut(children.item_mut(at)).append(Arc::unwrap_or_clone(right));
    } else {
        rebalance(children, at);
    }
}

fn rebalance<S: Slot, const W: usize>(children: &mut Children<S, W>, at: usize) {
    let (left, right) = children.pair_mut(at);
    let right = Arc::make_mut(right);
    Arc::make_mut(left).rebalance(right);
    let bound = right.first_hash();
    children.set_hash(at + 1, bound);
}
