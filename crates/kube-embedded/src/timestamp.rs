//! Times in the form of the API.

use jiff::Timestamp;

/// Returns a time as the API writes it, in seconds.
pub(crate) fn timestamp(at: Timestamp) -> String {
    at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}
