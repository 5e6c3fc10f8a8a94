//! The state of the server at each version.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use kube_informer::Key;
use parking_lot::Mutex;

use crate::observe::ObjectState;

/// Objects by their keys.
pub type Collection = BTreeMap<Key, ObjectState>;

/// Whether an informer or a filter selects an object in a state.
pub type Selects = Arc<dyn Fn(&Key, &ObjectState) -> bool + Send + Sync>;

/// The position of a change in the history of one object. Later positions are greater.
pub type Position = usize;

/// Every change of a collection, in order.
///
/// A server that is restored from a backup starts another *era*: its versions may repeat, and the changes
/// after the backup are lost.
#[derive(Debug, Default)]
pub struct ServerHistory {
    changes: BTreeMap<Key, Vec<Change>>,
    era: usize,
    restores: Vec<Restore>,
    /// Versions at which the kind was removed.
    removals: Vec<u64>,
    /// The server has omitted an event, so that caches may miss a change.
    has_lost_event: bool,
    recorded: u64,
    last_version: u64,
}

/// A restore from a backup.
#[derive(Debug)]
struct Restore {
    /// Versions went back, too.
    goes_back: bool,
    /// The objects that the backup returned to an earlier state.
    returned: Collection,
}

#[derive(Debug, Clone)]
struct Change {
    era: usize,
    version: u64,
    /// None if the object was deleted.
    state: Option<ObjectState>,
}

impl ServerHistory {
    /// Records that an object was written or, without a state, deleted.
    pub fn record(&mut self, version: u64, key: &Key, state: Option<ObjectState>) {
        self.recorded += 1;
        self.last_version = version;
        let era = self.era;
        let change = Change { era, version, state };
        match self.changes.get_mut(key) {
            Some(changes) => changes.push(change),
            None => drop(self.changes.insert(key.clone(), vec![change])),
        }
    }

    /// Records that the server was restored to these objects at this version.
    pub fn restored(&mut self, version: u64, to: &Collection, bumps_versions: bool) {
        if !bumps_versions {
            self.era += 1;
        }
        let current = self.current(&|_, _| true);
        let mut returned = to.clone();
        returned.retain(|key, state| current.get(key) != Some(state));
        for (key, state) in &returned {
            self.record(version, key, Some(state.clone()));
        }
        self.restores.push(Restore {
            goes_back: !bumps_versions,
            returned,
        });
        for key in current.keys().filter(|key| !to.contains_key(*key)) {
            self.record(version, key, None);
        }
    }

    /// Records that the kind was removed. Caches may be emptied at a version before this one.
    pub fn kind_removed(&mut self, version: u64) {
        self.removals.push(version);
    }

    /// Sets whether the server has omitted an event of a watch, so that caches need not be a prefix.
    pub fn set_lost_event(&mut self, has_lost: bool) {
        self.has_lost_event = has_lost;
    }

    /// Returns whether the server has omitted an event of a watch.
    pub fn has_lost_event(&self) -> bool {
        self.has_lost_event
    }

    /// Returns how often the server went back to older versions.
    pub fn restarts(&self) -> usize {
        self.era
    }

    /// Returns how often an informer of the selected objects may notice a restore from a backup: it sees an
    /// older version, or an object in a state that it has passed. A restore with newer versions that only
    /// removes objects looks like deletions.
    pub fn noticeable_restores(&self, selects: &dyn Fn(&Key, &ObjectState) -> bool) -> usize {
        let is_noticeable = |restore: &&Restore| {
            let mut returned = restore.returned.iter();
            restore.goes_back || returned.any(|(key, state)| selects(key, state))
        };
        self.restores.iter().filter(is_noticeable).count()
    }

    /// Returns the number of recorded changes.
    pub fn recorded(&self) -> u64 {
        self.recorded
    }

    /// Returns the version of the last change.
    pub fn last_version(&self) -> u64 {
        self.last_version
    }

    /// Returns the number of different keys in the history.
    pub fn keys(&self) -> usize {
        self.changes.len()
    }

    /// Returns the current collection.
    pub fn current(&self, selects: &dyn Fn(&Key, &ObjectState) -> bool) -> Collection {
        self.at(self.era, u64::MAX, selects)
    }

    /// Returns the collection at a version of an era.
    pub fn at(&self, era: usize, version: u64, selects: &dyn Fn(&Key, &ObjectState) -> bool) -> Collection {
        self.states_at(era, version, selects)
            .map(|(key, state)| (key.clone(), state.clone()))
            .collect()
    }

    /// Returns whether the collection at a version equals the given objects.
    pub fn was(
        &self,
        era: usize,
        version: u64,
        selects: &dyn Fn(&Key, &ObjectState) -> bool,
        objects: &Collection,
    ) -> bool {
        self.states_at(era, version, selects).eq(objects.iter())
    }

    /// Returns whether the current collection equals the given objects.
    pub fn is(&self, selects: &dyn Fn(&Key, &ObjectState) -> bool, objects: &Collection) -> bool {
        self.was(self.era, u64::MAX, selects, objects)
    }

    fn states_at<'a>(
        &'a self,
        era: usize,
        version: u64,
        selects: &'a dyn Fn(&Key, &ObjectState) -> bool,
    ) -> impl Iterator<Item = (&'a Key, &'a ObjectState)> {
        self.changes.iter().filter_map(move |(key, changes)| {
            let is_past =
                |change: &&Change| change.era < era || change.era == era && change.version <= version;
            let state = changes.iter().rev().find(is_past)?.state.as_ref()?;
            selects(key, state).then_some((key, state))
        })
    }

    /// Returns all positions at or after a version at which a namespace changed, including that version
    /// itself.
    pub(crate) fn moments_from(&self, era: usize, version: u64, namespace: &str) -> Vec<(usize, u64)> {
        let mut moments: BTreeSet<(usize, u64)> = self
            .changes
            .iter()
            .filter(|(key, _)| key.namespace() == Some(namespace))
            .flat_map(|(_, changes)| changes)
            .filter(|change| change.era >= era && change.version > version)
            .map(|change| (change.era, change.version))
            .collect();
        moments.extend((era..=self.era).map(|era| (era, version)));
        moments.into_iter().collect()
    }

    /// Returns whether the kind was removed after a version.
    pub(crate) fn was_removed_after(&self, version: u64) -> bool {
        self.removals.iter().any(|removal| *removal >= version)
    }

    /// Returns the position at which an object was in a state, not before the given position.
    pub fn position(&self, key: &Key, state: &ObjectState, from: Position) -> Option<Position> {
        let changes = self.changes.get(key)?;
        let found = changes
            .iter()
            .skip(from)
            .position(|change| change.state.as_ref() == Some(state));
        found.map(|at| from + at)
    }

    /// Returns the current state of an object, if it exists.
    pub fn get(&self, key: &Key) -> Option<&ObjectState> {
        self.changes.get(key)?.last()?.state.as_ref()
    }

    /// Returns the position of an object's last change.
    pub fn last_position(&self, key: &Key) -> Option<Position> {
        self.changes.get(key)?.len().checked_sub(1)
    }

    /// Returns whether an object was in a state, or absent, at or after a position.
    pub fn was_after(
        &self,
        key: &Key,
        position: Position,
        selects: &dyn Fn(&Key, &ObjectState) -> bool,
        state: Option<&ObjectState>,
    ) -> bool {
        let changes = self.changes.get(key).map_or(&[][..], Vec::as_slice);
        changes.iter().skip(position).any(|change| {
            let selected = change.state.as_ref().filter(|state| selects(key, state));
            selected == state
        })
    }

    /// Returns whether an object was deleted or not selected at any time after a position.
    pub fn was_absent_after(
        &self,
        key: &Key,
        position: Position,
        selects: &dyn Fn(&Key, &ObjectState) -> bool,
    ) -> bool {
        let changes = self.changes.get(key).map_or(&[][..], Vec::as_slice);
        changes
            .iter()
            .skip(position + 1)
            .any(|change| match &change.state {
                Some(state) => !selects(key, state),
                None => true,
            })
    }
}

/// A shared history, restricted to the selection of an informer or handler.
#[derive(Clone)]
pub struct HistoryView {
    /// The history.
    pub history: Arc<Mutex<ServerHistory>>,
    /// The selection.
    pub selects: Selects,
}

impl fmt::Debug for HistoryView {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HistoryView").finish_non_exhaustive()
    }
}

/// Describes the first difference between two collections.
#[must_use]
pub fn difference(one: &Collection, other: &Collection) -> Option<String> {
    let keys: BTreeSet<&Key> = one.keys().chain(other.keys()).collect();
    let state = |of: &Collection, key| of.get(key).map_or("-".to_owned(), ObjectState::to_string);
    let different = keys.into_iter().find(|key| one.get(*key) != other.get(*key))?;
    let (one, other) = (state(one, different), state(other, different));
    Some(format!("{different}: {one} | {other}"))
}
