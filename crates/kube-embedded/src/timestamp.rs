//! Timestamps in the format of the API.

use jiff::Timestamp;

/// Formats a time for the API, in seconds.
pub(crate) fn timestamp(at: Timestamp) -> String {
    at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}
