//! Encoded objects, and how they are decoded.

use std::borrow::Cow;
use std::error::Error as StdError;

use bytes::Bytes;
use kube_wire::selector::Selector;
use kube_wire::{FieldMask, Identity, json, protobuf};
use serde::de::DeserializeOwned;

use super::{Key, Kind};
use crate::error::Error;
use crate::util::panics;

/// The encoding of an object.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Format {
    /// JSON text.
    Json,
    /// A protobuf message of this kind, without an envelope.
    Protobuf(protobuf::Schema),
}

impl Format {
    /// Returns the object's name, namespace, uid and version.
    pub(crate) fn identity(self, bytes: &[u8]) -> Result<Identity<'_>, Error> {
        match self {
            Format::Json => json::identity(bytes).map_err(invalid_object),
            Format::Protobuf(schema) => schema.identity(bytes).map_err(invalid_object),
        }
    }

    /// Decodes the object, except for the masked fields.
    pub(crate) fn decode<K: DeserializeOwned>(
        self,
        bytes: &[u8],
        mask: &FieldMask,
    ) -> Result<K, Box<dyn StdError + Send + Sync>> {
        match self {
            Format::Json => json::decode(bytes, mask).map_err(Into::into),
            Format::Protobuf(schema) => schema.decode(bytes, mask).map_err(Into::into),
        }
    }

    /// Copies the object, except for the masked fields.
    pub(crate) fn prune(self, bytes: &[u8], mask: &FieldMask, out: &mut Vec<u8>) -> Result<(), Error> {
        match self {
            Format::Json => json::prune(bytes, mask, out).map_err(invalid_object),
            Format::Protobuf(schema) => schema.prune(bytes, mask, out).map_err(invalid_object),
        }
    }

    /// Writes an object with part of this one's metadata: labels, uid, owners, finalizers, times. Name and version are
    /// stored elsewhere, and annotations may be as large as the rest of the object.
    pub(crate) fn outline(self, bytes: &[u8], out: &mut Vec<u8>) -> Result<(), Error> {
        match self {
            Format::Json => json::outline(bytes, out).map_err(invalid_object),
            Format::Protobuf(schema) => schema.outline(bytes, out).map_err(invalid_object),
        }
    }

    /// Decodes a part of the object's metadata.
    pub(crate) fn metadata<T: DeserializeOwned>(self, bytes: &[u8]) -> Result<T, Error> {
        match self {
            Format::Json => json::metadata(bytes, &FieldMask::none()).map_err(invalid_object),
            Format::Protobuf(schema) => schema.metadata(bytes, &FieldMask::none()).map_err(invalid_object),
        }
    }

    /// Returns whether the object's labels match.
    pub(crate) fn matches(self, bytes: &[u8], selector: &Selector) -> Result<bool, Error> {
        match self {
            Format::Json => json::matches(bytes, selector).map_err(invalid_object),
            Format::Protobuf(schema) => schema.matches(bytes, selector).map_err(invalid_object),
        }
    }

    /// Returns a label of the object.
    pub(crate) fn label<'a>(self, bytes: &'a [u8], name: &str) -> Result<Option<Cow<'a, str>>, Error> {
        match self {
            Format::Json => json::label(bytes, name).map_err(invalid_object),
            Format::Protobuf(schema) => schema.label(bytes, name).map_err(invalid_object),
        }
    }

    /// Returns an annotation of the object.
    pub(crate) fn annotation<'a>(self, bytes: &'a [u8], name: &str) -> Result<Option<Cow<'a, str>>, Error> {
        match self {
            Format::Json => json::annotation(bytes, name).map_err(invalid_object),
            Format::Protobuf(schema) => schema.annotation(bytes, name).map_err(invalid_object),
        }
    }

    /// Decodes the object with this key, except for the masked fields.
    pub(crate) fn object<K: Kind>(self, bytes: &[u8], key: &Key, mask: &FieldMask) -> Result<K, Error> {
        // `Deserialize` may be code of the user.
        let object: K = panics::caught(|| self.decode(bytes, mask))
            .map_err(|panic| Error::user_code(format!("decoding {key} panicked: {panic}")))?
            .map_err(|source| Error::bad_data_from(format!("cannot decode {key}"), source))?;
        // An object with contradictory names would be stored under a wrong key.
        let meta = object.meta();
        let namespace = meta
            .namespace
            .as_deref()
            .filter(|namespace| !namespace.is_empty());
        if !key.is(namespace, meta.name.as_deref().unwrap_or_default()) {
            return Err(Error::bad_data(format!("{key}: conflicting `metadata.name`")));
        }
        Ok(object)
    }
}

/// An encoded object.
#[derive(Debug, Clone)]
pub(crate) struct EncodedObject {
    pub(crate) format: Format,
    pub(crate) bytes: Bytes,
}

impl EncodedObject {
    pub(crate) fn json(text: &Bytes) -> EncodedObject {
        EncodedObject {
            format: Format::Json,
            bytes: text.clone(),
        }
    }

    /// Decodes the object, except for the masked fields.
    pub(crate) fn decode<K: Kind>(&self, key: &Key, mask: &FieldMask) -> Result<K, Error> {
        self.format.object(&self.bytes, key, mask)
    }
}

pub(crate) fn invalid_object(error: impl StdError + Send + Sync + 'static) -> Error {
    Error::bad_data_from("invalid Kubernetes object", error)
}
