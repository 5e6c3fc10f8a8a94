//! Checks one cache: contract 1 (prefix) and 2 (forward only).

use std::sync::Arc;

use kube_informer::{Kind, Object, ResourceVersion, Snapshot};

use crate::finding::Findings;
use crate::history::{Collection, HistoryView, ServerHistory, difference};
use crate::observe::ObjectState;

/// The contents of a cache at one time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CacheContents {
    /// The version of the cache; none before the first list.
    pub version: Option<ResourceVersion>,
    /// All objects.
    pub objects: Collection,
}

impl CacheContents {
    /// Reads a snapshot. `state_of` reads the state of an object, see [`ObjectState::of`].
    #[must_use]
    pub fn of<K: Kind>(
        snapshot: &Snapshot<K>,
        state_of: impl Fn(&Object<K>) -> ObjectState,
    ) -> CacheContents {
        CacheContents {
            version: snapshot.version().cloned(),
            objects: snapshot
                .iter()
                .map(|object| (object.key().clone(), state_of(&object)))
                .collect(),
        }
    }
}

/// Checks one cache, whenever a test observes it.
#[derive(Debug)]
pub struct CacheChecker {
    name: String,
    findings: Arc<Findings>,
    history: Option<HistoryView>,
    /// The namespaces of an informer of several. Each has its own version.
    namespaces: Vec<String>,
    last_version: Option<ResourceVersion>,
    last_went_back: u64,
    /// The server's era in which the cache was last found.
    era: usize,
}

impl CacheChecker {
    /// Returns a checker. Without a history only contract 2 is checked.
    ///
    /// `namespaces` are those of an informer of several namespaces; empty for one namespace or all.
    #[must_use]
    pub fn new(
        name: impl Into<String>,
        findings: &Arc<Findings>,
        history: Option<HistoryView>,
        namespaces: Vec<String>,
    ) -> CacheChecker {
        // The cache of a new informer can only be of the server's current era.
        let era = history.as_ref().map_or(0, |view| view.history.lock().restarts());
        CacheChecker {
            name: name.into(),
            findings: Arc::clone(findings),
            history,
            namespaces,
            last_version: None,
            last_went_back: 0,
            era,
        }
    }

    /// Checks only the version of the cache. `went_back` is the number of times that the informer reported a
    /// restored server.
    pub fn check_version(&mut self, version: Option<&ResourceVersion>, went_back: u64) {
        let Some(version) = version else { return };
        if let Some(last) = &self.last_version
            && version.is_before(last)
            && went_back == self.last_went_back
        {
            let message = format!("the cache went from version {last} back to {version} without a report");
            self.findings.add(2, &self.name, message);
        }
        self.last_version = Some(version.clone());
        self.last_went_back = went_back;
    }

    /// Checks the version of the cache and, with a history, that the cache equals the server's collection at
    /// that version.
    pub fn check(&mut self, cache: &CacheContents, went_back: u64) {
        let last = self.last_version.clone();
        self.check_version(cache.version.as_ref(), went_back);
        let Some(version) = &cache.version else { return };
        let Some(view) = self.history.clone() else { return };
        let history = view.history.lock();
        // A cache that went back is in a later era. Of several namespaces, others may still be in the old
        // one.
        if self.namespaces.is_empty() && last.is_some_and(|last| version.is_before(&last)) {
            self.era = (self.era + 1).min(history.restarts());
        }
        if went_back > self.noticeable_restores(&history, &view) as u64 {
            let message = "the informer reported a restored server, but the server was not restored";
            self.findings.add(2, &self.name, message);
        }
        if history.has_lost_event() {
            return;
        }
        let Ok(number) = version.to_string().parse() else {
            let message = format!("the server never had version {version}");
            return self.findings.add(1, &self.name, message);
        };
        let wrong = if self.namespaces.is_empty() {
            self.difference(&history, &view, cache, number)
        } else {
            self.difference_by_namespace(&history, &view, cache, number)
        };
        if let Some(wrong) = wrong {
            let message =
                format!("the cache at version {version} differs from the server's collection: {wrong}");
            self.findings.add(1, &self.name, message);
        }
    }

    /// Returns the number of justified reports of a restored server: each of several namespaces reports
    /// separately.
    fn noticeable_restores(&self, history: &ServerHistory, view: &HistoryView) -> usize {
        if self.namespaces.is_empty() {
            return history.noticeable_restores(&*view.selects);
        }
        let in_namespace = |namespace: &String| {
            history.noticeable_restores(&|key, state| {
                key.namespace() == Some(namespace.as_str()) && (view.selects)(key, state)
            })
        };
        self.namespaces.iter().map(in_namespace).sum()
    }

    fn difference(
        &mut self,
        history: &ServerHistory,
        view: &HistoryView,
        cache: &CacheContents,
        version: u64,
    ) -> Option<String> {
        if cache.objects.is_empty() && history.was_removed_after(version) {
            return None;
        }
        let selects = &*view.selects;
        let mut eras = self.era..=history.restarts();
        match eras.find(|era| history.was(*era, version, selects, &cache.objects)) {
            Some(era) => {
                self.era = era;
                None
            }
            None => difference(&cache.objects, &history.at(history.restarts(), version, selects)),
        }
    }

    /// Each namespace has its own version, and none is older than the cache's.
    fn difference_by_namespace(
        &self,
        history: &ServerHistory,
        view: &HistoryView,
        cache: &CacheContents,
        version: u64,
    ) -> Option<String> {
        let foreign = cache.objects.iter().find(|(key, _)| {
            let namespace = key.namespace().unwrap_or_default();
            !self.namespaces.iter().any(|name| name == namespace)
        });
        if let Some((key, state)) = foreign {
            return Some(format!("{key}: {state} | - (another namespace)"));
        }
        self.namespaces.iter().find_map(|namespace| {
            let inside = |key: &kube_informer::Key| key.namespace() == Some(namespace.as_str());
            let selects =
                |key: &kube_informer::Key, state: &ObjectState| inside(key) && (view.selects)(key, state);
            let cached: Collection = cache
                .objects
                .iter()
                .filter(|(key, _)| inside(key))
                .map(|(key, state)| (key.clone(), state.clone()))
                .collect();
            if cached.is_empty() && history.was_removed_after(version) {
                return None;
            }
            let moments = history.moments_from(self.era, version, namespace);
            let is_one = moments
                .iter()
                .any(|(era, version)| history.was(*era, *version, &selects, &cached));
            if is_one {
                return None;
            }
            difference(&cached, &history.at(history.restarts(), version, &selects))
        })
    }
}
