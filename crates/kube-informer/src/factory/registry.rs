//! The informers of a factory.

use std::any::TypeId;
use std::borrow::Cow;
use std::collections::HashMap;

use crate::erased::AnyInformer;
use crate::informer::SharedInformer;
use crate::object::Kind;

/// Identifies an informer of a factory: the type of its objects and its resource. One resource may be cached as typed
/// objects, as dynamic objects and as metadata.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct KindId {
    objects: TypeId,
    /// Group, version and plural name.
    resource: [String; 3],
}

impl KindId {
    pub(super) fn of<K: Kind>(kind: &K::DynamicType) -> KindId {
        KindId {
            objects: TypeId::of::<K>(),
            resource: [K::group(kind), K::version(kind), K::plural(kind)].map(Cow::into_owned),
        }
    }
}

/// The informers, in the order in which they were requested.
#[derive(Default)]
pub(super) struct Registry {
    positions: HashMap<KindId, usize>,
    members: Vec<AnyInformer>,
    closed: bool,
}

impl Registry {
    pub(super) fn get<K: Kind>(&self, id: &KindId) -> Option<SharedInformer<K>> {
        self.members[*self.positions.get(id)?].downcast()
    }

    /// Returns the existing informer, or adds this one.
    pub(super) fn get_or_insert<K: Kind>(
        &mut self,
        id: KindId,
        made: &SharedInformer<K>,
    ) -> SharedInformer<K> {
        if let Some(known) = self.get(&id) {
            return known;
        }
        self.insert(id, made);
        made.clone()
    }

    /// Adds an informer, unless one of its kind exists. Returns whether it was added.
    pub(super) fn insert<K: Kind>(&mut self, id: KindId, made: &SharedInformer<K>) -> bool {
        let is_new = !self.positions.contains_key(&id);
        if is_new {
            self.positions.insert(id, self.members.len());
            self.members.push(made.into());
        }
        is_new
    }

    /// Returns whether another informer caches the same resource with another type of objects.
    pub(super) fn has_other_type_of(&self, id: &KindId) -> bool {
        self.positions
            .keys()
            .any(|other| other.objects != id.objects && other.resource == id.resource)
    }

    pub(super) fn members(&self) -> impl Iterator<Item = &AnyInformer> {
        self.members.iter()
    }

    /// Returns the members, or none after [`Registry::close`].
    pub(super) fn open_members(&self) -> impl Iterator<Item = &AnyInformer> {
        self.members.iter().filter(|_| !self.closed)
    }

    /// Prevents further starts, and returns all members to stop.
    pub(super) fn close(&mut self) -> Vec<AnyInformer> {
        self.closed = true;
        self.members.clone()
    }
}
