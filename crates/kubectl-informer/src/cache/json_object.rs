//! Objects of any kind, as JSON.

use std::borrow::Cow;
use std::marker::PhantomData;

use kube::Resource;
use kube::api::{ApiResource, ObjectMeta};
use kube::core::DynamicResourceScope;
use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

/// An object of any kind as a JSON value, which tables and differences read.
pub(crate) struct JsonObject<S> {
    value: Value,
    /// The metadata that informers need.
    meta: ObjectMeta,
    form: PhantomData<fn() -> S>,
}

/// Which fields are requested from the server, and how they are decoded.
pub(crate) trait ObjectForm: 'static {
    /// Whether only metadata is requested.
    const METADATA: bool = false;

    /// Decodes an object.
    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Value, D::Error> {
        Value::deserialize(deserializer)
    }
}

/// All fields, as JSON.
pub(crate) struct AllFields;

/// Only metadata.
pub(crate) struct Metadata;

/// The fields of a Kubernetes type. Objects are sent as protobuf, which is smaller and cheaper for the
/// server; fields newer than the type are missing.
pub(crate) struct TypedFields<K>(PhantomData<fn() -> K>);

impl ObjectForm for AllFields {}

impl ObjectForm for Metadata {
    const METADATA: bool = true;
}

impl<K: DeserializeOwned + Serialize + 'static> ObjectForm for TypedFields<K> {
    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Value, D::Error> {
        let object = K::deserialize(deserializer)?;
        serde_json::to_value(&object).map_err(D::Error::custom)
    }
}

impl<S: ObjectForm> JsonObject<S> {
    /// Returns the object.
    pub(crate) fn value(&self) -> &Value {
        &self.value
    }

    /// Returns the object with `apiVersion` and `kind`, which items of lists lack.
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

impl<'de, S: ObjectForm> Deserialize<'de> for JsonObject<S> {
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
        Ok(JsonObject {
            value,
            meta,
            form: PhantomData,
        })
    }
}

impl<S: ObjectForm> Resource for JsonObject<S> {
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
