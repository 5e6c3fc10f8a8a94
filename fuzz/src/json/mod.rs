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

/// What readers that only cut and look may allocate: pieces that are put together again, the words of an error, and a name with
/// escapes for each field that it is compared with.
const CUTTING: Bound = Bound {
    base: 64 << 10,
    per_byte: 48,
};
