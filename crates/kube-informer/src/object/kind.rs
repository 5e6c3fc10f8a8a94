//! Kinds of objects.

use std::any::{Any, TypeId};
use std::fmt;
use std::sync::Arc;

use kube::core::{ClusterResourceScope, DynamicObject, TypeMeta};
use serde::de::DeserializeOwned;

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

/// The names of a kind, and the namespaces that are looked at: what messages and requests call it.
///
/// ```
/// use k8s_openapi::api::apps::v1::Deployment;
/// use kube_informer::WatchedResource;
///
/// let name = WatchedResource::of::<Deployment>(&(), ["shop"]);
/// assert_eq!((name.group_resource().as_str(), name.namespace()), ("deployments.apps", Some("shop")));
/// ```
#[doc(alias = "GroupVersionResource")]
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct WatchedResource {
    names: Arc<Names>,
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Names {
    group: String,
    version: String,
    kind: String,
    plural: String,
    /// None means all.
    namespaces: Vec<String>,
}

impl WatchedResource {
    /// The names of a kind, seen in one namespace or several, or in all of them.
    pub fn of<'a, K: kube::Resource>(
        kind: &K::DynamicType,
        namespaces: impl IntoIterator<Item = &'a str>,
    ) -> WatchedResource {
        WatchedResource {
            names: Arc::new(Names {
                group: K::group(kind).into_owned(),
                version: K::version(kind).into_owned(),
                kind: K::kind(kind).into_owned(),
                plural: K::plural(kind).into_owned(),
                namespaces: namespaces.into_iter().map(str::to_owned).collect(),
            }),
        }
    }

    /// The API group; empty for the core group.
    #[must_use]
    pub fn group(&self) -> &str {
        &self.names.group
    }

    /// The version of the API group.
    #[must_use]
    pub fn version(&self) -> &str {
        &self.names.version
    }

    /// The kind, as in `Deployment`.
    #[must_use]
    pub fn kind(&self) -> &str {
        &self.names.kind
    }

    /// The plural name, as in `deployments`.
    #[must_use]
    pub fn plural(&self) -> &str {
        &self.names.plural
    }

    /// The namespace that is looked at, if it is one; `None` means several or all, or a cluster-scoped kind.
    #[must_use]
    pub fn namespace(&self) -> Option<&str> {
        match self.namespaces() {
            [namespace] => Some(namespace),
            _ => None,
        }
    }

    /// The namespaces that are looked at; none means all, or a cluster-scoped kind.
    #[must_use]
    pub fn namespaces(&self) -> &[String] {
        &self.names.namespaces
    }

    /// Group and version as objects carry them: `apps/v1`, or `v1` in the core group.
    #[must_use]
    pub fn api_version(&self) -> String {
        match self.group() {
            "" => self.version().to_owned(),
            group => format!("{group}/{}", self.version()),
        }
    }

    /// The name in messages of the server and of listers: `deployments.apps`, or `pods` in the core group.
    #[must_use]
    pub fn group_resource(&self) -> String {
        match self.group() {
            "" => self.plural().to_owned(),
            group => format!("{}.{group}", self.plural()),
        }
    }

    /// Whether a `CustomResourceDefinition` may define it: its group is a domain that is not Kubernetes' own.
    pub(crate) fn may_be_custom(&self) -> bool {
        self.group().contains('.') && !self.group().ends_with(".k8s.io")
    }
}

/// `deployments.apps`, and the namespaces unless all are looked at.
impl fmt::Display for WatchedResource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.group_resource())?;
        match self.namespaces() {
            [] => Ok(()),
            [namespace] => write!(f, " in namespace {namespace}"),
            [first, second, third, more @ ..] if !more.is_empty() => {
                write!(
                    f,
                    " in namespaces {first}, {second}, {third} and {} more",
                    more.len()
                )
            }
            few => write!(f, " in namespaces {}", few.join(", ")),
        }
    }
}
