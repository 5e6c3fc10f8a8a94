//! Measures the tree at several widths: `cargo test --release -p kube-informer --lib tree::tests::measure --
//! --ignored --nocapture`

use std::hint::black_box;
use std::sync::Arc;

use tokio::time::Instant;

use super::super::node::Node;
use super::super::{Tree, WIDTH, touch};

const SLOTS: u32 = 100_000;

struct MeasuredEntry {
    key: String,
    version: u64,
    _object: Arc<[u64; 8]>,
}

impl super::super::Slot for Arc<MeasuredEntry> {
    const NAMED: bool = true;

    fn name(&self) -> &str {
        &self.key
    }

    fn touch(&self) {
        touch(self);
    }
}

/// Entries with random hashes in the order of their allocation, and in a shuffled order. The shuffled keys
/// are contiguous in memory: callers have the key in the CPU cache, so its cache misses are not those of the
/// tree.
struct MeasuredEntries {
    entries: Vec<(u64, Arc<MeasuredEntry>)>,
    order: Vec<usize>,
    keys: Vec<(u64, String)>,
    /// Newer versions of the entries, in the shuffled order.
    updates: Vec<(u64, Arc<MeasuredEntry>)>,
}

impl MeasuredEntries {
    fn new() -> Self {
        let mut random = fastrand::Rng::with_seed(1);
        let entry = |number, version| {
            let key = format!("namespace-{}/deployment-{number}", number % 50);
            Arc::new(MeasuredEntry {
                key,
                version,
                _object: Arc::new([0; 8]),
            })
        };
        let entries: Vec<_> = (0..SLOTS as usize)
            .map(|number| (random.u64(..), entry(number, 1)))
            .collect();
        let mut order: Vec<usize> = (0..entries.len()).collect();
        random.shuffle(&mut order);
        let keys = order
            .iter()
            .map(|&at| (entries[at].0, entries[at].1.key.clone()))
            .collect();
        let updates = order.iter().map(|&at| (entries[at].0, entry(at, 2))).collect();
        Self {
            entries,
            order,
            keys,
            updates,
        }
    }
}

/// Returns the nanoseconds per slot of the best round, because disturbances only make a round longer.
fn nanos(rounds: u32, mut round: impl FnMut()) -> f64 {
    let mut best = f64::INFINITY;
    for _ in 0..rounds {
        let start = Instant::now();
        round();
        best = best.min(start.elapsed().as_secs_f64() * 1e9 / f64::from(SLOTS));
    }
    best
}

/// Returns the bytes of the nodes as allocated by glibc: the two counts of the `Arc` and the node, with a
/// header of eight bytes, in steps of sixteen.
fn bytes<S: super::super::Slot, const W: usize>(node: &Node<S, W>) -> u32 {
    let own =
        u32::try_from((size_of::<Node<S, W>>() + 16 + 8).next_multiple_of(16)).expect("nodes are small");
    match node {
        Node::Leaf(leaf) => {
            let names: usize = leaf
                .slots()
                .items()
                .iter()
                .flatten()
                .map(|slot| slot.name().len())
                .sum();
            own + u32::try_from((names + 16 + 8).next_multiple_of(16)).expect("names are short")
        }
        Node::Inner(children) => {
            own + children
                .items()
                .iter()
                .flatten()
                .map(|child| bytes(child))
                .sum::<u32>()
        }
    }
}

fn bytes_per_slot<S: super::super::Slot, const W: usize>(tree: &Tree<S, W>) -> f64 {
    f64::from(tree.root.as_ref().map_or(0, |root| bytes(root))) / f64::from(SLOTS)
}

fn measure_width<const W: usize>(cache: &MeasuredEntries) {
    let mut tree = Tree::<Arc<MeasuredEntry>, W>::new();
    let insert = nanos(3, || {
        tree = Tree::new();
        for (hash, entry) in &cache.entries {
            tree.insert(*hash, entry.clone(), |other| other.key == entry.key);
        }
    });
    let grown = bytes_per_slot(&tree);
    let get = nanos(10, || {
        for (hash, key) in &cache.keys {
            black_box(tree.find(*hash, |_, name| name == Some(key.as_bytes())));
        }
    });
    let find = nanos(10, || {
        for (hash, _) in &cache.keys {
            black_box(tree.get(*hash, |_| true));
        }
    });
    let range = nanos(10, || {
        for (hash, _) in &cache.keys {
            black_box(tree.range(*hash..=hash | 0xffff_ffff).next());
        }
    });

    let mut published = Arc::new(tree);
    let mut publish_each = |batch: usize| {
        nanos(3, || {
            for batch in cache.updates.chunks(batch) {
                let mut next = Tree::clone(&published);
                for (hash, entry) in batch {
                    black_box(next.insert(*hash, entry.clone(), |other| other.key == entry.key));
                }
                published = Arc::new(next);
            }
        })
    };
    let (update, batched) = (publish_each(1), publish_each(1000));
    let mut tree = Tree::clone(&published);
    drop(published);

    let iterate = nanos(10, || {
        black_box(
            tree.iter()
                .map(|entry| Arc::as_ptr(entry).addr())
                .fold(0, usize::wrapping_add),
        );
    });
    let read = nanos(10, || {
        black_box(tree.iter().map(|entry| entry.version).sum::<u64>());
    });
    let walk = nanos(10, || {
        black_box(tree.walk().map(|entry| entry.version).sum::<u64>());
    });
    let remove = nanos(1, || {
        for (hash, key) in &cache.keys {
            black_box(tree.remove(*hash, |entry| entry.key == *key));
        }
    });
    assert!(tree.is_empty());

    let mut sorted = cache.entries.clone();
    sorted.sort_unstable_by_key(|(hash, _)| *hash);
    let mut built = Tree::<Arc<MeasuredEntry>, W>::new();
    let build = nanos(3, || built = Tree::from_sorted(sorted.iter().cloned()));
    let packed = bytes_per_slot(&built);

    println!(
        "{W:5} {get:6.0} {find:6.0} {range:6.0} {update:7.0} {batched:8.0} {insert:7.0} {remove:7.0} {iterate:8.1} \
         {read:5.1} {walk:5.1} {build:6.1} {grown:7.2} {packed:7.2}"
    );
}

#[test]
#[ignore = "a measurement"]
fn measure() {
    let cache = MeasuredEntries::new();
    let load = nanos(10, || {
        // Each load waits for the previous one, as the comparison of a key waits for the search.
        let entry = |waited: bool, &at: &usize| cache.entries[at + usize::from(waited)].1.version > 2;
        black_box(cache.order.iter().fold(false, entry));
    });
    println!("{SLOTS} slots; to load an entry takes {load:.0} ns, with any tree or none");
    println!(
        "nanoseconds (`find` is `get` without the comparison of keys), and bytes a slot as grown and as built"
    );
    println!(
        "width    get   find  range  update  batched  insert  remove  iterate  read  walk  build   grown  packed"
    );
    measure_width::<16>(&cache);
    measure_width::<24>(&cache);
    measure_width::<32>(&cache);
    measure_width::<WIDTH>(&cache);
    measure_width::<48>(&cache);
    measure_width::<64>(&cache);
}
