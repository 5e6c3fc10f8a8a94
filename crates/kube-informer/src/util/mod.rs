//! Helpers that do not depend on Kubernetes.

use std::time::Duration;

pub(crate) mod panics;
pub(crate) mod sync;

/// Maximum duration. Adding it to any point in time does not overflow.
pub(crate) const MAX_DURATION: Duration = Duration::from_secs(365 * 24 * 60 * 60);

/// Shortens a text to at most `max` bytes, at a character boundary.
pub(crate) fn truncate(text: &mut String, max: usize) {
    let mut end = max.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.truncate(end);
}
