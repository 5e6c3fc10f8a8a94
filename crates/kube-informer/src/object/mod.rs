//! Objects as the cache holds them, and what identifies them.

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

pub(crate) use self::encoding::{Encoded, Format, invalid_object};
pub(crate) use self::entry::Entry;
pub use self::kind::Kind;
pub(crate) use self::kind::{complete, is_cluster_scoped};
pub use self::selector::selector_of;
pub(crate) use self::transform::Transform;
pub(crate) use crate::types::{Key, ResourceVersion, Uid, WatchedResource};

/// An object of the cache: what handlers and streams, listers and indexes give.
///
/// It dereferences to `K`, so fields and methods of the kind are at hand, and nothing can be changed: the object is
/// shared with the cache and with every other reader. It knows its key and its version. Cloning costs a counter. Take
/// [`Object::to_arc`] where a plain `Arc<K>` is wanted.
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
    /// What a packed object was decoded to, once someone has looked at it here.
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

    /// Namespace and name.
    #[must_use]
    pub fn key(&self) -> &Key {
        self.entry.key()
    }

    /// The resource version of this state of the object.
    #[must_use]
    pub fn version(&self) -> &ResourceVersion {
        self.entry.version()
    }

    /// The object itself, to keep.
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

    /// Whether both are one object in memory, as after a list that brought nothing new.
    #[must_use]
    pub fn ptr_eq(this: &Object<K>, other: &Object<K>) -> bool {
        this.entry.value().ptr_eq(other.entry.value())
    }
}

/// Questions that a packed object answers without being decoded, in less than a microsecond, unless a transform changed the
/// metadata in question. For other objects they are as good as a look at their metadata.
impl<K: kube::Resource> Object<K> {
    /// Whether the labels match.
    #[must_use]
    pub fn matches(&self, selector: &Selector) -> bool {
        self.entry.matches(selector)
    }

    /// A label, if the object has it.
    #[must_use]
    pub fn label(&self, name: &str) -> Option<Cow<'_, str>> {
        match self.metadata(|transformed| transformed.labels) {
            Metadata::Object(meta) => meta.labels.as_ref()?.get(name).map(Cow::from),
            Metadata::Packed(packed) => packed.label(name).map(Cow::Owned),
        }
    }

    /// An annotation, if the object has it. For a packed object that has been at rest this takes some microseconds.
    #[must_use]
    pub fn annotation(&self, name: &str) -> Option<Cow<'_, str>> {
        match self.metadata(|transformed| transformed.annotations) {
            Metadata::Object(meta) => meta.annotations.as_ref()?.get(name).map(Cow::from),
            Metadata::Packed(packed) => packed.annotation(name).map(Cow::Owned),
        }
    }

    /// `metadata.uid`, which no other object ever has.
    #[must_use]
    pub fn uid(&self) -> Option<Cow<'_, str>> {
        match self.metadata(|transformed| transformed.identity) {
            Metadata::Object(meta) => meta.uid.as_ref().map(Cow::from),
            Metadata::Packed(packed) => packed.uid().map(Cow::Owned),
        }
    }

    /// `metadata.ownerReferences`: to which objects it belongs.
    #[must_use]
    pub fn owner_references(&self) -> Cow<'_, [OwnerReference]> {
        match self.metadata(|transformed| transformed.identity) {
            Metadata::Object(meta) => meta.owner_references.as_deref().unwrap_or_default().into(),
            Metadata::Packed(packed) => packed.metadata::<OwnerReferences>().owner_references.into(),
        }
    }

    /// Whether the object is being deleted, and waits for its finalizers.
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

    /// Where metadata is read: from the bytes of a packed object, unless a transform changed it.
    fn metadata(&self, is_transformed: impl Fn(TransformedMetadata) -> bool) -> Metadata<'_, K> {
        match self.entry.value() {
            Value::Packed(packed) if !is_transformed(packed.transformed()) => Metadata::Packed(packed),
            Value::Packed(_) => Metadata::Object(self.unpacked().meta()),
            Value::Decoded(object) => Metadata::Object(object.meta()),
        }
    }
}

/// Where metadata is read.
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
