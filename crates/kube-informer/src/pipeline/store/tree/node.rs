//! Nodes of the tree, and how they keep their fill.

use std::sync::Arc;

use super::leaf::{Leaf, Slot, touch};
use super::run::SortedRun;

/// A leaf with slots, or an inner node whose children are all of one height.
///
/// The hash beside a child is a bound, not a copy of the child's first hash: nothing in the child is below it, nothing
/// in the children before it is above it. Equal hashes may lie on both sides of a bound. Bounds are plain numbers, so
/// that no inner node keeps a replaced slot alive.
pub(super) enum Node<S, const W: usize> {
    Leaf(Leaf<S, W>),
    Inner(Children<S, W>),
}

impl<S: Slot, const W: usize> Clone for Node<S, W> {
    /// All that it holds is asked for before it is cloned: see [`Slot::touch`].
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
    /// Every node but the root holds at least so many. Well below a half, so that a node that was just split is not
    /// merged by the next removal.
    pub(super) const MIN_ITEMS: usize = W / 3;

    /// Up to so many, a node takes over from a full neighbour, and two neighbours become one. The rest stays free, so
    /// that the next change does not move them again.
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

    /// The slot of that hash for which `is` holds; `path` then leads to it. See [`Leaf::find`].
    pub(super) fn find(
        &self,
        hash: u64,
        is: &mut impl FnMut(&S, Option<&[u8]>) -> bool,
        path: &mut [usize],
    ) -> Option<&S> {
        let (step, path) = path
            .split_first_mut()
            .expect("a path is longer than any tree is high");
        match self {
            Node::Leaf(leaf) => {
                let (at, slot) = leaf.find(hash, is)?;
                *step = at;
                return Some(slot);
            }
            Node::Inner(children) => {
                for at in (0..=child_for(children, hash)).rev() {
                    if let Some(slot) = children.item(at).find(hash, is, path) {
                        *step = at;
                        return Some(slot);
                    }
                    // Only if its bound is the hash itself, the child before may end with that hash too.
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
    /// The slot at the end of the path, all nodes on the way being this tree's own.
    pub(super) fn slot_mut(&mut self, path: &[usize]) -> &mut S {
        match self {
            Node::Leaf(leaf) => leaf.slot_mut(path[0]),
            Node::Inner(children) => Arc::make_mut(children.item_mut(path[0])).slot_mut(&path[1..]),
        }
    }

    /// Adds a slot, behind those of the same hash. This node must have room for one more.
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

    /// Takes out the slot at the end of the path.
    pub(super) fn remove(&mut self, path: &[usize]) -> S {
        match self {
            Node::Leaf(leaf) => leaf.remove(path[0]),
            Node::Inner(children) => {
                let at = path[0];
                let child = Arc::make_mut(children.item_mut(at));
                let slot = child.remove(&path[1..]);
                if child.len() < Self::MIN_ITEMS {
                    fill_up(children, at.saturating_sub(1));
                }
                slot
            }
        }
    }

    /// Moves slots or children between two neighbours until both hold the same number, give or take one.
    pub(super) fn even_out(&mut self, right: &mut Self) {
        match (self, right) {
            (Node::Leaf(left), Node::Leaf(right)) => left.even_out(right),
            (Node::Inner(left), Node::Inner(right)) => left.even_out(right),
            _ => unreachable!("neighbours are of one height"),
        }
    }

    fn append(&mut self, right: Self) {
        match (self, right) {
            (Node::Leaf(left), Node::Leaf(right)) => left.append(right),
            (Node::Inner(left), Node::Inner(right)) => left.append(right),
            _ => unreachable!("neighbours are of one height"),
        }
    }

    fn empty_neighbour(&self) -> Self {
        match self {
            Node::Leaf(_) => Node::Leaf(Leaf::new()),
            Node::Inner(_) => Node::Inner(SortedRun::new()),
        }
    }
}

/// The last child whose bound is not above the hash: where a new slot of that hash belongs.
fn child_for<S, const W: usize>(children: &Children<S, W>, hash: u64) -> usize {
    children.up_to(hash).saturating_sub(1)
}

/// Gives a full child room: by a neighbour that has some, else by a split. Asking the neighbours first keeps nodes
/// four fifths full instead of two thirds.
fn make_room<S: Slot, const W: usize>(children: &mut Children<S, W>, at: usize) {
    let roomy = |at: usize| at < children.len() && children.item(at).len() <= Node::<S, W>::MAX_MERGED;
    if roomy(at + 1) {
        even_out(children, at);
    } else if at > 0 && roomy(at - 1) {
        even_out(children, at - 1);
    } else {
        let full = Arc::make_mut(children.item_mut(at));
        let mut right = full.empty_neighbour();
        full.even_out(&mut right);
        children.insert(at + 1, right.first_hash(), Arc::new(right));
    }
}

/// Brings the neighbours at `at` and `at + 1`, of which one holds too little, back to their fill.
fn fill_up<S: Slot, const W: usize>(children: &mut Children<S, W>, at: usize) {
    if children.item(at).len() + children.item(at + 1).len() <= Node::<S, W>::MAX_MERGED {
        let right = children.remove(at + 1);
        Arc::make_mut(children.item_mut(at)).append(Arc::unwrap_or_clone(right));
    } else {
        even_out(children, at);
    }
}

fn even_out<S: Slot, const W: usize>(children: &mut Children<S, W>, at: usize) {
    let (left, right) = children.pair_mut(at);
    let right = Arc::make_mut(right);
    Arc::make_mut(left).even_out(right);
    let bound = right.first_hash();
    children.set_hash(at + 1, bound);
}
