//! Bytes of objects as `Debug` shows them: how many there are, and not what is in them.

use std::fmt;

/// The length of something that is not to be shown.
pub(crate) struct Length(pub(crate) usize);

impl fmt::Debug for Length {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes", self.0)
    }
}
