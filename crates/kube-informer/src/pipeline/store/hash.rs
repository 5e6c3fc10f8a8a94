//! Hashes of keys and index values.

use std::hash::{BuildHasher, Hash};

use foldhash::fast::FixedState;

use crate::object::Key;

/// What the hashes of one store begin with. It is random, so nobody who names objects can make them collide.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Seed {
    seed: u64,
    /// The bits of a hash that count. Few of them make collisions, which are too rare to be met otherwise.
    #[cfg(test)]
    bits: u32,
}

impl Seed {
    pub(crate) fn new(seed: u64) -> Seed {
        Seed {
            seed,
            #[cfg(test)]
            bits: u32::MAX,
        }
    }

    /// A seed whose hashes differ in these bits only.
    #[cfg(test)]
    pub(crate) fn colliding(seed: u64, bits: u32) -> Seed {
        Seed { seed, bits }
    }

    /// The place of an object: the upper half by namespace, so that a namespace is a range, the lower half by name.
    pub(crate) fn object(self, namespace: Option<&str>, name: &str) -> u64 {
        self.pair(
            self.half(namespace.unwrap_or_default().as_bytes()),
            self.half(name.as_bytes()),
        )
    }

    pub(crate) fn key(self, key: &Key) -> u64 {
        let (namespace, name) = key.parts();
        self.object(namespace, name)
    }

    /// The places of everything in a namespace, and of nothing else but what collides with it.
    pub(crate) fn namespace(self, namespace: Option<&str>) -> std::ops::RangeInclusive<u64> {
        range(self.half(namespace.unwrap_or_default().as_bytes()))
    }

    /// The hash of an index value.
    pub(super) fn value<V: Hash + ?Sized>(self, value: &V) -> u32 {
        self.fold(FixedState::with_seed(self.seed).hash_one(value))
    }

    /// The place of an object under an index value.
    pub(super) fn posting(self, value: u32, object: u64) -> u64 {
        self.pair(value, self.fold(object.wrapping_mul(0x9E37_79B9_7F4A_7C15)))
    }

    fn half(self, bytes: &[u8]) -> u32 {
        self.fold(FixedState::with_seed(self.seed).hash_one(bytes))
    }

    #[expect(clippy::cast_possible_truncation, reason = "both halves go into the result")]
    #[cfg_attr(not(test), expect(clippy::unused_self, reason = "tests make hashes collide"))]
    fn fold(self, hash: u64) -> u32 {
        let folded = (hash >> 32) as u32 ^ hash as u32;
        #[cfg(test)]
        let folded = folded & self.bits;
        folded
    }

    #[expect(clippy::unused_self, reason = "reads as the other hashes do")]
    fn pair(self, upper: u32, lower: u32) -> u64 {
        u64::from(upper) << 32 | u64::from(lower)
    }
}

/// All places whose upper half is this.
pub(super) fn range(upper: u32) -> std::ops::RangeInclusive<u64> {
    let start = u64::from(upper) << 32;
    start..=start | u64::from(u32::MAX)
}
