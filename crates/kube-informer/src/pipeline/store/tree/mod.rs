//! The ordered map behind the cache and its indexes: a B+tree whose versions share what they have in common.
//!
//! Readers hold a version and walk nodes that never change under them. The one writer clones the version at hand, which
//! costs a reference count, edits the clone and publishes it. An edit copies the nodes on its way that others still
//! hold, and no others: a batch of edits copies each node once.
//!
//! The order is that of a `u64` which the caller derives from an item's name. Different items may have the same hash,
//! any number of them; a closure tells which one is meant.

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

/// Slots of a leaf and children of an inner node, at most. Wider nodes take less memory and fewer steps to a slot, but an
/// update copies as many reference counts as a node holds. `tests::measure` prints what each width costs; multiples of
/// eight suit the search in a node.
const WIDTH: usize = 40;

/// No tree is higher: with a third of `WIDTH` in each node, this many levels hold more slots than any memory.
const MAX_HEIGHT: usize = 16;

/// The way from the root to a slot: the place to take in each node.
type Path = [usize; MAX_HEIGHT];

/// Slots in the order of their hashes. A clone costs a reference count and is a snapshot: edits of one are not seen in
/// the other.
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
    /// A tree without slots, and without nodes.
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// Builds a tree of slots that come in the order of their hashes, with little free room in its nodes.
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

    /// How many slots there are.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no slots.
    pub(crate) fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The slot of that hash for which `is` holds.
    pub(crate) fn get(&self, hash: u64, mut is: impl FnMut(&S) -> bool) -> Option<&S> {
        self.find(hash, |slot, _| is(slot))
    }

    /// The same, with a copy of the slot's name, where there is one: it is at hand before the slot itself.
    pub(crate) fn find(&self, hash: u64, mut is: impl FnMut(&S, Option<&[u8]>) -> bool) -> Option<&S> {
        self.root.as_ref()?.find(hash, &mut is, &mut Path::default())
    }

    /// Puts the slot in the place of the one of that hash for which `same` holds, and returns that one; adds it if
    /// there is none.
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

    /// Takes out the slot of that hash for which `is` holds.
    pub(crate) fn remove(&mut self, hash: u64, mut is: impl FnMut(&S) -> bool) -> Option<S> {
        let root = self.root.as_mut()?;
        let mut path = Path::default();
        root.find(hash, &mut |slot, _| is(slot), &mut path)?;
        let slot = Arc::make_mut(root).remove(&path);
        self.len -= 1;
        match &**root {
            Node::Leaf(leaf) if leaf.slots().len() == 0 => self.root = None,
            Node::Inner(children) if children.len() == 1 => *root = children.item(0).clone(),
            _ => {}
        }
        Some(slot)
    }

    /// All slots, in the order of their hashes.
    pub(crate) fn iter(&self) -> Iter<'_, S, W> {
        self.range(0..=u64::MAX)
    }

    /// The slots of these hashes, in the order of their hashes.
    pub(crate) fn range(&self, hashes: RangeInclusive<u64>) -> Range<'_, S, W> {
        Range::new(self.root.as_deref(), &hashes)
    }

    /// All slots, in the order of their hashes, as a way that outlives the borrow.
    pub(crate) fn walk(&self) -> Walk<S, W> {
        Walk::new(self.root.clone())
    }
}

/// Packs items that come in order into nodes of one level, each with the bound to stand beside it.
fn pack<S: Slot, T, const W: usize>(
    items: impl IntoIterator<Item = (u64, T)>,
    node: fn(SortedRun<T, W>) -> Node<S, W>,
) -> Vec<(u64, Arc<Node<S, W>>)> {
    // Some room for what is added later; little is enough, since full nodes turn to their neighbours before they split.
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
        Arc::make_mut(left).even_out(Arc::make_mut(right));
    }
    packed.into_iter().map(|node| (node.first_hash(), node)).collect()
}
