//! Kinds of objects.

use std::any::{Any, TypeId};

use kube::core::{ClusterResourceScope, DynamicObject, TypeMeta};
use serde::de::DeserializeOwned;

use crate::types::WatchedResource;

/// A type an informer can hold: any of k8s-openapi's, a `#[derive(CustomResource)]` type, a `DynamicObject`, a
/// `PartialObjectMeta<K>`, or a small struct with the fields you need and kube's `Resource` derived for it.
///
/// There is nothing to implement: every type that fits has it.
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

/// Whether a type says of itself that its objects are in no namespace.
pub(crate) fn is_cluster_scoped<K: Kind>() -> bool {
    TypeId::of::<K::Scope>() == TypeId::of::<ClusterResourceScope>()
}

/// Lets a dynamic object say what it is. Items of lists do not, and objects of watches do: nobody should have to care by which way
/// one came.
pub(crate) fn complete<K: Kind>(object: &mut K, resource: &WatchedResource) {
    let Some(object) = (object as &mut dyn Any).downcast_mut::<DynamicObject>() else {
        return;
    };
    if object.types.is_some() {
        return;
    }
    // Half a type, or null, is left where the contents are.
    if let Some(fields) = object.data.as_object_mut() {
        fields.remove("apiVersion");
        fields.remove("kind");
    }
    object.types = Some(TypeMeta {
        api_version: resource.api_version(),
        kind: resource.kind().to_owned(),
    });
}
