//! Keys of objects within a collection.

use std::fmt;
use std::ops::Bound;
use std::sync::Arc;

/// `namespace/name`, or `name` for cluster-scoped kinds.
///
/// Ordered as text, like the keys in etcd and therefore the lists of the API.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Key(Arc<str>);

impl Key {
    pub(crate) fn new(namespace: Option<&str>, name: &str) -> Key {
        match namespace {
            Some(namespace) => Key(format!("{namespace}/{name}").into()),
            None => Key(name.into()),
        }
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    pub(crate) fn namespace(&self) -> Option<&str> {
        self.0.split_once('/').map(|(namespace, _)| namespace)
    }

    pub(crate) fn name(&self) -> &str {
        self.0.split_once('/').map_or(&self.0, |(_, name)| name)
    }

    /// Returns the range of all keys, or of the keys of a namespace.
    pub(crate) fn range(namespace: Option<&str>) -> (Bound<Key>, Bound<Key>) {
        match namespace {
            // '0' is the character after '/'.
            Some(ns) => (
                Bound::Included(Key(format!("{ns}/").into())),
                Bound::Excluded(Key(format!("{ns}0").into())),
            ),
            None => (Bound::Unbounded, Bound::Unbounded),
        }
    }

    /// Parses the key in a continue token.
    pub(crate) fn from_text(text: &str) -> Key {
        Key(text.into())
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
