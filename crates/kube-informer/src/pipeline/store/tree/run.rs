//! The sorted array inside leaves and inner nodes.

/// Up to `W` items, sorted by hash, with duplicates allowed.
///
/// Hashes and items are separate arrays, so that a search only reads hashes.
#[derive(Clone)]
pub(super) struct SortedRun<T, const W: usize> {
    len: usize,
    /// `u64::MAX` from `len` on, so that a search may read the whole array.
    hashes: [u64; W],
    /// `None` from `len` on.
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

    /// Returns the items, all of them `Some`.
    pub(super) fn items(&self) -> &[Option<T>] {
        &self.items[..self.len]
    }

    pub(super) fn into_items(self) -> std::array::IntoIter<Option<T>, W> {
        self.items.into_iter()
    }

    pub(super) fn item(&self, at: usize) -> &T {
        self.items[at].as_ref().expect("every item below len is set")
    }

    pub(super) fn item_mut(&mut self, at: usize) -> &mut T {
        self.items[at].as_mut().expect("every item below len is set")
    }

    /// Returns the neighbours at `at` and `at + 1`.
    pub(super) fn pair_mut(&mut self, at: usize) -> (&mut T, &mut T) {
        match &mut self.items[at..at + 2] {
            [Some(left), Some(right)] => (left, right),
            _ => unreachable!("every item below len is set"),
        }
    }

    /// Returns the number of hashes below `hash`.
    pub(super) fn below(&self, hash: u64) -> usize {
        self.count(|h| h < hash)
    }

    /// Returns the number of hashes up to and including `hash`.
    pub(super) fn up_to(&self, hash: u64) -> usize {
        self.count(|h| h <= hash)
    }

    /// Returns the number of hashes that match `is_before`, which must be the first ones.
    ///
    /// Reads the last hash of each cache line, then one line. Unlike those of a binary search, these loads do
    /// not wait for each other.
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
        // Unused hashes are counted, too, if `hash` is the maximum.
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
        let item = self.items[at].take().expect("every item below len is set");
        self.items[at..self.len].rotate_left(1);
        self.hashes.copy_within(at + 1..self.len, at);
        self.len -= 1;
        self.hashes[self.len] = u64::MAX;
        item
    }

    /// Returns the number of items of the left neighbour after [`SortedRun::rebalance`].
    pub(super) fn even(left: &Self, right: &Self) -> usize {
        usize::midpoint(left.len, right.len)
    }

    /// Moves items between two neighbours until their numbers differ by at most one.
    pub(super) fn rebalance(&mut self, right: &mut Self) {
        let half = SortedRun::even(self, right);
        if self.len > half {
            let moved = self.len - half;
            right.hashes.copy_within(..right.len, moved);
            right.items[..right.len + moved].rotate_right(moved);
            self.move_items(half, right, 0, moved);
        } else {
            let moved = half - self.len;
            right.move_items(0, self, self.len, moved);
            right.hashes.copy_within(moved..right.len + moved, 0);
            right.hashes[right.len..right.len + moved].fill(u64::MAX);
            right.items[..right.len + moved].rotate_left(moved);
        }
    }

    /// Takes all items of the right neighbour.
    pub(super) fn append(&mut self, mut right: Self) {
        right.move_items(0, self, self.len, right.len);
    }

    /// Moves `count` items at `from` to the free positions of `other` at `to`.
    fn move_items(&mut self, from: usize, other: &mut Self, to: usize, count: usize) {
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
