//! Objects received from a source.

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use kube_wire::{FieldMask, Identity};

use crate::error::Error;
use crate::object::{EncodedObject, Key, Kind, ResourceVersion, Uid};

/// An object as received: its key, its version and its body, which is decoded only when needed.
///
/// Sources create it with [`RawObject::json`] or [`RawObject::decoded`]; see
/// [`ListWatch`](crate::source::ListWatch) for an example.
pub struct RawObject<K> {
    key: Key,
    version: ResourceVersion,
    body: ObjectBody<K>,
}

/// The body of a received object.
pub(crate) enum ObjectBody<K> {
    /// In an `Arc`, because objects are large to move and the cache keeps the same allocation.
    Decoded(Arc<K>),
    Encoded {
        encoded: EncodedObject,
        uid: Option<Uid>,
    },
}

impl<K: Kind> RawObject<K> {
    /// Creates an item from a decoded object, which must have a name and a resource version.
    pub fn decoded(object: K) -> Result<RawObject<K>, Error> {
        let (key, version) = identity_of(&object)?;
        Ok(RawObject {
            key,
            version,
            body: ObjectBody::Decoded(Arc::new(object)),
        })
    }

    /// Creates an item from the JSON of an object, which must have a name and a resource version.
    ///
    /// The JSON is decoded to a `K` when needed, so an invalid object may be reported later. Objects that the
    /// cache has in this version are not decoded.
    pub fn json(text: impl Into<Bytes>) -> Result<RawObject<K>, Error> {
        RawObject::encoded(EncodedObject::json(&text.into()))
    }

    pub(super) fn encoded(encoded: EncodedObject) -> Result<RawObject<K>, Error> {
        let bytes = encoded.bytes.clone();
        RawObject::with_identity(&encoded.format.identity(&bytes)?, encoded)
    }

    /// Creates an item whose identity was already parsed.
    pub(super) fn with_identity(
        identity: &Identity<'_>,
        encoded: EncodedObject,
    ) -> Result<RawObject<K>, Error> {
        let (key, version) =
            key_and_version(&identity.namespace, &identity.name, &identity.resource_version)?;
        let uid = Uid::of(&identity.uid);
        Ok(RawObject {
            key,
            version,
            body: ObjectBody::Encoded { encoded, uid },
        })
    }

    /// Returns the namespace and name.
    #[must_use]
    pub fn key(&self) -> &Key {
        &self.key
    }

    /// Returns the resource version of this state.
    #[must_use]
    pub fn version(&self) -> &ResourceVersion {
        &self.version
    }

    /// Returns the approximate size in bytes: the received bytes, or the size of the decoded type.
    #[must_use]
    pub fn size(&self) -> usize {
        match &self.body {
            ObjectBody::Decoded(_) => size_of::<K>(),
            ObjectBody::Encoded { encoded, .. } => encoded.bytes.len(),
        }
    }

    /// Returns the uid of the object, if it has one.
    pub(crate) fn uid(&self) -> Option<Uid> {
        match &self.body {
            ObjectBody::Decoded(object) => Uid::of(object.meta().uid.as_deref().unwrap_or_default()),
            ObjectBody::Encoded { uid, .. } => *uid,
        }
    }

    /// Returns key, version and the decoded object.
    ///
    /// # Errors
    /// If the bytes cannot be decoded to a `K`.
    pub fn into_parts(self) -> Result<(Key, ResourceVersion, K), Error> {
        let object = match self.body {
            ObjectBody::Decoded(object) => {
                Arc::into_inner(object).expect("the item is the only owner of its object")
            }
            ObjectBody::Encoded { encoded, .. } => encoded.decode(&self.key, &FieldMask::none())?,
        };
        Ok((self.key, self.version, object))
    }

    /// Returns key, version and the body, which has no other owner.
    pub(crate) fn into_body(self) -> (Key, ResourceVersion, ObjectBody<K>) {
        (self.key, self.version, self.body)
    }
}

fn identity_of<K: kube::Resource>(object: &K) -> Result<(Key, ResourceVersion), Error> {
    let meta = object.meta();
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    key_and_version(
        &text(&meta.namespace),
        &text(&meta.name),
        &text(&meta.resource_version),
    )
}

fn key_and_version(namespace: &str, name: &str, version: &str) -> Result<(Key, ResourceVersion), Error> {
    if name.is_empty() {
        return Err(Error::bad_data("invalid object: `metadata.name` is missing"));
    }
    let key = Key::new(Some(namespace), name);
    let version = ResourceVersion::from_metadata(Some(version)).ok_or_else(|| {
        Error::bad_data(format!(
            "invalid object {key}: `metadata.resourceVersion` is missing or zero"
        ))
    })?;
    Ok((key, version))
}

impl<K> fmt::Debug for RawObject<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RawObject({} at {})", self.key, self.version)
    }
}
