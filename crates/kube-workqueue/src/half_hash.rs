//! Half of a hash, which is kept beside what it is of: it tells most others apart without a look at them.

/// What is kept of a hash.
#[allow(
    clippy::cast_possible_truncation,
    reason = "half of it tells items apart well enough"
)]
pub(crate) fn half(hash: u64) -> u32 {
    hash as u32
}

/// A hash for a table, which uses the lowest and the highest bits, from what was kept of it.
pub(crate) fn spread(half: u32) -> u64 {
    u64::from(half).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}
