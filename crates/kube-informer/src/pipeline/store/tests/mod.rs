//! Tests of the store.

mod changes;
mod indexes;
mod model;
mod readers;
pub(crate) mod retired;
mod scopes;

use std::collections::BTreeMap;
use std::sync::Arc;

use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::ObjectMeta;

use super::index::{Index, IndexValue};
use super::{Change, Scopes, Seed, Store, Writer};
use crate::error::Error;
use crate::object::format::Value;
use crate::object::{Entry, Key, Kind, ResourceVersion, Uid, WatchedResource};
use crate::pipeline::reflector::{Delta, Replacement, Scope};

/// A store and its writer, without a queue.
pub(crate) struct TestStore<K> {
    pub(crate) store: Arc<Store<K>>,
    pub(crate) writer: Writer<K>,
    seed: Seed,
}

impl<K: Kind<DynamicType = ()>> TestStore<K> {
    pub(crate) fn new(seed: Seed) -> TestStore<K> {
        TestStore::of_scopes(seed, Scopes::one())
    }

    pub(crate) fn of_scopes(seed: Seed, scopes: Scopes) -> TestStore<K> {
        let store = Arc::new(Store::new(WatchedResource::of::<K>(&(), None), seed));
        TestStore {
            writer: Writer::new(Arc::clone(&store), seed, scopes),
            store,
            seed,
        }
    }

    pub(crate) fn entry(&self, object: K) -> Arc<Entry<K>> {
        entry(object, self.seed)
    }

    /// Applies a change without publishing it.
    pub(crate) fn apply(&mut self, delta: Delta<K>) -> Vec<Change<K>> {
        let mut changes = Vec::new();
        self.writer.apply(delta, &mut changes);
        changes
    }

    pub(crate) fn upsert(&mut self, object: K) -> Vec<Change<K>> {
        self.apply(Delta::Upsert(self.entry(object)))
    }

    pub(crate) fn delete(&mut self, object: K) -> Vec<Change<K>> {
        self.apply(Delta::Deleted(self.entry(object)))
    }

    /// Applies a list like the reflector, which reuses cached entries.
    pub(crate) fn replace(&mut self, objects: Vec<K>, version: u64) -> Vec<Change<K>> {
        let objects = objects.into_iter().map(|object| self.listed(object)).collect();
        self.replace_with(objects, version)
    }

    /// Returns the cached entry of an object, or a new one.
    pub(crate) fn listed(&self, object: K) -> Arc<Entry<K>> {
        let new = self.entry(object);
        let cached = self.store.get_at_version(new.key(), new.version(), new.uid());
        cached.unwrap_or(new)
    }

    pub(crate) fn replace_with(&mut self, objects: Vec<Arc<Entry<K>>>, version: u64) -> Vec<Change<K>> {
        self.replace_in(Scope::ONLY, objects, version)
    }

    pub(crate) fn replace_in(
        &mut self,
        scope: Scope,
        mut objects: Vec<Arc<Entry<K>>>,
        version: u64,
    ) -> Vec<Change<K>> {
        objects.sort_by_key(|entry| entry.hash());
        let version = ResourceVersion::from(version);
        self.apply(Delta::Replaced(Replacement {
            objects,
            version,
            scope,
            trusts_versions: true,
        }))
    }

    pub(crate) fn index<V: IndexValue, I: IntoIterator<Item = V>>(
        &mut self,
        name: &str,
        values: impl Fn(&K) -> I + Send + Sync + 'static,
    ) -> Result<Index<K, V>, Error> {
        self.try_index(name, move |object| Ok(values(object).into_iter().collect()))
    }

    pub(crate) fn try_index<V: IndexValue>(
        &mut self,
        name: &str,
        values: impl Fn(&K) -> Result<Vec<V>, String> + Send + Sync + 'static,
    ) -> Result<Index<K, V>, Error> {
        let name: Arc<str> = name.into();
        self.writer.add_index(Arc::clone(&name), Arc::new(values))?;
        Ok(Index::new(Arc::clone(&self.store), name))
    }

    pub(crate) fn publish(&mut self) -> Vec<Error> {
        let errors = self.writer.publish();
        self.writer.take_retired();
        errors
    }
}

pub(crate) fn entry<K: Kind>(object: K, seed: Seed) -> Arc<Entry<K>> {
    let meta = object.meta();
    let key = Key::new(meta.namespace.as_deref(), meta.name.as_deref().unwrap());
    let hash = seed.key(&key);
    let version = ResourceVersion::from(meta.resource_version.as_deref().unwrap());
    let uid = Uid::of(meta.uid.as_deref().unwrap_or_default());
    Entry::new(key, hash, version, uid, Value::Decoded(Arc::new(object)))
}

/// Returns an object with tags for an index.
pub(crate) fn tagged(key: &Key, version: u64, uid: u64, tags: &[&str]) -> ConfigMap {
    ConfigMap {
        metadata: ObjectMeta {
            name: Some(key.name().to_owned()),
            namespace: key.namespace().map(str::to_owned),
            resource_version: Some(version.to_string()),
            uid: Some(uid.to_string()),
            ..ObjectMeta::default()
        },
        data: Some(BTreeMap::from([("tags".to_owned(), tags.join(","))])),
        ..ConfigMap::default()
    }
}

pub(crate) fn key(text: &str) -> Key {
    text.parse().unwrap()
}

pub(crate) fn tags_of(object: &ConfigMap) -> Vec<String> {
    let tags = object.data.as_ref().and_then(|data| data.get("tags"));
    tags.map(|tags| {
        tags.split(',')
            .filter(|tag| !tag.is_empty())
            .map(str::to_owned)
            .collect()
    })
    .unwrap_or_default()
}

pub(crate) fn name_of(object: &ConfigMap) -> &str {
    object.metadata.name.as_deref().unwrap()
}
