//! Object uids.

use std::hash::{BuildHasher, Hasher};
use std::num::NonZeroU64;

use foldhash::fast::FixedState;

/// A hash of an object's `metadata.uid`, which distinguishes successive objects with the same name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Uid(NonZeroU64);

impl Uid {
    /// Returns `None` for an object without a uid.
    pub(crate) fn of(uid: &str) -> Option<Uid> {
        if uid.is_empty() {
            return None;
        }
        let mut hasher = FixedState::default().build_hasher();
        hasher.write(uid.as_bytes());
        Some(Uid(NonZeroU64::new(hasher.finish()).unwrap_or(NonZeroU64::MIN)))
    }
}
