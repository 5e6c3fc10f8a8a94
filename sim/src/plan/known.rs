//! What the library is known to get wrong.

use clap::ValueEnum;

/// A fault of the library that is not fixed yet. Plans contain what shows it only on request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum KnownFault {
    /// A list that lags makes the next one deliver every unchanged object.
    StaleLists,
    /// Watches that are never answered are repeated without a list.
    UnansweredWatches,
    /// Watches that are silent from the start are repeated without a list.
    SilentWatches,
    /// Packed objects answer labels from metadata that was not transformed.
    PackedTransforms,
    /// Slow lists that fail near their end are repeated without a growing wait.
    SlowLists,
    /// Streaming lists that are throttled are repeated without a list.
    ThrottledStreams,
    /// Objects of another namespace are accepted. This is fixed, but plans also draw answers that no informer can tell from right
    /// ones: an empty list of another namespace.
    OtherNamespaces,
    /// An object with the same version and another uid is taken for the one that is cached. This is fixed, but plans also draw such
    /// objects where no list shows them.
    RepeatedVersions,
    /// A relist after an inconsistency delivers every unchanged object. This is fixed, but plans also draw streaming lists that leave
    /// out an object, which no informer can notice before the next check.
    LostEvents,
    /// A cache that was emptied because its kind was removed keeps its version, so that comparisons find a difference.
    ChecksOfRemovedKinds,
}

impl KnownFault {
    /// Faults that are fixed and that every plan may contain.
    pub const FIXED: &[KnownFault] = &[
        KnownFault::StaleLists,
        KnownFault::UnansweredWatches,
        KnownFault::SilentWatches,
        KnownFault::PackedTransforms,
        KnownFault::SlowLists,
        KnownFault::ThrottledStreams,
    ];
}
