//! Limits for responses. A broken or hostile server could send without end.

use crate::error::Error;

/// Maximum size of an object and of a list, in bytes as sent by the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Limits {
    pub(crate) object: usize,
    pub(crate) list: u64,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            // Objects of Kubernetes are not larger than a few megabytes.
            object: 64 << 20,
            // Enough for a million large pods.
            list: 16 << 30,
        }
    }
}

impl Limits {
    /// Returns the message for an object that exceeds the limit.
    pub(super) fn object_exceeded(self, what: &str) -> String {
        let limit = ByteSize(self.object as u64);
        format!("{what} exceeds the limit of {limit}: raise it with max_object_bytes()")
    }
}

/// Returns the error for a list that exceeds the limit.
pub(crate) fn list_exceeded(limit: u64) -> Error {
    let limit = ByteSize(limit);
    Error::bad_data(format!(
        "list exceeds the limit of {limit}: raise it with max_list_bytes()"
    ))
}

/// Returns the error for a list that repeats a continue token.
pub(crate) fn endless_list() -> Error {
    Error::bad_data("duplicate continue token: the list would never end")
}

/// A number of bytes, printed in MiB where possible.
struct ByteSize(u64);

impl std::fmt::Display for ByteSize {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 {
            bytes if bytes >= 1 << 20 && bytes % (1 << 20) == 0 => write!(f, "{} MiB", bytes >> 20),
            bytes => write!(f, "{bytes} bytes"),
        }
    }
}
