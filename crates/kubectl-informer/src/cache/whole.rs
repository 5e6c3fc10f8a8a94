//! Any object, as the JSON that it is.

use std::borrow::Cow;
use std::marker::PhantomData;

use kube::Resource;
use kube::api::{ApiResource, ObjectMeta};
use kube::core::DynamicResourceScope;
use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

/// An object of any kind, as one JSON value: everything that is done with it here, from tables to differences, reads JSON.
pub(crate) struct Whole<S> {
    value: Value,
    /// As much of it as informers look at.
    meta: ObjectMeta,
    shape: PhantomData<fn() -> S>,
}

/// What is asked of the server, and in which form it comes.
pub(crate) trait Shape: 'static {
    /// Whether nothing but metadata is asked for.
    const METADATA: bool = false;

    /// Reads an object.
    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Value, D::Error> {
        Value::deserialize(deserializer)
    }
}

/// Every field that the server has, as JSON.
pub(crate) struct Any;

/// Nothing but metadata.
pub(crate) struct Metadata;

/// The fields that a type of Kubernetes' knows. Such objects come as protobuf, which is smaller and costs the server much
/// less; fields that are newer than the type are not among them.
pub(crate) struct As<K>(PhantomData<fn() -> K>);

impl Shape for Any {}

impl Shape for Metadata {
    const METADATA: bool = true;
}

impl<K: DeserializeOwned + Serialize + 'static> Shape for As<K> {
    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Value, D::Error> {
        let object = K::deserialize(deserializer)?;
        serde_json::to_value(&object).map_err(D::Error::custom)
    }
}

impl<S: Shape> Whole<S> {
    /// The object.
    pub(crate) fn value(&self) -> &Value {
        &self.value
    }

    /// The object, saying of which kind it is: items of lists do not.
    pub(crate) fn typed(&self, kind: &ApiResource) -> Value {
        let mut value = self.value.clone();
        if let Some(fields) = value.as_object_mut() {
            let (api_version, kind) = if S::METADATA {
                ("meta.k8s.io/v1", "PartialObjectMetadata")
            } else {
                (kind.api_version.as_str(), kind.kind.as_str())
            };
            fields.entry("apiVersion").or_insert_with(|| api_version.into());
            fields.entry("kind").or_insert_with(|| kind.into());
        }
        value
    }
}

impl<'de, S: Shape> Deserialize<'de> for Whole<S> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = S::read(deserializer)?;
        let metadata = &value["metadata"];
        let text = |field: &str| metadata[field].as_str().map(str::to_owned);
        let meta = ObjectMeta {
            name: text("name"),
            namespace: text("namespace"),
            uid: text("uid"),
            resource_version: text("resourceVersion"),
            ..ObjectMeta::default()
        };
        Ok(Whole {
            value,
            meta,
            shape: PhantomData,
        })
    }
}

impl<S: Shape> Resource for Whole<S> {
    type DynamicType = ApiResource;
    type Scope = DynamicResourceScope;

    fn kind(kind: &ApiResource) -> Cow<'_, str> {
        kind.kind.as_str().into()
    }

    fn group(kind: &ApiResource) -> Cow<'_, str> {
        kind.group.as_str().into()
    }

    fn version(kind: &ApiResource) -> Cow<'_, str> {
        kind.version.as_str().into()
    }

    fn api_version(kind: &ApiResource) -> Cow<'_, str> {
        kind.api_version.as_str().into()
    }

    fn plural(kind: &ApiResource) -> Cow<'_, str> {
        kind.plural.as_str().into()
    }

    fn metadata_api() -> bool {
        S::METADATA
    }

    fn meta(&self) -> &ObjectMeta {
        &self.meta
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.meta
    }
}
