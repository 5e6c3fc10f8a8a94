//! Compares the tree with a model and checks its shape after every step.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::sync::Arc;

use super::super::node::Node;
use super::super::{Iter, MAX_HEIGHT, Range, Tree, WIDTH, Walk, touch};

/// Narrow nodes make high trees with few slots.
const NARROW: usize = 6;

#[derive(Debug, PartialEq)]
struct Item {
    hash: u64,
    id: u32,
    version: u32,
    name: String,
}

impl Item {
    fn new(hash: u64, id: u32, version: u32) -> ItemSlot {
        // Names of all lengths. A leaf with some of the long ones has no copy of its names.
        let length = match id % 23 {
            0 => 0,
            7 => 20_000,
            length => length as usize,
        };
        let name = format!("{id}-").repeat(length.div_ceil(2));
        Arc::new(Item {
            hash,
            id,
            version,
            name,
        })
    }
}

impl super::super::Slot for ItemSlot {
    const NAMED: bool = true;

    fn name(&self) -> &str {
        &self.name
    }

    fn touch(&self) {
        touch(self);
    }
}

type ItemSlot = Arc<Item>;
type TreeModel = BTreeMap<(u64, u32), ItemSlot>;

/// The distribution of the hashes of items.
#[derive(Clone, Copy, Debug)]
enum Hashes {
    Uniform,
    FewDistinct,
    AllEqual(u64),
    Ascending,
    Descending,
}

impl Hashes {
    const ALL: [Hashes; 7] = [
        Hashes::Uniform,
        Hashes::FewDistinct,
        Hashes::AllEqual(7),
        Hashes::AllEqual(0),
        Hashes::AllEqual(u64::MAX),
        Hashes::Ascending,
        Hashes::Descending,
    ];

    /// Returns the hash of an item, always the same for the same item.
    fn of(self, id: u32) -> u64 {
        match self {
            Hashes::Uniform => fastrand::Rng::with_seed(u64::from(id)).u64(..),
            Hashes::FewDistinct => [0, 1, 1 << 32, u64::MAX - 1, u64::MAX][id as usize % 5],
            Hashes::AllEqual(hash) => hash,
            Hashes::Ascending => u64::from(id),
            Hashes::Descending => u64::MAX - u64::from(id),
        }
    }
}

/// A tree, its model, and all removed slots.
struct Pair<const W: usize> {
    tree: Tree<ItemSlot, W>,
    model: TreeModel,
    removed: Vec<ItemSlot>,
}

impl<const W: usize> Pair<W> {
    fn new() -> Self {
        Self {
            tree: Tree::new(),
            model: TreeModel::new(),
            removed: Vec::new(),
        }
    }

    fn insert(&mut self, hash: u64, id: u32, version: u32) {
        let slot = Item::new(hash, id, version);
        let expected = self.model.insert((hash, id), slot.clone());
        let replaced = self.tree.insert(hash, slot, |other| other.id == id);
        assert_eq!(replaced, expected);
        self.removed.extend(expected);
    }

    fn remove(&mut self, hash: u64, id: u32) {
        let expected = self.model.remove(&(hash, id));
        let removed = self.tree.remove(hash, |other| other.id == id);
        assert_eq!(removed, expected);
        self.removed.extend(expected);
    }

    fn get(&self, hash: u64, id: u32) {
        assert_eq!(
            self.tree.get(hash, |slot| slot.id == id),
            self.model.get(&(hash, id))
        );
        let named = self.tree.find(hash, |slot, name| {
            assert!(name.is_none_or(|name| name == slot.name.as_bytes()), "{slot:?}");
            slot.id == id
        });
        assert_eq!(named, self.model.get(&(hash, id)));
    }

    fn range(&self, hashes: RangeInclusive<u64>) {
        let found = by_id(self.tree.range(hashes.clone()).cloned());
        let mut range = self.tree.range(hashes.clone());
        let leaves = std::iter::from_fn(|| range.next_leaf());
        let slots = leaves.flatten().inspect(|(slot, name)| {
            assert!(name.is_none_or(|name| name == slot.name.as_bytes()), "{slot:?}");
        });
        let in_leaves = by_id(slots.map(|(slot, _)| slot.clone()));
        assert_eq!(in_leaves, found, "leaf by leaf in {hashes:?}");
        let expected: Vec<ItemSlot> = self
            .model
            .values()
            .filter(|slot| hashes.contains(&slot.hash))
            .cloned()
            .collect();
        assert_eq!(found, expected, "{hashes:?}");
    }
}

/// Sorts slots with equal hashes like the model, after checking that the hashes ascend.
fn by_id(slots: impl Iterator<Item = ItemSlot>) -> Vec<ItemSlot> {
    let mut slots: Vec<ItemSlot> = slots.collect();
    assert!(
        slots.is_sorted_by_key(|slot| slot.hash),
        "not in the order of the hashes"
    );
    slots.sort_by_key(|slot| (slot.hash, slot.id));
    slots
}

fn assert_holds<const W: usize>(tree: &Tree<ItemSlot, W>, model: &TreeModel) {
    let expected: Vec<ItemSlot> = model.values().cloned().collect();
    assert_eq!(by_id(tree.iter().cloned()), expected);
    assert_eq!(by_id(tree.walk()), expected);
}

/// Checks order, bounds, equal depth of all leaves, minimum fill and the number of slots.
fn assert_well_formed<const W: usize>(tree: &Tree<ItemSlot, W>) {
    let Some(root) = &tree.root else {
        assert_eq!(tree.len(), 0);
        return;
    };
    match &**root {
        Node::Leaf(leaf) => assert!(leaf.slots().len() > 0, "an empty tree has no nodes"),
        Node::Inner(children) => assert!(children.len() > 1, "a root with one child is too high"),
    }
    let (height, slots) = measure_node(root, 0..=u64::MAX);
    assert!(height <= MAX_HEIGHT);
    assert_eq!(slots, tree.len());
}

/// Returns the height of a node and the number of its slots, whose hashes must be within the bounds.
fn measure_node<const W: usize>(node: &Node<ItemSlot, W>, bounds: RangeInclusive<u64>) -> (usize, usize) {
    match node {
        Node::Leaf(leaf) => {
            let slots = leaf.slots();
            assert!(slots.hashes().is_sorted());
            let named = slots
                .items()
                .iter()
                .flatten()
                .map(|slot| slot.name.len())
                .sum::<usize>();
            let copied = (1..=usize::from(u16::MAX)).contains(&named);
            for (at, slot) in slots.items().iter().flatten().enumerate() {
                let hash = slots.hashes()[at];
                assert_eq!(hash, slot.hash);
                assert!(bounds.contains(&hash), "{hash} not in {bounds:?}");
                assert_eq!(leaf.name(at), copied.then_some(slot.name.as_bytes()));
            }
            (1, slots.len())
        }
        Node::Inner(children) => {
            let hashes = children.hashes();
            assert!(hashes.is_sorted());
            assert!(bounds.contains(&hashes[0]));
            let (mut below, mut total) = (None, 0);
            for (at, child) in children.items().iter().flatten().enumerate() {
                assert!(child.len() >= W / 3, "a node holds {} only", child.len());
                let upper = hashes.get(at + 1).unwrap_or(bounds.end());
                let (height, slots) = measure_node(child, hashes[at]..=*upper);
                assert_eq!(*below.get_or_insert(height), height, "leaves at different depths");
                total += slots;
            }
            (below.unwrap_or(0) + 1, total)
        }
    }
}

/// Runs random steps with at most `ids` different items at once.
fn play<const W: usize>(hashes: Hashes, seed: u64, steps: u32, ids: u32) {
    let mut random = fastrand::Rng::with_seed(seed);
    let mut pair = Pair::<W>::new();
    let mut snapshots: Vec<(Tree<ItemSlot, W>, TreeModel)> = Vec::new();
    // Items are added in the order of their ids if the hashes have an order, and at random otherwise.
    let mut next = 0;
    for step in 0..steps {
        // The tree grows for a while and shrinks for a while, down to zero.
        let growing = (step / (2 * ids)).is_multiple_of(2);
        let id = if matches!(hashes, Hashes::Ascending | Hashes::Descending) && random.bool() {
            next = (next + 1) % ids;
            next
        } else {
            random.u32(..ids)
        };
        let hash = hashes.of(id);
        match random.u32(..20) {
            0 => pair.get(hash, id),
            1 => pair.get(random.u64(..), id),
            2 => {
                let (one, other) = (hashes.of(random.u32(..ids)), hashes.of(random.u32(..ids)));
                pair.range(one.saturating_sub(random.u64(..2))..=other.saturating_add(random.u64(..2)));
            }
            3 if random.u32(..10) == 0 => assert_holds(&pair.tree, &pair.model),
            4 if random.u32(..10) == 0 => snapshots.push((pair.tree.clone(), pair.model.clone())),
            5 if random.u32(..10) == 0 && !snapshots.is_empty() => {
                let (tree, model) = snapshots.swap_remove(random.usize(..snapshots.len()));
                assert_well_formed(&tree);
                assert_holds(&tree, &model);
            }
            chance if (chance < 17) == growing => pair.insert(hash, id, step),
            _ => match pair.model.keys().nth(random.usize(..=ids as usize / 4)).copied() {
                Some((hash, id)) if random.bool() => pair.remove(hash, id),
                _ => pair.remove(hash, id),
            },
        }
        assert_well_formed(&pair.tree);
    }
    for (tree, model) in snapshots.drain(..) {
        assert_well_formed(&tree);
        assert_holds(&tree, &model);
    }
    assert_holds(&pair.tree, &pair.model);

    let Pair {
        mut tree,
        model,
        removed,
    } = pair;
    assert!(
        removed.iter().all(|slot| Arc::strong_count(slot) == 1),
        "a slot taken out is still held"
    );
    assert!(
        model.values().all(|slot| Arc::strong_count(slot) == 2),
        "a slot is held twice"
    );
    for (hash, id) in model.keys() {
        assert!(tree.remove(*hash, |slot| slot.id == *id).is_some());
        assert_well_formed(&tree);
    }
    assert!(tree.root.is_none());
    assert!(
        model.values().all(|slot| Arc::strong_count(slot) == 1),
        "a removed slot is still held"
    );
}

#[test]
fn the_tree_matches_the_model() {
    for hashes in Hashes::ALL {
        for seed in 0..6 {
            println!("{hashes:?}, seed {seed}");
            play::<NARROW>(hashes, seed, 3000, 250);
        }
        for seed in 0..3 {
            println!("{hashes:?}, wide, seed {seed}");
            play::<WIDTH>(hashes, seed, 3000, 500);
        }
    }
}

#[test]
fn a_tree_is_built_from_sorted_slots() {
    for hashes in Hashes::ALL {
        for count in (0..80).chain([215, 216, 217, 1000]) {
            let model: TreeModel = (0..count)
                .map(|id| ((hashes.of(id), id), Item::new(hashes.of(id), id, 0)))
                .collect();
            let sorted = || model.values().map(|slot| (slot.hash, slot.clone()));
            let narrow = Tree::<ItemSlot, NARROW>::from_sorted(sorted());
            assert_well_formed(&narrow);
            assert_holds(&narrow, &model);
            let wide = Tree::<ItemSlot>::from_sorted(sorted());
            assert_well_formed(&wide);
            assert_holds(&wide, &model);
        }
    }
}

#[test]
fn a_tree_built_from_sorted_slots_can_be_changed() {
    let mut pair = Pair::<NARROW>::new();
    for id in 0..500 {
        let hash = Hashes::FewDistinct.of(id);
        pair.model.insert((hash, id), Item::new(hash, id, 0));
    }
    pair.tree = Tree::from_sorted(pair.model.values().map(|slot| (slot.hash, slot.clone())));
    for id in (0..1000).step_by(3) {
        pair.insert(Hashes::FewDistinct.of(id), id, 1);
        assert_well_formed(&pair.tree);
    }
    for id in (0..1000).rev() {
        pair.remove(Hashes::FewDistinct.of(id), id);
        assert_well_formed(&pair.tree);
    }
    assert!(pair.tree.is_empty());
}

/// Returns the number of slots in each leaf of a tree with two levels.
fn leaf_lengths(tree: &Tree<ItemSlot, NARROW>) -> Vec<usize> {
    match tree.root.as_deref() {
        Some(Node::Inner(leaves)) => leaves.items().iter().flatten().map(|leaf| leaf.len()).collect(),
        _ => panic!("the tree has another height"),
    }
}

/// Returns a tree of slots with the hashes 0, 10, 20 and so on.
fn tree_by_tens(slots: u32) -> Tree<ItemSlot, NARROW> {
    Tree::from_sorted((0..slots).map(|id| (u64::from(id) * 10, Item::new(u64::from(id) * 10, id, 0))))
}

#[test]
fn a_full_leaf_moves_slots_to_a_neighbour_with_space_instead_of_splitting() {
    for (removed, added, filled, evened) in [(0, 91, [4, 6], [5, 6]), (90, 1, [6, 4], [6, 5])] {
        let mut tree = tree_by_tens(10);
        assert_eq!(leaf_lengths(&tree), [5, 5]);
        assert!(tree.remove(removed, |_| true).is_some());
        tree.insert(added, Item::new(added, 100, 0), |_| false);
        assert_eq!(leaf_lengths(&tree), filled);
        tree.insert(added + 1, Item::new(added + 1, 101, 0), |_| false);
        assert_eq!(leaf_lengths(&tree), evened);
        assert_well_formed(&tree);
    }
}

#[test]
fn a_leaf_with_the_minimum_number_of_slots_is_not_merged() {
    assert_eq!(leaf_lengths(&tree_by_tens(6)), [3, 3], "one slot is too few");
    let mut tree = tree_by_tens(7);
    assert_eq!(leaf_lengths(&tree), [5, 2]);
    tree = tree_by_tens(10);
    for (removed, left) in [(0, [4, 5]), (10, [3, 5]), (20, [2, 5]), (30, [3, 3])] {
        assert!(tree.remove(removed, |_| true).is_some());
        assert_eq!(leaf_lengths(&tree), left);
        assert_well_formed(&tree);
    }
}

#[test]
fn an_empty_range_has_no_slots() {
    let tree = Tree::<ItemSlot>::from_sorted((0..100).map(|hash| (hash, Item::new(hash, 0, 0))));
    let (start, end) = (50, 49);
    assert_eq!(tree.range(start..=end).count(), 0);
    assert_eq!(tree.range(100..=u64::MAX).count(), 0);
    assert_eq!(Tree::<ItemSlot>::new().iter().count(), 0);
    assert_eq!(Tree::<ItemSlot>::new().walk().count(), 0);
}

#[test]
fn a_range_ends_where_its_hashes_end() {
    let slots = (0..300).map(|hash| (hash, Item::new(hash, 0, 0)));
    let tree = Tree::<ItemSlot, NARROW>::from_sorted(slots);
    let mut range = tree.range(10..=12);
    assert_eq!(range.by_ref().take(3).count(), 3);
    assert_eq!(range.depth, 0, "it would go on through all leaves further right");
    assert_eq!(range.next(), None);
}

#[test]
fn a_change_copies_only_shared_nodes() {
    fn leaf_of(tree: &Tree<ItemSlot, NARROW>, hash: u64) -> *const ItemSlot {
        std::ptr::from_ref(tree.get(hash, |_| true).expect("the hash is in the tree"))
    }
    let slot = |hash, version| Item::new(hash, 0, version);
    let before = Tree::<ItemSlot, NARROW>::from_sorted((0..300).map(|hash| (hash, slot(hash, 0))));
    let mut after = before.clone();
    after.insert(10, slot(10, 1), |_| true);
    assert_ne!(leaf_of(&after, 10), leaf_of(&before, 10));
    assert_eq!(leaf_of(&after, 200), leaf_of(&before, 200));

    let root_of = |tree: &Tree<ItemSlot, NARROW>| tree.root.as_ref().map(Arc::as_ptr);
    let copied = (root_of(&after), leaf_of(&after, 10));
    after.insert(10, slot(10, 2), |_| true);
    let edited = (root_of(&after), leaf_of(&after, 10));
    assert_eq!(edited, copied, "the copies are the tree's own");

    let snapshot = after.clone();
    assert!(after.remove(10, |_| false).is_none());
    let left_alone = root_of(&after) == root_of(&snapshot);
    assert!(left_alone, "nothing was removed, nothing is copied");
}

#[test]
fn a_walk_releases_the_slots_that_it_has_passed() {
    let slots: Vec<ItemSlot> = (0..300).map(|hash| Item::new(hash, 0, 0)).collect();
    let tree = Tree::<ItemSlot, NARROW>::from_sorted(slots.iter().map(|slot| (slot.hash, slot.clone())));
    let mut walk = tree.walk();
    drop(tree);
    for (at, slot) in slots.iter().enumerate() {
        assert_eq!(walk.next().as_ref(), Some(slot));
        assert_eq!(Arc::strong_count(slot), 1, "slot {at} is held behind the walk");
        assert!(slots[at + 1..].iter().all(|ahead| Arc::strong_count(ahead) == 2));
    }
    assert_eq!(walk.next(), None);
}

#[test]
fn a_walk_is_unaffected_by_changes_of_the_tree() {
    let mut pair = Pair::<NARROW>::new();
    for id in 0..300 {
        pair.insert(u64::from(id), id, 0);
    }
    let expected: Vec<ItemSlot> = pair.model.values().cloned().collect();
    let mut walk = pair.tree.walk();
    let mut walked: Vec<ItemSlot> = walk.by_ref().take(100).collect();
    for id in 0..300 {
        pair.remove(u64::from(id), id);
    }
    walked.extend(walk);
    assert_eq!(walked, expected);
}

#[test]
fn crosses_threads() {
    fn crosses<T: Send + Sync>() {}
    fn is_static<T: 'static>() {}
    crosses::<Tree<ItemSlot>>();
    crosses::<Iter<'static, ItemSlot>>();
    crosses::<Range<'static, ItemSlot>>();
    crosses::<Walk<ItemSlot>>();
    is_static::<Walk<ItemSlot>>();
}
