//! What really happened on the server, version by version.

use std::collections::BTreeMap;
use std::fmt;

use kube_informer::Key;

/// A state of an object, as much of it as tells it from every other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Thing {
    /// Its resource version.
    pub(crate) version: u64,
    /// What was written into it. No two writes write the same.
    pub(crate) value: u64,
    /// The label by which some informers select.
    pub(crate) is_chosen: bool,
}

impl fmt::Display for Thing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "@{}", self.version)
    }
}

/// Which objects an informer asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Selection {
    /// All of them.
    Everything,
    /// Those of some namespaces.
    Namespaces(Vec<String>),
    /// Those with the label.
    Chosen,
}

impl Selection {
    /// Whether an object in this state is asked for.
    pub(crate) fn selects(&self, key: &Key, thing: &Thing) -> bool {
        match self {
            Selection::Everything => true,
            Selection::Namespaces(namespaces) => namespaces
                .iter()
                .any(|namespace| key.namespace() == Some(namespace.as_str())),
            Selection::Chosen => thing.is_chosen,
        }
    }
}

/// The collection, or the part of it that someone asks for.
pub(crate) type Collection = BTreeMap<Key, Thing>;

/// Everything that happened to the collection.
#[derive(Debug, Default)]
pub(crate) struct Truth {
    changes: BTreeMap<Key, Vec<Change>>,
}

#[derive(Debug, Clone)]
struct Change {
    /// The version that the server had reached with it.
    at: u64,
    /// None if the object was deleted.
    thing: Option<Thing>,
}

/// A place in the history of one object. Later ones are greater.
pub(crate) type Place = usize;

impl Truth {
    /// An object was written or, if there is nothing, deleted.
    pub(crate) fn happened(&mut self, at: u64, key: &Key, thing: Option<Thing>) {
        self.changes
            .entry(key.clone())
            .or_default()
            .push(Change { at, thing });
    }

    /// How many objects there ever were.
    pub(crate) fn keys(&self) -> usize {
        self.changes.len()
    }

    /// The collection as it was at a version.
    pub(crate) fn at(&self, version: u64, selection: &Selection) -> Collection {
        let there = self.changes.iter().filter_map(|(key, changes)| {
            let thing = state_at(changes, version)?;
            selection
                .selects(key, thing)
                .then(|| (key.clone(), thing.clone()))
        });
        there.collect()
    }

    /// The collection as it is.
    pub(crate) fn current(&self, selection: &Selection) -> Collection {
        self.at(u64::MAX, selection)
    }

    /// The versions at which something changed in a namespace, from one on.
    pub(crate) fn versions_from(&self, version: u64, namespace: &str) -> Vec<u64> {
        let in_it = self
            .changes
            .iter()
            .filter(|(key, _)| key.namespace() == Some(namespace));
        let mut versions: Vec<u64> = in_it
            .flat_map(|(_, changes)| changes.iter().map(|change| change.at))
            .filter(|at| *at > version)
            .collect();
        versions.push(version);
        versions.sort_unstable();
        versions
    }

    /// Where in its history an object was in a state, not before a place.
    pub(crate) fn place(&self, key: &Key, thing: &Thing, from: Place) -> Option<Place> {
        let changes = self.changes.get(key)?;
        let found = changes
            .iter()
            .skip(from)
            .position(|change| change.thing.as_ref() == Some(thing));
        found.map(|at| from + at)
    }

    /// Whether an object was out of sight at some time after a place.
    pub(crate) fn was_gone_after(&self, key: &Key, place: Place, selection: &Selection) -> bool {
        let changes = self.changes.get(key).map_or(&[][..], Vec::as_slice);
        changes.iter().skip(place + 1).any(|change| match &change.thing {
            Some(thing) => !selection.selects(key, thing),
            None => true,
        })
    }
}

fn state_at(changes: &[Change], version: u64) -> Option<&Thing> {
    let last = changes.iter().rev().find(|change| change.at <= version)?;
    last.thing.as_ref()
}
