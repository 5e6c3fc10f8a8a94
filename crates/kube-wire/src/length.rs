//! Lengths of text and bytes: of data that `Debug` must not show, and of text that is cut.

use std::fmt;

/// The length of something that is not to be shown.
pub(crate) struct Length(pub(crate) usize);

impl fmt::Debug for Length {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes", self.0)
    }
}

/// The largest end of a character in `text` that is at most `max`.
pub(crate) fn char_boundary(text: &str, max: usize) -> usize {
    let mut end = max.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    end
}
