//! What the cache keeps of an object: the object itself, or its bytes.
//!
//! Nothing in the pipeline but this room knows which of the two it is. A typed object of a large kind takes ten times
//! the memory of its bytes, because Rust's types for Kubernetes are made of options of options; so a cache may keep the
//! bytes, pruned and compressed, and make an object of them whenever someone looks.

mod compress;
mod decoded;
mod packed;
mod packer;
mod packing;
#[cfg(test)]
mod tests;

use std::sync::Arc;

pub(crate) use self::packed::PackedObject;
pub(crate) use self::packer::{Compactor, PackedObjects};
pub(crate) use self::packing::{PackingContext, Place, TransformedMetadata};

use crate::error::Error;
use crate::object::Key;

/// What the cache keeps of the objects of a kind. Listers, indexes, handlers and snapshots are the same for both.
///
/// For 30,000 pods of a busy cluster the figures are in `docs/benchmarks`. In short: a small struct of your own with the
/// fields you need, as the informer's kind, is the smallest and the fastest of all. Where whole objects are needed,
/// `Decoded` is right for kinds with some hundred objects or with objects that are read all the time, and `Packed` for
/// those with thousands that are read now and then.
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
    /// Every object as a `K`. Reading costs nothing.
    #[default]
    Decoded,
    /// Every object as its bytes, without the fields that are left out, compressed once it has been at rest for a while
    /// with a dictionary of what objects of this kind have in common. It becomes a `K` when it is read, which takes some
    /// ten microseconds for a pod; what someone still holds, and what was read last, is not decoded again. Key, version,
    /// uid and labels are read without decoding.
    ///
    /// A transform is applied whenever an object is decoded, so it must do the same each time. Questions about metadata that it
    /// changes, such as [`Object::label`](crate::Object::label), decode the object.
    Packed,
}

/// An object, in the form that the cache keeps.
pub(crate) enum Value<K> {
    Decoded(Arc<K>),
    Packed(Arc<PackedObject<K>>),
}

impl<K> Value<K> {
    /// Whether both are one object in memory.
    pub(crate) fn ptr_eq(&self, other: &Value<K>) -> bool {
        match (self, other) {
            (Value::Decoded(a), Value::Decoded(b)) => Arc::ptr_eq(a, b),
            (Value::Packed(a), Value::Packed(b)) => Arc::ptr_eq(a, b),
            _ => false,
        }
    }

    /// The object itself.
    pub(crate) fn object(&self, key: &Key) -> Arc<K> {
        match self {
            Value::Decoded(object) => Arc::clone(object),
            Value::Packed(packed) => packed.object(key),
        }
    }

    /// The object itself, or why there is none: of those that are packed, its type or the transform refused it, which they
    /// did not do before.
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
            Value::Packed(_) => "PackedObject",
        })
    }
}
