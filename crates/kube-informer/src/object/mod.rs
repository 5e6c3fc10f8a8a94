//! Objects in the cache, and how they are identified.

pub(crate) mod built_in;
mod encoding;
mod entry;
pub(crate) mod format;
mod kind;
mod selector;
mod transform;

use std::borrow::Cow;
use std::fmt;
use std::ops::Deref;
use std::sync::{Arc, OnceLock};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use kube_wire::selector::Selector;
use serde::Deserialize;
use serde::de::IgnoredAny;

use self::format::{PackedObject, TransformedMetadata, Value};

pub(crate) use self::encoding::{EncodedObject, Format, invalid_object};
pub(crate) use self::entry::Entry;
pub use self::kind::Kind;
pub(crate) use self::kind::{complete, is_cluster_scoped};
pub use self::selector::selector_of;
pub(crate) use self::transform::Transform;
pub(crate) use crate::types::{Key, ResourceVersion, Uid, WatchedResource};

/// An object in the cache, as returned by handlers, streams, listers and indexes.
///
/// Dereferences to `K` for reading. It cannot be changed, because it is shared with the cache and all other readers. It
/// contains its key and version. Cloning it increments a counter. [`Object::to_arc`] returns a plain `Arc<K>`.
///
/// ```
/// # use kube_informer::Object;
/// # use k8s_openapi::api::core::v1::Pod;
/// fn handler(pod: &mut Object<Pod>) -> Option<String> {
///     pod.metadata.name.clone() // a field can be read
/// }
/// ```
///
/// ```compile_fail,E0594
/// # use kube_informer::Object;
/// # use k8s_openapi::api::core::v1::Pod;
/// fn handler(pod: &mut Object<Pod>) -> Option<String> {
///     pod.metadata.name = None; // and not be changed
///     pod.metadata.name.clone()
/// }
/// ```
pub struct Object<K> {
    entry: Arc<Entry<K>>,
    /// The decoded form of a packed object, after the first access.
    decoded: OnceLock<Arc<K>>,
}

impl<K> Object<K> {
    pub(crate) fn new(entry: Arc<Entry<K>>) -> Object<K> {
        Object {
            entry,
            decoded: OnceLock::new(),
        }
    }

    pub(crate) fn entry(&self) -> &Arc<Entry<K>> {
        &self.entry
    }

    /// Returns the namespace and name.
    #[doc(alias = "ObjectToName")]
    #[must_use]
    pub fn key(&self) -> &Key {
        self.entry.key()
    }

    /// Returns the resource version of this state of the object.
    #[must_use]
    pub fn version(&self) -> &ResourceVersion {
        self.entry.version()
    }

    /// Returns the object as an `Arc`.
    #[must_use]
    pub fn to_arc(&self) -> Arc<K> {
        match self.entry.value() {
            Value::Decoded(object) => Arc::clone(object),
            Value::Packed(_) => Arc::clone(self.unpacked()),
        }
    }

    fn unpacked(&self) -> &Arc<K> {
        self.decoded.get_or_init(|| self.entry.object())
    }

    /// Returns whether both are the same object in memory, for example after a list without changes.
    #[must_use]
    pub fn ptr_eq(this: &Object<K>, other: &Object<K>) -> bool {
        this.entry.value().ptr_eq(other.entry.value())
    }
}

/// Methods that read a packed object without decoding it, in less than a microsecond, unless a transform changed this
/// part of its metadata. For other objects they read the metadata.
impl<K: kube::Resource> Object<K> {
    /// Returns whether the labels match.
    #[must_use]
    pub fn matches(&self, selector: &Selector) -> bool {
        self.entry.matches(selector)
    }

    /// Returns a label, if the object has it.
    #[must_use]
    pub fn label(&self, name: &str) -> Option<Cow<'_, str>> {
        match self.metadata(|transformed| transformed.labels) {
            Metadata::Object(meta) => meta.labels.as_ref()?.get(name).map(Cow::from),
            Metadata::Packed(packed) => packed.label(name).map(Cow::Owned),
        }
    }

    /// Returns an annotation, if the object has it. For a compressed object this takes some microseconds.
    #[must_use]
    pub fn annotation(&self, name: &str) -> Option<Cow<'_, str>> {
        match self.metadata(|transformed| transformed.annotations) {
            Metadata::Object(meta) => meta.annotations.as_ref()?.get(name).map(Cow::from),
            Metadata::Packed(packed) => packed.annotation(name).map(Cow::Owned),
        }
    }

    /// Returns `metadata.uid`, which identifies the object even if another one has the same name later.
    #[must_use]
    pub fn uid(&self) -> Option<Cow<'_, str>> {
        match self.metadata(|transformed| transformed.identity) {
            Metadata::Object(meta) => meta.uid.as_ref().map(Cow::from),
            Metadata::Packed(packed) => packed.uid().map(Cow::Owned),
        }
    }

    /// Returns `metadata.ownerReferences`: the owners of the object.
    #[must_use]
    pub fn owner_references(&self) -> Cow<'_, [OwnerReference]> {
        match self.metadata(|transformed| transformed.identity) {
            Metadata::Object(meta) => meta.owner_references.as_deref().unwrap_or_default().into(),
            Metadata::Packed(packed) => packed.metadata::<OwnerReferences>().owner_references.into(),
        }
    }

    /// Returns whether the object is being deleted and waits for its finalizers.
    #[must_use]
    pub fn is_terminating(&self) -> bool {
        match self.metadata(|transformed| transformed.identity) {
            Metadata::Object(meta) => meta.deletion_timestamp.is_some(),
            Metadata::Packed(packed) => packed
                .metadata::<DeletionTimestamp>()
                .deletion_timestamp
                .is_some(),
        }
    }

    /// Returns the source of the metadata: the bytes of a packed object, unless a transform changed the metadata.
    fn metadata(&self, is_transformed: impl Fn(TransformedMetadata) -> bool) -> Metadata<'_, K> {
        match self.entry.value() {
            Value::Packed(packed) if !is_transformed(packed.transformed()) => Metadata::Packed(packed),
            Value::Packed(_) => Metadata::Object(self.unpacked().meta()),
            Value::Decoded(object) => Metadata::Object(object.meta()),
        }
    }
}

/// The source of an object's metadata.
enum Metadata<'a, K> {
    Object(&'a ObjectMeta),
    Packed(&'a PackedObject<K>),
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase")]
struct OwnerReferences {
    #[serde(default)]
    owner_references: Vec<OwnerReference>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase")]
struct DeletionTimestamp {
    #[serde(default)]
    deletion_timestamp: Option<IgnoredAny>,
}

impl<K> Clone for Object<K> {
    fn clone(&self) -> Self {
        Object {
            entry: Arc::clone(&self.entry),
            decoded: self.decoded.clone(),
        }
    }
}

impl<K> Deref for Object<K> {
    type Target = K;

    fn deref(&self) -> &K {
        match self.entry.value() {
            Value::Decoded(object) => object,
            Value::Packed(_) => self.unpacked(),
        }
    }
}

impl<K> AsRef<K> for Object<K> {
    fn as_ref(&self) -> &K {
        self
    }
}

impl<K> From<Object<K>> for Arc<K> {
    fn from(object: Object<K>) -> Arc<K> {
        object.to_arc()
    }
}

impl<K: PartialEq> PartialEq for Object<K> {
    fn eq(&self, other: &Object<K>) -> bool {
        Object::ptr_eq(self, other) || **self == **other
    }
}

impl<K> fmt::Debug for Object<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Object({} at {})", self.key(), self.version())
    }
}
