//! An object on its way from the wire to the store.

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use kube_wire::{FieldMask, Identity};

use crate::error::Error;
use crate::object::{Encoded, Key, Kind, ResourceVersion, Uid};

/// An object as it came: its key and version, and its body, which becomes a `K` only where someone needs one.
///
/// Sources make it with [`RawObject::json`] or [`RawObject::decoded`]; see [`ListWatch`](crate::source::ListWatch) for an example.
pub struct RawObject<K> {
    key: Key,
    version: ResourceVersion,
    body: Body<K>,
}

/// What an item holds.
pub(crate) enum Body<K> {
    /// Where it stays: the cache takes it over as it is, and objects are large to move.
    Decoded(Arc<K>),
    Encoded {
        encoded: Encoded,
        uid: Option<Uid>,
    },
}

impl<K: Kind> RawObject<K> {
    /// An item from a decoded object, which must have a name and a resource version.
    pub fn decoded(object: K) -> Result<RawObject<K>, Error> {
        let (key, version) = identity_of(&object)?;
        Ok(RawObject {
            key,
            version,
            body: Body::Decoded(Arc::new(object)),
        })
    }

    /// An item from the JSON of an object, which must have a name and a resource version. Whether it is a `K` turns out
    /// when one is needed: of an object that the cache has already in this version, none is.
    pub fn json(text: impl Into<Bytes>) -> Result<RawObject<K>, Error> {
        RawObject::encoded(Encoded::json(&text.into()))
    }

    pub(super) fn encoded(encoded: Encoded) -> Result<RawObject<K>, Error> {
        let bytes = encoded.bytes.clone();
        RawObject::known(&encoded.format.identity(&bytes)?, encoded)
    }

    /// The same where it is known already who it is.
    pub(super) fn known(identity: &Identity<'_>, encoded: Encoded) -> Result<RawObject<K>, Error> {
        let (key, version) = named(&identity.namespace, &identity.name, &identity.resource_version)?;
        let uid = Uid::of(&identity.uid);
        Ok(RawObject {
            key,
            version,
            body: Body::Encoded { encoded, uid },
        })
    }

    /// Namespace and name.
    #[must_use]
    pub fn key(&self) -> &Key {
        &self.key
    }

    /// The resource version of this state.
    #[must_use]
    pub fn version(&self) -> &ResourceVersion {
        &self.version
    }

    /// How many bytes it takes, about: those that came, if it was not decoded yet.
    #[must_use]
    pub fn size(&self) -> usize {
        match &self.body {
            Body::Decoded(_) => size_of::<K>(),
            Body::Encoded { encoded, .. } => encoded.bytes.len(),
        }
    }

    /// Who the object is, if it says so.
    pub(crate) fn uid(&self) -> Option<Uid> {
        match &self.body {
            Body::Decoded(object) => Uid::of(object.meta().uid.as_deref().unwrap_or_default()),
            Body::Encoded { uid, .. } => *uid,
        }
    }

    /// Key, version and the object itself.
    ///
    /// # Errors
    /// If the item was made of bytes that are no `K`.
    pub fn into_parts(self) -> Result<(Key, ResourceVersion, K), Error> {
        let object = match self.body {
            Body::Decoded(object) => Arc::into_inner(object).expect("nobody else holds what an item holds"),
            Body::Encoded { encoded, .. } => encoded.decode(&self.key, &FieldMask::none())?,
        };
        Ok((self.key, self.version, object))
    }

    /// Key, version and the body as it came; nobody else holds it yet.
    pub(crate) fn into_body(self) -> (Key, ResourceVersion, Body<K>) {
        (self.key, self.version, self.body)
    }
}

fn identity_of<K: kube::Resource>(object: &K) -> Result<(Key, ResourceVersion), Error> {
    let meta = object.meta();
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    named(
        &text(&meta.namespace),
        &text(&meta.name),
        &text(&meta.resource_version),
    )
}

fn named(namespace: &str, name: &str, version: &str) -> Result<(Key, ResourceVersion), Error> {
    if name.is_empty() {
        return Err(Error::bad_data("an object without metadata.name"));
    }
    let key = Key::new(Some(namespace), name);
    let version = ResourceVersion::from_metadata(Some(version))
        .ok_or_else(|| Error::bad_data(format!("{key} has no metadata.resourceVersion")))?;
    Ok((key, version))
}

impl<K> fmt::Debug for RawObject<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RawObject({} at {})", self.key, self.version)
    }
}
