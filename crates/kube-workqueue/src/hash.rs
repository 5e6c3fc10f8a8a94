//! Half of a 64-bit hash, stored beside the value it belongs to.
//!
//! Comparing the halves first avoids most comparisons of values, and a table can grow without hashing its values again.

/// Returns the lower half of a hash.
#[allow(
    clippy::cast_possible_truncation,
    reason = "32 bits are enough to tell most values apart"
)]
pub(crate) fn half(hash: u64) -> u32 {
    hash as u32
}

/// Expands a stored half to a hash for a hash table, which uses the lowest and the highest bits.
pub(crate) fn spread(half: u32) -> u64 {
    u64::from(half).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}
