//! Waits for the first list, and for versions.

use std::cmp::Ordering;
use std::time::Duration;

use super::SharedInformer;
use crate::error::{Error, NotSynced, Problem, VersionNotReached};
use crate::object::{Kind, ResourceVersion};
use crate::pipeline::store::ScopeVersions;

impl<K: Kind> SharedInformer<K> {
    /// Returns whether a full list is in the cache. Handlers may still be processing it; see [`Registration`].
    ///
    /// [`Registration`]: crate::Registration
    #[doc(alias = "HasSynced")]
    #[must_use]
    pub fn has_synced(&self) -> bool {
        self.shared.synced.is_cancelled()
    }

    /// Waits until a full list is in the cache, without polling.
    ///
    /// # Errors
    /// Returns an error if it takes longer than `timeout`, or if the informer stops first. The error contains the kind
    /// and the last error.
    ///
    /// # Cancel safety
    /// The future can be dropped without side effects.
    #[doc(alias("WaitForCacheSync", "wait_until_ready"))]
    pub async fn wait_for_sync(&self, timeout: Duration) -> Result<(), Error> {
        match tokio::time::timeout(timeout, self.synced()).await {
            Ok(result) => result,
            Err(_) => Err(self.not_synced(NotSynced::TimedOut(timeout))),
        }
    }

    /// Waits until a full list is in the cache, without a timeout.
    ///
    /// # Errors
    /// Returns an error if the informer stops first.
    ///
    /// # Cancel safety
    /// The future can be dropped without side effects.
    pub async fn synced(&self) -> Result<(), Error> {
        tokio::select! {
            biased;
            () = self.shared.synced.cancelled() => Ok(()),
            () = self.shared.stopped.cancelled() => Err(self.not_synced(NotSynced::Stopped)),
        }
    }

    /// Waits until the cache has reached a version (read your writes). With the `resourceVersion` that a write of this
    /// kind returned, later reads of the cache contain that write.
    ///
    /// Events and, about once a minute, bookmarks advance the version of the cache. For an object that this informer
    /// does not select, the wait lasts until the next bookmark.
    ///
    /// # Errors
    /// Returns an error if it takes longer than `timeout`, if the informer stops first, or if the versions cannot be
    /// compared. (Kubernetes guarantees comparable versions since 1.35. Numbers are compared here on any server.)
    ///
    /// # Cancel safety
    /// The future can be dropped without side effects.
    pub async fn wait_for_version(
        &self,
        version: impl Into<ResourceVersion>,
        timeout: Duration,
    ) -> Result<(), Error> {
        let version = version.into();
        self.wait(ScopeVersions::least, &version, timeout).await
    }

    /// Waits until the cache has reached the version of an object that a write returned (read your writes).
    ///
    /// Most kinds return no version for a deletion. Wait for a later write or for the event instead.
    ///
    /// # Errors
    /// Returns an error if the object has no version, and as [`SharedInformer::wait_for_version`].
    ///
    /// # Cancel safety
    /// The future can be dropped without side effects.
    #[doc(alias = "MutationCache")]
    pub async fn wait_for_write(
        &self,
        written: &impl kube::Resource,
        timeout: Duration,
    ) -> Result<(), Error> {
        // An empty version is not comparable, which the wait reports.
        let version = ResourceVersion::from(written.meta().resource_version.as_deref().unwrap_or_default());
        // The version of the namespace is sufficient: other namespaces reach this version only by bookmarks.
        let namespace = written.meta().namespace.as_deref();
        self.wait(|versions| versions.in_namespace(namespace), &version, timeout)
            .await
    }

    async fn wait(
        &self,
        of: impl Fn(&ScopeVersions) -> Option<ResourceVersion>,
        version: &ResourceVersion,
        timeout: Duration,
    ) -> Result<(), Error> {
        match tokio::time::timeout(timeout, self.reached(of, version)).await {
            Ok(result) => result,
            Err(_) => Err(self.not_reached(version, VersionNotReached::TimedOut(timeout))),
        }
    }

    async fn reached(
        &self,
        of: impl Fn(&ScopeVersions) -> Option<ResourceVersion>,
        version: &ResourceVersion,
    ) -> Result<(), Error> {
        let mut versions = self.shared.store.versions();
        loop {
            let current = of(&versions.borrow_and_update());
            let order = match &current {
                Some(current) => match current.compare(version) {
                    Some(order) => Some(order),
                    None => return Err(self.not_reached(version, VersionNotReached::NotComparable)),
                },
                None if !version.is_comparable() => {
                    return Err(self.not_reached(version, VersionNotReached::NotComparable));
                }
                None => None,
            };
            if matches!(order, Some(Ordering::Equal | Ordering::Greater)) {
                return Ok(());
            }
            tokio::select! {
                biased;
                changed = versions.changed() => if changed.is_err() {
                    return Err(self.not_reached(version, VersionNotReached::Stopped));
                },
                () = self.shared.stopped.cancelled() => return Err(self.not_reached(version, VersionNotReached::Stopped)),
            }
        }
    }

    fn not_synced(&self, why: NotSynced) -> Error {
        let versions = self.shared.store.versions();
        let last = self.shared.context.last_error_in(&versions.borrow().unlisted());
        self.error(Problem::NotSynced { why, last })
    }

    fn not_reached(&self, version: &ResourceVersion, why: VersionNotReached) -> Error {
        self.error(Problem::NotReached {
            version: version.clone(),
            at: self.resource_version(),
            why,
        })
    }
}
