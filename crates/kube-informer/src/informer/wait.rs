//! Waiting for the first list, and for a version.

use std::cmp::Ordering;
use std::time::Duration;

use super::SharedInformer;
use crate::error::{Error, NotSynced, Problem, VersionNotReached};
use crate::object::{Kind, ResourceVersion};
use crate::pipeline::store::ScopeVersions;

impl<K: Kind> SharedInformer<K> {
    /// Whether a full list is in the cache. It says nothing about handlers; each [`Registration`] has its own answer.
    ///
    /// [`Registration`]: crate::Registration
    #[doc(alias = "HasSynced")]
    #[must_use]
    pub fn has_synced(&self) -> bool {
        self.shared.synced.is_cancelled()
    }

    /// Waits until a full list is in the cache, without asking again and again.
    ///
    /// # Errors
    /// If it takes longer than `timeout`, or the informer stops before. The error names the kind and the last error.
    ///
    /// # Cancel safety
    /// Nothing is lost when the wait is dropped.
    #[doc(alias("WaitForCacheSync", "wait_until_ready"))]
    pub async fn wait_for_sync(&self, timeout: Duration) -> Result<(), Error> {
        match tokio::time::timeout(timeout, self.synced()).await {
            Ok(result) => result,
            Err(_) => Err(self.not_synced(NotSynced::TimedOut(timeout))),
        }
    }

    /// Waits until a full list is in the cache, for as long as it takes.
    ///
    /// # Errors
    /// If the informer stops before.
    ///
    /// # Cancel safety
    /// Nothing is lost when the wait is dropped.
    pub async fn synced(&self) -> Result<(), Error> {
        tokio::select! {
            biased;
            () = self.shared.synced.cancelled() => Ok(()),
            () = self.shared.stopped.cancelled() => Err(self.not_synced(NotSynced::Stopped)),
        }
    }

    /// Waits until the cache has reached a version: read your writes. Give it the `resourceVersion` that a write of this
    /// kind returned, and what is read afterwards contains that write.
    ///
    /// The cache learns of versions by events and, about once a minute, by bookmarks; so for an object that this informer
    /// does not select, the wait lasts until the next bookmark.
    ///
    /// # Errors
    /// If it takes longer than `timeout`, if the informer stops before, or if the versions of this server cannot be
    /// compared (before Kubernetes 1.35 nothing promises that, though numbers are compared here whatever the server).
    ///
    /// # Cancel safety
    /// Nothing is lost when the wait is dropped.
    pub async fn wait_for_version(
        &self,
        version: impl Into<ResourceVersion>,
        timeout: Duration,
    ) -> Result<(), Error> {
        let version = version.into();
        self.wait(ScopeVersions::least, &version, timeout).await
    }

    /// Waits until the cache has reached the version of an object that a write returned: read your writes.
    ///
    /// Most kinds answer a deletion with no version. Wait for a later write then, or for the event.
    ///
    /// # Errors
    /// If the object has no version, and as [`SharedInformer::wait_for_version`].
    ///
    /// # Cancel safety
    /// Nothing is lost when the wait is dropped.
    #[doc(alias = "MutationCache")]
    pub async fn wait_for_write(
        &self,
        written: &impl kube::Resource,
        timeout: Duration,
    ) -> Result<(), Error> {
        // An empty version compares with none, and the wait says so.
        let version = ResourceVersion::from(written.meta().resource_version.as_deref().unwrap_or_default());
        // The version of the namespace counts: others hear of this one only by bookmarks.
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
