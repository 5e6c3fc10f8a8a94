//! Lengths of text and bytes.

use std::fmt;

/// Formats as a length, for `Debug` output that must not contain the data.
pub(crate) struct Length(pub(crate) usize);

impl fmt::Debug for Length {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes", self.0)
    }
}

/// Returns the largest character boundary of `text` that is at most `max`.
pub(crate) fn char_boundary(text: &str, max: usize) -> usize {
    let mut end = max.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    end
}
