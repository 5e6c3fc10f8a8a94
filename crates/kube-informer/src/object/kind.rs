//! Kinds of objects.

use std::any::{Any, TypeId};

use kube::core::{ClusterResourceScope, DynamicObject, TypeMeta};
use serde::de::DeserializeOwned;

use crate::types::WatchedResource;

/// A type that an informer can cache: a type of k8s-openapi, a `#[derive(CustomResource)]` type, a `DynamicObject`, a
/// `PartialObjectMeta<K>`, or a small struct with some fields and kube's derived `Resource`.
///
/// The trait is implemented for every suitable type.
///
/// ```
/// use k8s_openapi::api::core::v1::Pod;
/// use kube::Resource;
/// use kube::api::{DynamicObject, ObjectMeta, PartialObjectMeta};
/// use kube_informer::Kind;
///
/// #[derive(Resource, Clone, serde::Deserialize)]
/// #[resource(inherit = "Pod")]
/// struct Named {
///     metadata: ObjectMeta,
/// }
///
/// fn fits<K: Kind>() {}
/// fits::<Pod>();
/// fits::<DynamicObject>();
/// fits::<PartialObjectMeta<Pod>>();
/// fits::<Named>();
/// ```
pub trait Kind:
    kube::Resource<DynamicType: Clone + Send + Sync, Scope: 'static> + DeserializeOwned + Send + Sync + 'static
{
}

impl<K> Kind for K where
    K: kube::Resource<DynamicType: Clone + Send + Sync, Scope: 'static>
        + DeserializeOwned
        + Send
        + Sync
        + 'static
{
}

/// Returns whether a type declares its kind as cluster-scoped.
pub(crate) fn is_cluster_scoped<K: Kind>() -> bool {
    TypeId::of::<K::Scope>() == TypeId::of::<ClusterResourceScope>()
}

/// Sets the type of a dynamic object. Objects in watches contain it, but items of lists do not, and both should be
/// equal.
pub(crate) fn complete<K: Kind>(object: &mut K, resource: &WatchedResource) {
    let Some(object) = (object as &mut dyn Any).downcast_mut::<DynamicObject>() else {
        return;
    };
    if object.types.is_some() {
        return;
    }
    // The type was incomplete or null, so it is among the other fields.
    if let Some(fields) = object.data.as_object_mut() {
        fields.remove("apiVersion");
        fields.remove("kind");
    }
    object.types = Some(TypeMeta {
        api_version: resource.api_version(),
        kind: resource.kind().to_owned(),
    });
}
