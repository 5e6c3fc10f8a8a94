//! Compares the cache with the server.

use std::collections::HashSet;
use std::sync::atomic::Ordering;
use std::time::Duration;

use futures::StreamExt;
use tokio::time::{sleep, timeout};

use super::{InformerShared, SharedInformer, Source};
use crate::error::{CheckFailure, Error, Operation, Problem};
use crate::object::{Key, Kind, ResourceVersion};
use crate::pipeline::reflector::driver::check_namespace;
use crate::pipeline::reflector::machine::{EMPTY_PAGE_PAUSE, LIST_IDLE_TIMEOUT};
use crate::pipeline::store::Snapshot;
use crate::pipeline::wire::{ExactListRequest, ListPart, RawObject, endless_list};
use crate::types::ConsistencyReport;

/// Maximum duration of a comparison. Kubernetes keeps versions for five minutes, and the snapshot stays in memory until
/// the comparison ends.
const COMPARISON_TIMEOUT: Duration = Duration::from_secs(5 * 60);

impl<K: Kind> SharedInformer<K> {
    /// Compares the cache with the server.
    ///
    /// Takes a snapshot of the cache, lists the same objects at exactly its version, and compares keys, uids and
    /// versions. The contents of the objects are not compared, so transforms and removed fields do not matter.
    ///
    /// The list requests only metadata, in pages, and does not affect handlers and readers. The snapshot is held for at
    /// most five minutes. One check runs at a time; others wait for it.
    ///
    /// ```no_run
    /// # use k8s_openapi::api::core::v1::Pod;
    /// # async fn example(pods: kube_informer::SharedInformer<Pod>) -> Result<(), kube_informer::Error> {
    /// let found = pods.check_consistency().await?;
    /// assert!(found.is_consistent(), "{found}");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// Differences are always bugs. They occur where a server or a proxy loses events of a watch, and would occur if
    /// this library did. [`InformerBuilder::check_consistency`](crate::InformerBuilder::check_consistency) checks
    /// periodically.
    ///
    /// # Errors
    /// Returns an error ([`Error::is_not_checked`]) if the comparison is not possible: before the first list, while the
    /// kind is not served ([`Error::is_not_served`]), or if the server does not respond, no longer has the version
    /// ([`Error::is_expired`]), has not reached it yet, or does not support lists at an exact version. Also returns an
    /// error if the informer has stopped.
    ///
    /// # Cancel safety
    /// Dropping the future cancels the check without side effects.
    pub async fn check_consistency(&self) -> Result<ConsistencyReport, Error> {
        let compared = self.shared.check().await?;
        self.shared.count_inconsistency(&compared);
        Ok(compared)
    }
}

impl<K: Kind> InformerShared<K> {
    pub(super) async fn check(&self) -> Result<ConsistencyReport, Error> {
        let compared = async {
            let _one_at_a_time = self.check.lock().await;
            match timeout(COMPARISON_TIMEOUT, self.compare()).await {
                Ok(compared) => compared,
                Err(_) => Err(CheckFailure::TooLong(COMPARISON_TIMEOUT)),
            }
        };
        let compared = tokio::select! {
            biased;
            () = self.stopped.cancelled() => {
                return Err(Error::new(Problem::Stopped).with_context(Operation::ConsistencyCheck, &self.resource));
            }
            compared = compared => compared,
        };
        let counts = &self.context.measures;
        let count = match &compared {
            Ok(_) => &counts.checks,
            Err(_) => &counts.unchecked,
        };
        count.fetch_add(1, Ordering::Relaxed);
        compared.map_err(|why| {
            Error::new(Problem::NotChecked(why)).with_context(Operation::ConsistencyCheck, &self.resource)
        })
    }

    pub(super) fn count_inconsistency(&self, found: &ConsistencyReport) {
        if !found.is_consistent() {
            self.context
                .measures
                .inconsistencies
                .fetch_add(1, Ordering::Relaxed);
        }
    }

    async fn compare(&self) -> Result<ConsistencyReport, CheckFailure> {
        let snapshot = self.store.snapshot();
        let version = snapshot.version().cloned().ok_or(CheckFailure::NotListed)?;
        let mut found = ConsistencyReport::new(version);
        for source in &self.sources {
            // A single source contains everything that is in the cache.
            let namespace = source.resource.namespace().filter(|_| self.sources.len() > 1);
            let comparison = Comparison {
                snapshot: &snapshot,
                namespace,
                listed: HashSet::new(),
                found: &mut found,
            };
            comparison
                .compare_with(source, self.settings.page_size.for_checks())
                .await?;
        }
        Ok(found)
    }
}

/// The comparison of one source with its part of the cache.
struct Comparison<'a, K> {
    snapshot: &'a Snapshot<K>,
    /// `None` for all namespaces.
    namespace: Option<&'a str>,
    /// Keys that are in both.
    listed: HashSet<&'a Key>,
    found: &'a mut ConsistencyReport,
}

impl<K: Kind> Comparison<'_, K> {
    async fn compare_with(mut self, source: &Source<K>, limit: u32) -> Result<(), CheckFailure> {
        let version = self
            .snapshot
            .version_in(self.namespace)
            .ok_or(CheckFailure::NotListed)?;
        // The server still had the objects at this version.
        if self.snapshot.is_kind_removed_in(self.namespace) {
            return Err(CheckFailure::KindRemoved);
        }
        let mut request = ExactListRequest {
            version: version.to_string(),
            limit,
            continue_token: None,
        };
        let mut tokens = HashSet::new();
        loop {
            let before = self.found.objects;
            request.continue_token = self.page(source, &request, &version).await?;
            let Some(token) = &request.continue_token else {
                break;
            };
            if !tokens.insert(token.clone()) {
                return Err(endless_list().into());
            }
            if self.found.objects == before {
                sleep(EMPTY_PAGE_PAUSE).await;
            }
        }
        self.look_for_unexpected().await;
        Ok(())
    }

    /// Compares one page. Returns the continue token of the next one.
    async fn page(
        &mut self,
        source: &Source<K>,
        request: &ExactListRequest,
        version: &ResourceVersion,
    ) -> Result<Option<String>, CheckFailure> {
        let mut listing = within_idle_timeout(source.list_watch.list_exactly(request.clone()))
            .await??
            .ok_or(CheckFailure::NoExactLists)?;
        while let Some(part) = within_idle_timeout(listing.next()).await? {
            tokio::task::consume_budget().await;
            match part? {
                ListPart::Object(item) => {
                    check_namespace(source.namespace.as_deref(), item.key())?;
                    self.item(&item);
                }
                ListPart::Progress => {}
                ListPart::End {
                    version: listed,
                    continue_token,
                } => {
                    if listed == *version {
                        return Ok(continue_token);
                    }
                    let asked = version.clone();
                    return Err(CheckFailure::OtherVersion { asked, listed });
                }
            }
        }
        Err(Error::bad_data("incomplete list").into())
    }

    fn item(&mut self, item: &RawObject<K>) {
        self.found.objects += 1;
        let Some(entry) = self.snapshot.get_entry(item.key()) else {
            self.found.missing.add(item.key());
            return;
        };
        self.listed.insert(entry.key());
        if !entry.is_same_object(item.uid()) || entry.version() != item.version() {
            self.found.different.add(item.key());
        }
    }

    async fn look_for_unexpected(self) {
        let cached = match self.namespace {
            Some(namespace) => self.snapshot.namespace(namespace),
            None => self.snapshot.iter(),
        };
        for object in cached {
            tokio::task::consume_budget().await;
            if !self.listed.contains(object.key()) {
                self.found.unexpected.add(object.key());
            }
        }
    }
}

/// Waits for the server. Fails after too long without data.
async fn within_idle_timeout<F: Future>(part: F) -> Result<F::Output, CheckFailure> {
    let late = |_| Error::transport("the server did not respond in time", "no data for a minute").into();
    timeout(LIST_IDLE_TIMEOUT, part).await.map_err(late)
}

impl From<Error> for CheckFailure {
    fn from(error: Error) -> CheckFailure {
        CheckFailure::Failed(error)
    }
}
