//! Kubernetes' protobuf.

mod kinds;
mod list;
mod object;
mod watch;

pub(crate) use self::list::list;
pub(crate) use self::object::object;
pub(crate) use self::watch::watch;

use crate::memory::Bound;

/// Allocations of readers that only split the input: joined pieces, and the message of an error.
const CUTTING: Bound = Bound {
    base: 256 << 10,
    per_byte: 16,
};
