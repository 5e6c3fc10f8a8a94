//! The ordered map of the cache and its indexes: a B+tree whose versions share common nodes.
//!
//! Readers hold a version, whose nodes never change. The single writer clones the current version, which
//! costs a reference count, changes the clone and publishes it. A change copies the nodes on its path that
//! are shared with other versions, so a batch of changes copies each node once.
//!
//! Slots are ordered by a `u64` hash that the caller derives from an item's name. Any number of items may
//! have the same hash; a closure identifies the right one.

mod iter;
mod leaf;
mod node;
mod run;
#[cfg(test)]
mod tests;

use std::ops::RangeInclusive;
use std::sync::Arc;

pub(crate) use iter::{Iter, Range, Walk};
use leaf::Leaf;
pub(crate) use leaf::{Slot, touch};
use node::Node;
use run::SortedRun;

/// Maximum number of slots in a leaf and children in an inner node.
///
/// Wider nodes need less memory and fewer steps to a slot, but an update copies all reference counts of a
/// node. `tests::measure` prints the cost of each width; multiples of eight suit the search in a node.
const WIDTH: usize = 40;

/// Maximum height of a tree: with a third of `WIDTH` in each node, its slots would exceed any memory.
const MAX_HEIGHT: usize = 16;

/// The path from the root to a slot: the position in each node.
type Path = [usize; MAX_HEIGHT];

/// Slots in the order of their hashes.
///
/// A clone costs a reference count and is a snapshot: changes of one are not visible in the other.
pub(crate) struct Tree<S, const W: usize = WIDTH> {
    root: Option<Arc<Node<S, W>>>,
    len: usize,
}

impl<S, const W: usize> Clone for Tree<S, W> {
    fn clone(&self) -> Self {
        Self {
            root: self.root.clone(),
            len: self.len,
        }
    }
}

impl<S, const W: usize> Default for Tree<S, W> {
    fn default() -> Self {
        Self { root: None, len: 0 }
    }
}

impl<S: Slot, const W: usize> Tree<S, W> {
    /// Creates an empty tree.
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// Builds a tree from slots sorted by hash, with little free space in its nodes.
    pub(crate) fn from_sorted(slots: impl IntoIterator<Item = (u64, S)>) -> Self {
        let (mut len, mut last) = (0, 0);
        let counted = slots.into_iter().inspect(|&(hash, _)| {
            debug_assert!(last <= hash, "the hashes must ascend");
            last = hash;
            len += 1;
        });
        let mut level = pack(counted, |slots| Node::Leaf(Leaf::of(slots)));
        while level.len() > 1 {
            level = pack(level, Node::Inner);
        }
        Self {
            root: level.pop().map(|(_, root)| root),
            len,
        }
    }

    /// Returns the number of slots.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Returns whether there are no slots.
    pub(crate) fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the slot with that hash that matches.
    pub(crate) fn get(&self, hash: u64, mut matches: impl FnMut(&S) -> bool) -> Option<&S> {
        self.find(hash, |slot, _| matches(slot))
    }

    /// Returns the slot with that hash that matches. The predicate gets a copy of the slot's name, too, if
    /// there is one.
    pub(crate) fn find(&self, hash: u64, mut matches: impl FnMut(&S, Option<&[u8]>) -> bool) -> Option<&S> {
        self.root.as_ref()?.find(hash, &mut matches, &mut Path::default())
    }

    /// Replaces the slot with that hash that matches and returns it, or adds a new slot.
    pub(crate) fn insert(&mut self, hash: u64, slot: S, mut same: impl FnMut(&S) -> bool) -> Option<S> {
        let Some(root) = &mut self.root else {
            let mut leaf = Leaf::new();
            leaf.insert(0, hash, slot);
            self.root = Some(Arc::new(Node::Leaf(leaf)));
            self.len = 1;
            return None;
        };
        let mut path = Path::default();
        if root.find(hash, &mut |slot, _| same(slot), &mut path).is_some() {
            return Some(std::mem::replace(Arc::make_mut(root).slot_mut(&path), slot));
        }
        if root.len() == W {
            let mut above = SortedRun::new();
            above.push(root.first_hash(), root.clone());
            *root = Arc::new(Node::Inner(above));
        }
        Arc::make_mut(root).add(hash, slot);
        self.len += 1;
        None
    }

    /// Removes the slot with that hash that matches.
    pub(crate) fn remove(&mut self, hash: u64, mut matches: impl FnMut(&S) -> bool) -> Option<S> {
        let root = self.root.as_mut()?;
        let mut path = Path::default();
        root.find(hash, &mut |slot, _| matches(slot), &mut path)?;
        let slot = Arc::make_mut(root).remove(&path);
        self.len -= 1;
        match &**root {
            Node::Leaf(leaf) if leaf.slots().len() == 0 => self.root = None,
            Node::Inner(children) if children.len() == 1 => *root = children.item(0).clone(),
            _ => {}
        }
        Some(slot)
    }

    /// Returns an iterator over all slots, in the order of their hashes.
    pub(crate) fn iter(&self) -> Iter<'_, S, W> {
        self.range(0..=u64::MAX)
    }

    /// Returns an iterator over the slots with these hashes, in order.
    pub(crate) fn range(&self, hashes: RangeInclusive<u64>) -> Range<'_, S, W> {
        Range::new(self.root.as_deref(), &hashes)
    }

    /// Returns an owned iterator over all slots, in the order of their hashes.
    pub(crate) fn walk(&self) -> Walk<S, W> {
        Walk::new(self.root.clone())
    }
}

/// Packs sorted items into nodes of one level, each with its bound in the parent.
fn pack<S: Slot, T, const W: usize>(
    items: impl IntoIterator<Item = (u64, T)>,
    node: fn(SortedRun<T, W>) -> Node<S, W>,
) -> Vec<(u64, Arc<Node<S, W>>)> {
    // Little free space is enough for later additions, because full nodes use their neighbours before they
    // split.
    let fill = W * 19 / 20;
    let mut packed = Vec::new();
    let mut items = items.into_iter().peekable();
    while items.peek().is_some() {
        let mut run = SortedRun::new();
        for (hash, item) in items.by_ref().take(fill) {
            run.push(hash, item);
        }
        packed.push(Arc::new(node(run)));
    }
    if let [.., left, right] = &mut packed[..]
        && right.len() < Node::<S, W>::MIN_ITEMS
    {
        Arc::make_mut(left).rebalance(Arc::make_mut(right));
    }
    packed.into_iter().map(|node| (node.first_hash(), node)).collect()
}
