//! Any object, as the JSON that it is.

use std::borrow::Cow;

use kube::Resource;
use kube::api::{ApiResource, ObjectMeta};
use kube::core::DynamicResourceScope;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

/// An object of any kind, with every field that the server sent; of `Whole<true>` only the metadata is asked for.
///
/// It is kept as one JSON value, because everything that is done with it here, from tables to differences, reads JSON.
#[derive(Debug, Clone)]
pub(crate) struct Whole<const METADATA: bool> {
    value: Value,
    /// As much of it as informers look at.
    meta: ObjectMeta,
}

impl<const METADATA: bool> Whole<METADATA> {
    /// The object.
    pub(crate) fn value(&self) -> &Value {
        &self.value
    }

    /// The object, saying of which kind it is: items of lists do not.
    pub(crate) fn typed(&self, kind: &ApiResource) -> Value {
        let mut value = self.value.clone();
        if let Some(fields) = value.as_object_mut() {
            let (api_version, kind) = if METADATA {
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

impl<'de, const METADATA: bool> Deserialize<'de> for Whole<METADATA> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        let metadata = &value["metadata"];
        let text = |field: &str| metadata[field].as_str().map(str::to_owned);
        let meta = ObjectMeta {
            name: text("name"),
            namespace: text("namespace"),
            uid: text("uid"),
            resource_version: text("resourceVersion"),
            ..ObjectMeta::default()
        };
        Ok(Whole { value, meta })
    }
}

impl<const METADATA: bool> Resource for Whole<METADATA> {
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
        METADATA
    }

    fn meta(&self) -> &ObjectMeta {
        &self.meta
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.meta
    }
}
