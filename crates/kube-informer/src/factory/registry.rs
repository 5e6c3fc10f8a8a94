//! The informers of a factory.

use std::any::TypeId;
use std::collections::HashMap;
use std::sync::Arc;

use super::member::Member;
use crate::informer::SharedInformer;
use crate::object::Kind;

/// Identifies an informer of a factory: the type of its objects and its resource. One resource may be cached as typed
/// objects, as dynamic objects and as metadata.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct KindId {
    objects: TypeId,
    group: String,
    version: String,
    plural: String,
}

impl KindId {
    pub(super) fn of<K: Kind>(kind: &K::DynamicType) -> KindId {
        KindId {
            objects: TypeId::of::<K>(),
            group: K::group(kind).into_owned(),
            version: K::version(kind).into_owned(),
            plural: K::plural(kind).into_owned(),
        }
    }
}

impl KindId {
    fn is_same_resource(&self, other: &KindId) -> bool {
        let names = |id: &KindId| (id.group.clone(), id.version.clone(), id.plural.clone());
        names(self) == names(other)
    }
}

/// The informers, in the order in which they were requested.
#[derive(Default)]
pub(super) struct Registry {
    positions: HashMap<KindId, usize>,
    members: Vec<Arc<dyn Member>>,
    closed: bool,
}

impl Registry {
    pub(super) fn get<K: Kind>(&self, id: &KindId) -> Option<SharedInformer<K>> {
        let member = &self.members[*self.positions.get(id)?];
        member.as_any().downcast_ref().cloned()
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
        self.positions.insert(id, self.members.len());
        self.members.push(Arc::new(made.clone()));
        made.clone()
    }

    /// Adds an informer, unless one of its kind exists. Returns whether it was added.
    pub(super) fn insert<K: Kind>(&mut self, id: KindId, made: &SharedInformer<K>) -> bool {
        let is_new = !self.positions.contains_key(&id);
        if is_new {
            self.positions.insert(id, self.members.len());
            self.members.push(Arc::new(made.clone()));
        }
        is_new
    }

    /// Whether another informer caches the same resource with another type of objects.
    pub(super) fn has_other_type_of(&self, id: &KindId) -> bool {
        self.positions
            .keys()
            .any(|other| other.objects != id.objects && other.is_same_resource(id))
    }

    pub(super) fn members(&self) -> impl Iterator<Item = &Arc<dyn Member>> {
        self.members.iter()
    }

    /// Returns the members, or none after [`Registry::close`].
    pub(super) fn open_members(&self) -> impl Iterator<Item = &Arc<dyn Member>> {
        self.members.iter().filter(|_| !self.closed)
    }

    /// Prevents further starts, and returns all members to stop.
    pub(super) fn close(&mut self) -> Vec<Arc<dyn Member>> {
        self.closed = true;
        self.members.clone()
    }
}
