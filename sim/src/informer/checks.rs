//! Invariants that hold for an informer at any time.

use contract_checker::CacheContents;
use kube_informer::status::Status;

use super::erased::HeldSnapshot;
use super::waits::Wait;
use super::{CheckedInformer, selects};
use crate::cluster::Cluster;

/// Each check compares one held snapshot, chosen in turn, if it exists.
const HELD_SHARE: usize = 16;

/// The result of the last check of the cache.
pub(super) struct LastCheck {
    pub(super) contents: CacheContents,
    status: Status,
    /// The number of changes in the history, and of restores of the server.
    recorded: u64,
    restarts: usize,
    is_current: bool,
    /// The informer has reported a restored server, and may still replace unchanged objects.
    is_rebuilding: bool,
    /// A list may have returned older objects, or may still do so.
    is_lagging: bool,
}

impl LastCheck {
    /// Returns whether the cache has not been written since.
    fn is_same(&self, status: &Status) -> bool {
        self.status.version == status.version && self.status.processing.count == status.processing.count
    }
}

impl CheckedInformer {
    /// Checks all invariants.
    pub(crate) fn check(&mut self, cluster: &Cluster) {
        self.context.counts.lock().checks += 1;
        self.looks += 1;
        self.check_waits();
        let status = self.informer.status();
        if let Some(last) = &mut self.last {
            last.is_lagging |= cluster.is_lagging;
        }
        if let Some(last) = self.last.as_ref().filter(|last| last.is_same(&status)) {
            return self.check_handlers(&last.contents);
        }
        let contents = self.informer.contents();
        self.cache.check(&contents, status.went_back);
        if status.has_synced != contents.version.is_some() {
            self.found(
                8,
                &format!("has_synced is {}, with {contents:?}", status.has_synced),
            );
        }
        if contents.version.is_none() && !contents.objects.is_empty() {
            self.found(8, "the cache is not empty before the first list");
        }
        if let Some(problem) = self.informer.check_reads(&contents, self.looks) {
            self.found(1, &problem);
        }
        self.check_handlers(&contents);
        // All of them are checked when they are dropped.
        if let Some(held) = self.held.get(self.looks % HELD_SHARE)
            && held.has_changed()
        {
            self.found(1, "a held snapshot has changed");
        }
        self.check_unchanged(contents, status, cluster);
    }

    /// Contract 10: unchanged objects are kept and not decoded again.
    fn check_unchanged(&mut self, contents: CacheContents, status: Status, cluster: &Cluster) {
        let history = self.context.history.lock();
        let (recorded, restarts) = (history.recorded(), history.restarts());
        // Changes that cancel each other may still be in progress.
        let version = contents
            .version
            .as_ref()
            .and_then(|version| version.to_string().parse().ok());
        let is_current = version >= Some(history.last_version())
            && history.is(&*selects(&self.plan, false), &contents.objects);
        let has_lost_event = history.has_lost_event();
        drop(history);
        let replaced = self.informer.check_identity();
        let is_rebuilding = self.is_rebuilding(&status);
        let is_same_era = self.last.as_ref().is_none_or(|last| last.restarts == restarts) && !is_rebuilding;
        if let Some(key) = replaced
            && is_same_era
            && !cluster.has_repeated_events
            && !has_lost_event
        {
            self.found(
                10,
                &format!("{key} was replaced by an object of the same version and uid"),
            );
        }
        if let Some(last) = &self.last {
            let relists = status.relists.total() - last.status.relists.total();
            self.context.counts.lock().relists += relists;
            let decoded = status.decoded_objects - last.status.decoded_objects;
            let is_quiet = last.recorded == recorded && last.is_current && is_current && !has_lost_event;
            if is_quiet && is_same_era && decoded > 0 && !last.is_lagging && !cluster.has_repeated_events {
                self.found(
                    10,
                    &format!("{decoded} objects were decoded although nothing changed"),
                );
            }
        }
        // While watches are open, no list is in progress. With a lasting fault of watches they may never
        // open. Then unchanged objects are not checked any more after a restore or after a list from a stale
        // server.
        let may_list = status.watched_for.is_none() || status.queued > 0;
        let was_lagging = self.last.as_ref().is_some_and(|last| last.is_lagging);
        self.last = Some(LastCheck {
            contents,
            is_rebuilding: is_rebuilding && may_list,
            is_lagging: cluster.is_lagging || was_lagging && may_list,
            status,
            recorded,
            restarts,
            is_current,
        });
    }

    /// Returns whether everything may be decoded again: the informer reported a restored server, so that
    /// versions are not comparable, and the following list was not complete at the last check.
    fn is_rebuilding(&self, status: &Status) -> bool {
        let Some(last) = &self.last else {
            return status.went_back > 0;
        };
        last.is_rebuilding || status.went_back > last.status.went_back
    }

    fn check_handlers(&self, contents: &CacheContents) {
        let most = 2 * self.context.history.lock().keys() + 1;
        for handler in &self.handlers {
            let name = handler.checker.name();
            let backlog = handler.registration.backlog();
            if !handler.plan.every_event && backlog > most {
                self.found(6, &format!("{backlog} events are queued for {name}"));
            }
            if !handler.registration.has_synced() {
                continue;
            }
            if contents.version.is_none() {
                self.found(8, &format!("{name} has synced before the first list"));
            }
            handler.checker.check_synced(contents);
        }
    }

    fn check_waits(&mut self) {
        if self.waits.iter().any(Wait::is_late) {
            self.found(8, "a call waits for longer than its timeout");
        }
        self.waits.retain(|wait| !wait.is_over());
    }

    pub(super) fn check_held(&self) {
        if self.held.iter().any(HeldSnapshot::has_changed) {
            self.found(1, "a held snapshot has changed");
        }
    }
}
