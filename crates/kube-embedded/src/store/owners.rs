//! Who owns whom: which uid is where, and which objects name it as an owner.

use std::collections::{BTreeSet, HashMap};

use super::{CollectionId, EventKind, Place, Stored};

/// Uids of all objects and their dependents.
#[derive(Debug, Clone, Default)]
pub(super) struct Owners {
    places: HashMap<Box<str>, Place>,
    dependents: HashMap<Box<str>, BTreeSet<Place>>,
}

impl Owners {
    pub(super) fn place(&self, uid: &str) -> Option<&Place> {
        self.places.get(uid)
    }

    pub(super) fn dependents(&self, uid: &str) -> Vec<Place> {
        self.dependents.get(uid).into_iter().flatten().cloned().collect()
    }

    /// Takes in one change.
    pub(super) fn follow(
        &mut self,
        collection: &CollectionId,
        kind: EventKind,
        object: &Stored,
        previous: Option<&Stored>,
    ) {
        let place = || Place {
            collection: collection.clone(),
            key: object.key.clone(),
        };
        if let Some(previous) = previous {
            for owner in &previous.owners {
                if let Some(set) = self.dependents.get_mut(owner) {
                    set.remove(&place());
                    if set.is_empty() {
                        self.dependents.remove(owner);
                    }
                }
            }
        }
        if kind == EventKind::Deleted {
            self.places.remove(&object.uid);
            return;
        }
        for owner in &object.owners {
            self.dependents.entry(owner.clone()).or_default().insert(place());
        }
        if previous.is_none() {
            self.places.insert(object.uid.clone(), place());
        }
    }
}
