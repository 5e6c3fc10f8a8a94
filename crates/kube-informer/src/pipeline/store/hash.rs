//! Hashes of keys and index values.

use std::hash::{BuildHasher, Hash};

use foldhash::fast::FixedState;

use crate::object::Key;

/// The seed of all hashes of one store. It is random, so object names cannot be chosen to collide.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Seed {
    seed: u64,
    /// The bits of a hash in use: all of them, except in tests of collisions.
    bits: u32,
}

impl Seed {
    pub(crate) fn new(seed: u64) -> Seed {
        Seed { seed, bits: u32::MAX }
    }

    /// Returns a seed whose hashes only use these bits.
    #[cfg(test)]
    pub(crate) fn colliding(seed: u64, bits: u32) -> Seed {
        Seed { seed, bits }
    }

    /// Returns the hash of an object: the upper half from the namespace, so that a namespace is a range, the
    /// lower half from the name.
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

    /// Returns the range of all objects of a namespace, which may include colliding namespaces.
    pub(crate) fn namespace(self, namespace: Option<&str>) -> std::ops::RangeInclusive<u64> {
        range(self.half(namespace.unwrap_or_default().as_bytes()))
    }

    /// Returns the hash of an index value.
    pub(super) fn value<V: Hash + ?Sized>(self, value: &V) -> u32 {
        self.fold(FixedState::with_seed(self.seed).hash_one(value))
    }

    /// Returns the hash of an object under an index value.
    pub(super) fn posting(self, value: u32, object: u64) -> u64 {
        self.pair(value, self.fold(object.wrapping_mul(0x9E37_79B9_7F4A_7C15)))
    }

    fn half(self, bytes: &[u8]) -> u32 {
        self.fold(FixedState::with_seed(self.seed).hash_one(bytes))
    }

    #[expect(clippy::cast_possible_truncation, reason = "both halves go into the result")]
    fn fold(self, hash: u64) -> u32 {
        ((hash >> 32) as u32 ^ hash as u32) & self.bits
    }

    #[expect(clippy::unused_self, reason = "reads as the other hashes do")]
    fn pair(self, upper: u32, lower: u32) -> u64 {
        u64::from(upper) << 32 | u64::from(lower)
    }
}

/// Returns the range of all hashes with this upper half.
pub(super) fn range(upper: u32) -> std::ops::RangeInclusive<u64> {
    let start = u64::from(upper) << 32;
    start..=start | u64::from(u32::MAX)
}
