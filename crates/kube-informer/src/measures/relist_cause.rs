//! Why an informer relists.

/// Why an informer relisted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RelistCause {
    /// The server no longer had the version.
    Expired,
    /// The server was at an older version, or did not have this one yet.
    Behind,
    /// A watch failed in a way that rules out another watch from the same version.
    Failed,
    /// Several watches in a row failed without an event.
    Fruitless,
    /// The server was silent for too long.
    Silent,
    /// The kind was not served for a while.
    Absent,
    /// A consistency check found differences.
    Inconsistent,
}

impl RelistCause {
    pub(crate) const ALL: [RelistCause; 7] = [
        RelistCause::Expired,
        RelistCause::Behind,
        RelistCause::Failed,
        RelistCause::Fruitless,
        RelistCause::Silent,
        RelistCause::Absent,
        RelistCause::Inconsistent,
    ];
}
