//! An object on its way from the wire to the store.

use std::fmt;
use std::sync::Arc;

use crate::error::Error;
use crate::key::Key;
use crate::version::Version;

/// An object as it came: its key and version, and its body, which becomes a `K` only where someone needs one.
pub struct Item<K> {
    key: Key,
    version: Version,
    body: Body<K>,
}

enum Body<K> {
    /// Where it stays: the cache takes it over as it is, and objects are large to move.
    Decoded(Arc<K>),
}

impl<K: kube::Resource> Item<K> {
    /// An item from a decoded object, which must have a name and a resource version.
    pub fn decoded(object: K) -> Result<Item<K>, Error> {
        let meta = object.meta();
        let name = match meta.name.as_deref() {
            Some(name) if !name.is_empty() => name,
            _ => return Err(Error::bad_data("an object without metadata.name")),
        };
        let key = Key::new(meta.namespace.as_deref(), name);
        let version = Version::told(meta.resource_version.as_deref())
            .ok_or_else(|| Error::bad_data(format!("{key} has no metadata.resourceVersion")))?;
        Ok(Item {
            key,
            version,
            body: Body::Decoded(Arc::new(object)),
        })
    }

    /// Namespace and name.
    #[must_use]
    pub fn key(&self) -> &Key {
        &self.key
    }

    /// The resource version of this state.
    #[must_use]
    pub fn version(&self) -> &Version {
        &self.version
    }

    /// Key, version and the object itself.
    #[must_use]
    pub fn into_parts(self) -> (Key, Version, K) {
        let (key, version, object) = self.into_shared();
        let object = Arc::into_inner(object).expect("nobody else holds what an item holds");
        (key, version, object)
    }

    /// Key, version and the object as the cache will hold it; nobody else holds it yet.
    pub(crate) fn into_shared(self) -> (Key, Version, Arc<K>) {
        match self.body {
            Body::Decoded(object) => (self.key, self.version, object),
        }
    }
}

impl<K> fmt::Debug for Item<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Item({} at {})", self.key, self.version)
    }
}
