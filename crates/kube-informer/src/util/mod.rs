//! Helpers that have nothing to do with Kubernetes.

use std::time::Duration;

pub(crate) mod panics;
pub(crate) mod sync;

/// The longest duration that is accepted: it can be added to any point in time without an overflow.
pub(crate) const MAX_DURATION: Duration = Duration::from_secs(365 * 24 * 60 * 60);

/// Shortens a text to at most `max` bytes, at the end of a character.
pub(crate) fn truncate(text: &mut String, max: usize) {
    let mut end = max.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.truncate(end);
}
