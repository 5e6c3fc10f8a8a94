//! Kinds that are known only at run time.

use std::sync::Arc;

use kube::core::{DynamicObject, GroupVersionResource, PartialObjectMeta};

use super::SharedInformerFactory;
use crate::discovery::{DiscoveredResource, Discovery, DynamicKind};
use crate::error::Error;
use crate::informer::SharedInformer;

impl SharedInformerFactory {
    /// The informer of a resource as dynamic objects.
    ///
    /// Give it what [`SharedInformerFactory::discover`] has found. A bare `ApiResource` does as well, but does not say
    /// whether its objects are in namespaces: in a factory for some namespaces they are taken to be.
    #[doc(alias("dynamicinformer", "NewDynamicSharedInformerFactory"))]
    #[must_use]
    pub fn dynamic(&self, kind: impl Into<DynamicKind>) -> SharedInformer<DynamicObject> {
        let kind = kind.into();
        self.informer_in(kind.resource, kind.cluster_scoped)
    }

    /// The informer of a resource's metadata: nothing else is asked of the server, and nothing else is kept.
    #[must_use]
    pub fn dynamic_metadata(
        &self,
        kind: impl Into<DynamicKind>,
    ) -> SharedInformer<PartialObjectMeta<DynamicObject>> {
        let kind = kind.into();
        self.informer_in(kind.resource, kind.cluster_scoped)
    }

    /// Returns the informer of a resource by group, version and plural name, with dynamic objects. Asks discovery for the kind.
    ///
    /// The cache contains `DynamicObject`, so it is never shared with the informer of a typed kind: a factory that has
    /// `informer::<Deployment>()` and this for `deployments` lists and watches twice, and logs that. In client-go,
    /// `ForResource` returns the typed informer. Where the type is known, use [`SharedInformerFactory::informer`].
    ///
    /// ```no_run
    /// # async fn example(factory: kube_informer::SharedInformerFactory) -> Result<(), kube_informer::Error> {
    /// use kube::core::GroupVersionResource;
    ///
    /// let deployments = factory
    ///     .for_resource(&GroupVersionResource::gvr("apps", "v1", "deployments"))
    ///     .await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// If the server does not serve it, if it cannot be listed and watched, or if the server cannot be asked.
    ///
    /// # Cancel safety
    /// Nothing is lost when the future is dropped.
    #[doc(alias = "ForResource")]
    pub async fn for_resource(
        &self,
        resource: &GroupVersionResource,
    ) -> Result<SharedInformer<DynamicObject>, Error> {
        let found = self
            .discovered(|discovery| {
                discovery.resource(&resource.group, &resource.version, &resource.resource)
            })
            .await?;
        Ok(self.dynamic(&found))
    }

    /// Finds a resource by any name that `kubectl` understands: `deploy`, `deployment`, `Deployment`, `deployments.apps`,
    /// `deployments.v1.apps`; see [`Discovery::resolve`].
    ///
    /// # Errors
    /// If the server serves nothing of that name, if it cannot be listed and watched, or if the server cannot be asked.
    ///
    /// # Cancel safety
    /// Nothing is lost when the future is dropped.
    #[doc(alias = "RESTMapper")]
    pub async fn discover(&self, name: &str) -> Result<DiscoveredResource, Error> {
        self.discovered(|discovery| discovery.resolve(name)).await
    }

    /// What was discovered before, if that has it; otherwise what is discovered now. Kinds may come at any time.
    async fn discovered(
        &self,
        find: impl Fn(&Discovery) -> Result<&DiscoveredResource, Error>,
    ) -> Result<DiscoveredResource, Error> {
        let mut known = self.shared.discovery.lock().await;
        if let Some(found) = known.as_deref().and_then(|known| find(known).ok()) {
            return Ok(found.clone());
        }
        let asked = Arc::new(Discovery::fetch(&self.shared.client).await?);
        find(known.insert(asked)).cloned()
    }
}
