//! The sorted array that leaves and inner nodes are made of.

/// Up to `W` items, sorted by hash; equal hashes may stand side by side.
///
/// Hashes and items are kept apart, so that a search reads nothing but hashes.
#[derive(Clone)]
pub(super) struct SortedRun<T, const W: usize> {
    len: usize,
    /// Behind `len` all are `u64::MAX`, so that a search may look at the whole array.
    hashes: [u64; W],
    /// Behind `len` all are `None`.
    items: [Option<T>; W],
}

impl<T, const W: usize> SortedRun<T, W> {
    pub(super) const fn new() -> Self {
        Self {
            len: 0,
            hashes: [u64::MAX; W],
            items: [const { None }; W],
        }
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn hashes(&self) -> &[u64] {
        &self.hashes[..self.len]
    }

    /// The items, each of them `Some`.
    pub(super) fn items(&self) -> &[Option<T>] {
        &self.items[..self.len]
    }

    pub(super) fn into_items(self) -> std::array::IntoIter<Option<T>, W> {
        self.items.into_iter()
    }

    pub(super) fn item(&self, at: usize) -> &T {
        self.items[at].as_ref().expect("below len every item is there")
    }

    pub(super) fn item_mut(&mut self, at: usize) -> &mut T {
        self.items[at].as_mut().expect("below len every item is there")
    }

    /// Two neighbours: those at `at` and `at + 1`.
    pub(super) fn pair_mut(&mut self, at: usize) -> (&mut T, &mut T) {
        match &mut self.items[at..at + 2] {
            [Some(left), Some(right)] => (left, right),
            _ => unreachable!("below len every item is there"),
        }
    }

    /// How many hashes are below `hash`.
    pub(super) fn below(&self, hash: u64) -> usize {
        self.count(|h| h < hash)
    }

    /// How many hashes are `hash` or below.
    pub(super) fn up_to(&self, hash: u64) -> usize {
        self.count(|h| h <= hash)
    }

    /// How many hashes `is_before` holds for, which must be the first ones.
    ///
    /// Looks at the last hash of each line of the cache, then at one line: unlike those of a binary search, these
    /// loads do not wait for each other.
    fn count(&self, is_before: impl Fn(u64) -> bool) -> usize {
        const LINE: usize = 8;
        let lines = self
            .hashes
            .chunks_exact(LINE)
            .filter(|line| is_before(line[LINE - 1]))
            .count();
        let from = lines * LINE;
        let to = W.min(from + LINE);
        let count = from + self.hashes[from..to].iter().filter(|&&h| is_before(h)).count();
        // What is behind `len` counts as well if the hash sought is the highest.
        count.min(self.len)
    }

    pub(super) fn set_hash(&mut self, at: usize, hash: u64) {
        self.hashes[at] = hash;
    }

    pub(super) fn insert(&mut self, at: usize, hash: u64, item: T) {
        self.hashes.copy_within(at..self.len, at + 1);
        self.hashes[at] = hash;
        self.items[at..=self.len].rotate_right(1);
        self.items[at] = Some(item);
        self.len += 1;
    }

    pub(super) fn push(&mut self, hash: u64, item: T) {
        self.insert(self.len, hash, item);
    }

    pub(super) fn remove(&mut self, at: usize) -> T {
        let item = self.items[at].take().expect("below len every item is there");
        self.items[at..self.len].rotate_left(1);
        self.hashes.copy_within(at + 1..self.len, at);
        self.len -= 1;
        self.hashes[self.len] = u64::MAX;
        item
    }

    /// How many items the left of two neighbours holds after [`SortedRun::even_out`].
    pub(super) fn even(left: &Self, right: &Self) -> usize {
        usize::midpoint(left.len, right.len)
    }

    /// Moves items between two neighbours until both hold the same number, give or take one.
    pub(super) fn even_out(&mut self, right: &mut Self) {
        let half = SortedRun::even(self, right);
        if self.len > half {
            let moved = self.len - half;
            right.hashes.copy_within(..right.len, moved);
            right.items[..right.len + moved].rotate_right(moved);
            self.hand_over(half, right, 0, moved);
        } else {
            let moved = half - self.len;
            right.hand_over(0, self, self.len, moved);
            right.hashes.copy_within(moved..right.len + moved, 0);
            right.hashes[right.len..right.len + moved].fill(u64::MAX);
            right.items[..right.len + moved].rotate_left(moved);
        }
    }

    /// Takes all items of the right neighbour.
    pub(super) fn append(&mut self, mut right: Self) {
        right.hand_over(0, self, self.len, right.len);
    }

    /// Moves `count` items from `from` on to the free places of `other` from `to` on.
    fn hand_over(&mut self, from: usize, other: &mut Self, to: usize, count: usize) {
        other.hashes[to..to + count].copy_from_slice(&self.hashes[from..from + count]);
        self.hashes[from..from + count].fill(u64::MAX);
        for (free, item) in other.items[to..to + count]
            .iter_mut()
            .zip(&mut self.items[from..from + count])
        {
            *free = item.take();
        }
        self.len -= count;
        other.len += count;
    }
}
