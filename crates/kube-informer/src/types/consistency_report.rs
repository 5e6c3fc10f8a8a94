//! The result of a consistency check.

use std::fmt;

use super::{Key, ResourceVersion};

/// Maximum number of keys that are kept of each difference.
const MAX_KEYS: usize = 100;
/// Maximum number of keys that are printed of each difference.
const MAX_PRINTED: usize = 3;

/// The result of comparing a cache with the server.
///
/// Returned by [`SharedInformer::check_consistency`](crate::SharedInformer::check_consistency). `Display` prints the differences.
#[doc(alias = "WatchListConsistencyDetector")]
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ConsistencyReport {
    /// The version at which both were compared. Several namespaces are compared at their own versions; this is the oldest of
    /// them.
    pub version: ResourceVersion,
    /// Number of objects on the server.
    pub objects: usize,
    /// On the server, but not in the cache.
    pub missing: Difference,
    /// In the cache, but not on the server.
    pub unexpected: Difference,
    /// In both, but with another version or uid.
    pub different: Difference,
}

/// Objects that differ between the cache and the server.
///
/// Part of a [`ConsistencyReport`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Difference {
    count: usize,
    keys: Vec<Key>,
}

impl ConsistencyReport {
    pub(crate) fn new(version: ResourceVersion) -> ConsistencyReport {
        ConsistencyReport {
            version,
            objects: 0,
            missing: Difference::default(),
            unexpected: Difference::default(),
            different: Difference::default(),
        }
    }

    /// Whether the cache equals the server.
    #[must_use]
    pub fn is_consistent(&self) -> bool {
        self.missing.is_empty() && self.unexpected.is_empty() && self.different.is_empty()
    }
}

impl Difference {
    pub(crate) fn add(&mut self, key: &Key) {
        self.count += 1;
        if self.keys.len() < MAX_KEYS {
            self.keys.push(key.clone());
        }
    }

    /// Number of objects.
    #[must_use]
    pub fn count(&self) -> usize {
        self.count
    }

    /// Whether there are no such objects.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The keys of the first hundred objects.
    #[must_use]
    pub fn keys(&self) -> &[Key] {
        &self.keys
    }
}

impl fmt::Display for ConsistencyReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ConsistencyReport { version, objects, .. } = self;
        if self.is_consistent() {
            return write!(
                f,
                "at version {version} it is what the server has, {objects} objects"
            );
        }
        write!(f, "at version {version} it is not what the server has")?;
        let mut separator = ": ";
        for (differing, word) in [
            (&self.missing, "missing"),
            (&self.unexpected, "no longer there"),
            (&self.different, "of another version"),
        ] {
            if !differing.is_empty() {
                write!(f, "{separator}{} {word} ({differing})", differing.count)?;
                separator = ", ";
            }
        }
        Ok(())
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, key) in self.keys.iter().take(MAX_PRINTED).enumerate() {
            write!(f, "{}{key}", if at == 0 { "" } else { ", " })?;
        }
        if self.count > MAX_PRINTED {
            f.write_str(", …")?;
        }
        Ok(())
    }
}
