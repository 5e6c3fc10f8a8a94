//! The result of a consistency check.

use std::fmt;

use super::{Key, ResourceVersion};

/// Maximum number of keys to keep for each difference.
const MAX_KEYS: usize = 100;
/// Maximum number of keys to print for each difference.
const MAX_PRINTED: usize = 3;

/// The result of comparing a cache with the server.
///
/// Returned by [`SharedInformer::check_consistency`](crate::SharedInformer::check_consistency). `Display` prints the differences.
#[doc(alias = "WatchListConsistencyDetector")]
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ConsistencyReport {
    /// The version that was compared. With several namespaces, each is compared at its own version, and this is the
    /// oldest of them.
    pub version: ResourceVersion,
    /// Number of objects on the server.
    pub objects: usize,
    /// Objects on the server that are not in the cache.
    pub missing: Difference,
    /// Objects in the cache that are not on the server.
    pub unexpected: Difference,
    /// Objects in both whose version or uid differs.
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

    /// Returns whether the cache matches the server.
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

    /// Returns the number of objects.
    #[must_use]
    pub fn count(&self) -> usize {
        self.count
    }

    /// Returns whether there are no such objects.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Returns the keys of the first hundred objects.
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
                "the cache matches the server at version {version}: {objects} objects"
            );
        }
        write!(f, "the cache differs from the server at version {version}")?;
        let mut separator = ": ";
        for (differing, word) in [
            (&self.missing, "missing"),
            (&self.unexpected, "unexpected"),
            (&self.different, "different"),
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
