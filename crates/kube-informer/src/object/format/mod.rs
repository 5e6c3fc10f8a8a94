//! How the cache keeps objects: decoded or as bytes.
//!
//! Only this module depends on the difference. A typed object of a large kind takes ten times the memory of its bytes,
//! because its Rust type consists of nested options. A cache may therefore keep pruned and compressed bytes, and decode
//! an object when it is read.

mod compactor;
#[cfg(feature = "zstd")]
mod compress;
#[cfg(not(feature = "zstd"))]
#[path = "uncompressed.rs"]
mod compress;
mod decode_cache;
mod packed;
mod packing;
#[cfg(test)]
mod tests;

use std::sync::Arc;

pub(crate) use self::compactor::{Compactor, PackedObjects};
pub(crate) use self::packed::PackedObject;
pub(crate) use self::packing::{Allocation, PackingContext, TransformedMetadata};

use crate::error::Error;
use crate::object::Key;

/// How the cache keeps the objects of a kind. Listers, indexes, handlers and snapshots work the same with both.
///
/// `docs/benchmarks` compares them with 30,000 pods of a busy cluster. A small struct with only the needed fields, as
/// the informer's kind, is the smallest and fastest. For whole objects, `Decoded` is suitable for kinds with some
/// hundred objects or with objects that are read often, and `Packed` for thousands of objects that are read rarely.
///
/// ```no_run
/// # fn example(client: kube::Client) {
/// use k8s_openapi::api::core::v1::Pod;
/// use kube_informer::{CacheFormat, SharedInformer};
///
/// let pods = SharedInformer::<Pod>::builder(client).cache_format(CacheFormat::Packed).build();
/// # }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CacheFormat {
    /// Keeps every object as a `K`. Reading costs nothing.
    #[default]
    Decoded,
    /// Keeps every object as its bytes, without the masked fields.
    ///
    /// With the feature `zstd`, objects that have not changed for a while are compressed, with a dictionary of the content
    /// that objects of this kind have in common. An object is decoded when it is read, which takes about ten microseconds for a pod. Objects
    /// that are in use or were read recently are not decoded again. Key, version, uid and labels are read without
    /// decoding.
    ///
    /// A transform is applied whenever an object is decoded, so it must be deterministic. Methods that read metadata
    /// which it changes, such as [`Object::label`](crate::Object::label), decode the object.
    Packed,
}

/// An object in the form that the cache keeps.
pub(crate) enum Value<K> {
    Decoded(Arc<K>),
    Packed(Arc<PackedObject<K>>),
}

impl<K> Value<K> {
    /// Returns whether both are the same object in memory.
    pub(crate) fn ptr_eq(&self, other: &Value<K>) -> bool {
        match (self, other) {
            (Value::Decoded(a), Value::Decoded(b)) => Arc::ptr_eq(a, b),
            (Value::Packed(a), Value::Packed(b)) => Arc::ptr_eq(a, b),
            _ => false,
        }
    }

    /// Returns the object.
    pub(crate) fn object(&self, key: &Key) -> Arc<K> {
        match self {
            Value::Decoded(object) => Arc::clone(object),
            Value::Packed(packed) => packed.object(key),
        }
    }

    /// Returns the object, or an error if a packed object cannot be decoded again, because its type or the transform is
    /// not deterministic.
    pub(crate) fn try_object(&self, key: &Key) -> Result<Arc<K>, Error> {
        match self {
            Value::Decoded(object) => Ok(Arc::clone(object)),
            Value::Packed(packed) => packed.try_object(key),
        }
    }
}

impl<K> Clone for Value<K> {
    fn clone(&self) -> Self {
        match self {
            Value::Decoded(object) => Value::Decoded(Arc::clone(object)),
            Value::Packed(packed) => Value::Packed(Arc::clone(packed)),
        }
    }
}

impl<K> std::fmt::Debug for Value<K> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Value::Decoded(_) => "Decoded",
            Value::Packed(_) => "Packed",
        })
    }
}
