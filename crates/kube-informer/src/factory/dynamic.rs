//! Kinds that are known only at run time.

use std::sync::Arc;

use kube::core::{DynamicObject, GroupVersionResource, PartialObjectMeta};

use super::SharedInformerFactory;
use crate::discovery::{DiscoveredResource, Discovery, DynamicKind};
use crate::error::Error;
use crate::informer::SharedInformer;

impl SharedInformerFactory {
    /// Returns the informer of a resource with dynamic objects.
    ///
    /// Accepts the result of [`SharedInformerFactory::discover`], or an `ApiResource`. The latter does not contain
    /// whether the kind is namespaced: a factory for some namespaces assumes that it is.
    #[doc(alias(
        "dynamicinformer",
        "NewDynamicSharedInformerFactory",
        "NewFilteredDynamicSharedInformerFactory"
    ))]
    #[must_use]
    pub fn dynamic(&self, kind: impl Into<DynamicKind>) -> SharedInformer<DynamicObject> {
        let kind = kind.into();
        self.informer_in(kind.resource, kind.cluster_scoped)
    }

    /// Returns the informer of a resource's metadata. Nothing else is requested from the server or kept in the cache.
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
    /// Returns an error if the server does not serve the resource, if it cannot be listed and watched, or if discovery
    /// fails.
    ///
    /// # Cancel safety
    /// The future can be dropped without side effects.
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

    /// Finds a resource by any name that `kubectl` accepts: `deploy`, `deployment`, `Deployment`, `deployments.apps`,
    /// `deployments.v1.apps`; see [`Discovery::resolve`].
    ///
    /// # Errors
    /// Returns an error if the server serves no resource of that name, if it cannot be listed and watched, or if
    /// discovery fails.
    ///
    /// # Cancel safety
    /// The future can be dropped without side effects.
    #[doc(alias = "RESTMapper")]
    pub async fn discover(&self, name: &str) -> Result<DiscoveredResource, Error> {
        self.discovered(|discovery| discovery.resolve(name)).await
    }

    /// Uses the previous discovery if it contains the resource, or else fetches a new one: kinds can be added at any
    /// time.
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
