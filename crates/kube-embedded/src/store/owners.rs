//! An index of uids and owner references.

use std::collections::{BTreeSet, HashMap};

use super::{CollectionId, EventKind, ObjectRef, Stored};

/// The locations of all uids and of their dependents.
#[derive(Debug, Clone, Default)]
pub(super) struct Owners {
    places: HashMap<Box<str>, ObjectRef>,
    dependents: HashMap<Box<str>, BTreeSet<ObjectRef>>,
}

impl Owners {
    pub(super) fn place(&self, uid: &str) -> Option<&ObjectRef> {
        self.places.get(uid)
    }

    pub(super) fn dependents(&self, uid: &str) -> Vec<ObjectRef> {
        self.dependents.get(uid).into_iter().flatten().cloned().collect()
    }

    /// Applies a change.
    pub(super) fn update(
        &mut self,
        collection: &CollectionId,
        kind: EventKind,
        object: &Stored,
        previous: Option<&Stored>,
    ) {
        let place = || ObjectRef {
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
