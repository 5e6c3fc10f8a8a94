//! Kubernetes' JSON.

mod field_mask;
mod list;
mod object;
mod watch;

pub(crate) use self::field_mask::skip;
pub(crate) use self::list::list;
pub(crate) use self::object::object;
pub(crate) use self::watch::watch;

use crate::memory::Bound;

/// Allocations of readers that only split the input: joined pieces, the message of an error, and an unescaped
/// name for each field it is compared with.
const CUTTING: Bound = Bound {
    base: 64 << 10,
    per_byte: 48,
};
