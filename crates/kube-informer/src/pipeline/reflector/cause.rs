//! Why everything is listed anew.

/// Why everything was listed anew.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cause {
    /// The server had forgotten the version.
    Expired,
    /// The server was at an older version, or did not have this one yet.
    Behind,
    /// A watch ended with an error after which it cannot go on.
    Failed,
    /// Several watches in a row broke and brought nothing.
    Fruitless,
    /// The server had said nothing for long.
    Silent,
    /// The kind was not served in between.
    Absent,
    /// The cache was found not to be what the server has.
    Inconsistent,
}

impl Cause {
    pub(crate) const ALL: [Cause; 7] = [
        Cause::Expired,
        Cause::Behind,
        Cause::Failed,
        Cause::Fruitless,
        Cause::Silent,
        Cause::Absent,
        Cause::Inconsistent,
    ];
}
