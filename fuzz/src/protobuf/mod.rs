//! Kubernetes' protobuf.

mod kinds;
mod list;
mod object;
mod watch;

pub(crate) use self::list::list;
pub(crate) use self::object::object;
pub(crate) use self::watch::watch;

use crate::memory::Bound;

/// What readers that only cut and look may allocate: pieces that are put together again, and the words of an error.
const CUTTING: Bound = Bound {
    base: 256 << 10,
    per_byte: 16,
};
