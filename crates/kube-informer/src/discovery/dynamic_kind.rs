//! Kinds that are known only at run time.

use kube::core::ApiResource;

use super::DiscoveredResource;

/// A kind that is known only at run time, the argument of
/// [`SharedInformerFactory::dynamic`](crate::SharedInformerFactory::dynamic).
///
/// Converted from an `ApiResource`, or preferably from a [`DiscoveredResource`], which also contains whether the objects belong
/// to namespaces:
///
/// ```no_run
/// # async fn example(factory: kube_informer::SharedInformerFactory) -> Result<(), kube_informer::Error> {
/// use kube::core::{ApiResource, GroupVersionKind};
///
/// let known = ApiResource::from_gvk(&GroupVersionKind::gvk("example.com", "v1", "Website"));
/// let websites = factory.dynamic(&known);
/// let deployments = factory.dynamic(&factory.discover("deploy").await?);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DynamicKind {
    pub(crate) resource: ApiResource,
    pub(crate) cluster_scoped: bool,
}

impl From<ApiResource> for DynamicKind {
    fn from(resource: ApiResource) -> DynamicKind {
        DynamicKind {
            resource,
            cluster_scoped: false,
        }
    }
}

impl From<&ApiResource> for DynamicKind {
    fn from(resource: &ApiResource) -> DynamicKind {
        resource.clone().into()
    }
}

impl From<&DiscoveredResource> for DynamicKind {
    fn from(discovered: &DiscoveredResource) -> DynamicKind {
        DynamicKind {
            resource: discovered.api_resource().clone(),
            cluster_scoped: !discovered.is_namespaced(),
        }
    }
}
