//! How much is taken from a server. A broken or hostile one could send without end.

use crate::error::Error;

/// The largest object and the largest list, in bytes as they are sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Limits {
    pub(crate) object: usize,
    pub(crate) list: u64,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            // No object of Kubernetes is larger than a few megabytes.
            object: 64 << 20,
            // A million large pods fit in.
            list: 16 << 30,
        }
    }
}

impl Limits {
    /// What is wrong with an object that is too large; `what` it is part of.
    pub(super) fn object_exceeded(self, what: &str) -> String {
        let limit = Bytes(self.object as u64);
        format!("{what} of more than {limit}, which is the limit; max_object_bytes() sets another")
    }
}

/// A list is larger than it may be.
pub(crate) fn list_exceeded(limit: u64) -> Error {
    let limit = Bytes(limit);
    Error::bad_data(format!(
        "a list of more than {limit}, which is the limit; max_list_bytes() sets another"
    ))
}

/// A number of bytes as people say it.
struct Bytes(u64);

impl std::fmt::Display for Bytes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 {
            bytes if bytes >= 1 << 20 && bytes % (1 << 20) == 0 => write!(f, "{} MiB", bytes >> 20),
            bytes => write!(f, "{bytes} bytes"),
        }
    }
}
