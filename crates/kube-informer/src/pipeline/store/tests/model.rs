//! Random changes, compared with an ordered map.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use fastrand::Rng;
use k8s_openapi::api::core::v1::ConfigMap;

use super::{TestStore, key, tagged, tags_of};
use crate::object::{Key, ResourceVersion};
use crate::pipeline::reflector::{Delta, Scope};
use crate::pipeline::store::index::Index;
use crate::pipeline::store::{Change, Seed, Snapshot};

const TAGS: [&str; 6] = ["blue", "green", "red", "round", "square", "é"];

/// The expected contents of the cache.
#[derive(Clone, Default)]
struct StoreModel {
    objects: BTreeMap<Key, ConfigMap>,
    version: Option<u64>,
    indexes: BTreeSet<&'static str>,
}

impl StoreModel {
    /// Returns the keys of each printed value of an index.
    fn index(&self, name: &str) -> BTreeMap<String, BTreeSet<Key>> {
        let mut index: BTreeMap<String, BTreeSet<Key>> = BTreeMap::new();
        for (key, object) in &self.objects {
            for value in values(name, object) {
                index.entry(value).or_default().insert(key.clone());
            }
        }
        index
    }
}

/// Returns the printed index values of an object.
fn values(index: &str, object: &ConfigMap) -> Vec<String> {
    match index {
        "tags" => tags_of(object),
        "first" => tags_of(object).into_iter().take(1).collect(),
        "count" => vec![tags_of(object).len().to_string()],
        _ => Vec::new(),
    }
}

/// The objects according to the changes of the store.
type ReplayedObjects = BTreeMap<Key, Arc<ConfigMap>>;

struct StoreTest {
    random: Rng,
    cache: TestStore<ConfigMap>,
    model: StoreModel,
    replayed: ReplayedObjects,
    tags: Option<Index<ConfigMap, String>>,
    counts: Option<Index<ConfigMap, usize>>,
    version: u64,
    uids: u64,
    snapshots: Vec<(Snapshot<ConfigMap>, StoreModel)>,
}

impl StoreTest {
    fn new(seed: u64, hashes: Seed) -> StoreTest {
        StoreTest {
            random: Rng::with_seed(seed),
            cache: TestStore::new(hashes),
            model: StoreModel::default(),
            replayed: ReplayedObjects::new(),
            tags: None,
            counts: None,
            version: 0,
            uids: 0,
            snapshots: Vec::new(),
        }
    }

    fn any_key(&mut self) -> Key {
        let name = format!("n{}", self.random.u32(..12));
        match self.random.u32(..4) {
            0 => Key::cluster(&name),
            namespace => Key::namespaced(&format!("ns{namespace}"), &name),
        }
    }

    /// Returns a new state of an object, sometimes of another object with its name.
    fn any_state(&mut self, key: &Key) -> ConfigMap {
        self.version += 1;
        let tags: Vec<&str> = (0..self.random.usize(..5))
            .map(|_| TAGS[self.random.usize(..TAGS.len())])
            .collect();
        let known = self
            .model
            .objects
            .get(key)
            .and_then(|object| object.metadata.uid.clone());
        let uid = match known {
            Some(uid) if self.random.u32(..10) > 0 => uid.parse().unwrap(),
            _ => {
                self.uids += 1;
                self.uids
            }
        };
        tagged(key, self.version, uid, &tags)
    }

    fn step(&mut self) {
        match self.random.u32(..100) {
            0..50 => {
                let key = self.any_key();
                let object = self.any_state(&key);
                self.model.objects.insert(key, object.clone());
                let changes = self.cache.upsert(object);
                self.replay(changes);
            }
            50..75 => {
                let key = self.any_key();
                let object = self.any_state(&key);
                self.model.objects.remove(&key);
                let changes = self.cache.delete(object);
                self.replay(changes);
            }
            75..83 => {
                self.version += 1;
                let version = ResourceVersion::from(self.version);
                assert!(self.cache.apply(Delta::Bookmark(version, Scope::ONLY)).is_empty());
            }
            83..92 => self.replace(),
            _ => self.add_index(),
        }
        self.model.version = (self.version > 0).then_some(self.version);
    }

    /// Applies a list in which most objects are unchanged.
    fn replace(&mut self) {
        let keep = self.random.u32(..=10);
        let mut listed = BTreeMap::new();
        for (key, object) in self.model.objects.clone() {
            if self.random.u32(..10) < keep {
                listed.insert(key, object);
            }
        }
        for _ in 0..self.random.u32(..6) {
            let key = self.any_key();
            let object = self.any_state(&key);
            listed.insert(key, object);
        }
        self.version += 1;
        let items = listed
            .values()
            .map(|object| {
                if self.random.bool() {
                    self.cache.listed(object.clone())
                } else {
                    self.cache.entry(object.clone())
                }
            })
            .collect();
        self.model.objects = listed;
        let first = self.model.version.is_none();
        let changes = self.cache.replace_with(items, self.version);
        self.replay(changes);
        if first {
            // Handlers get the first list from the snapshot.
            assert!(self.replayed.is_empty());
            self.cache.publish();
            let snapshot = self.cache.store.snapshot();
            self.replayed = snapshot
                .iter()
                .map(|object| (object.key().clone(), object.to_arc()))
                .collect();
        }
    }

    fn add_index(&mut self) {
        let name = ["tags", "first", "count", "empty"][self.random.usize(..4)];
        let conflict = !self.model.indexes.insert(name);
        let added = match name {
            "tags" => self
                .cache
                .index(name, tags_of)
                .map(|index| self.tags = Some(index)),
            "count" => self
                .cache
                .index(name, |object| [tags_of(object).len()])
                .map(|index| self.counts = Some(index)),
            _ => self
                .cache
                .index(name, move |object| values(name, object))
                .map(drop),
        };
        assert_eq!(added.is_err_and(|error| error.is_conflict()), conflict);
    }

    /// Checks contract 3 for the changes of the store.
    fn replay(&mut self, changes: Vec<Change<ConfigMap>>) {
        for change in changes {
            let key = change.entry().key().clone();
            match change {
                Change::Added { new } => {
                    assert!(self.replayed.insert(key, new.object()).is_none());
                }
                Change::Updated { old, new } => {
                    let before = self.replayed.insert(key, new.object()).unwrap();
                    assert!(Arc::ptr_eq(&before, &old.object()));
                    assert_eq!(before.metadata.uid, new.object().metadata.uid);
                }
                Change::Deleted { old, last, unknown } => {
                    let before = self.replayed.remove(&key).unwrap();
                    assert!(Arc::ptr_eq(&before, &old.object()));
                    assert_eq!(unknown, Arc::ptr_eq(&old, &last));
                }
            }
        }
    }

    fn publish(&mut self) {
        assert!(self.cache.publish().is_empty());
        let snapshot = self.cache.store.snapshot();
        check(&snapshot, &self.model);
        self.check_indexes();
        for object in &snapshot {
            assert!(
                Arc::ptr_eq(&object.to_arc(), &self.replayed[object.key()]),
                "{object:?} was copied, or changed without an event"
            );
        }
        if self.random.u32(..8) == 0 {
            self.snapshots.push((snapshot, self.model.clone()));
        }
        if self.snapshots.len() > 4 {
            let at = self.random.usize(..self.snapshots.len());
            let (snapshot, model) = self.snapshots.swap_remove(at);
            check(&snapshot, &model);
        }
    }

    fn check_indexes(&self) {
        if let Some(tags) = &self.tags {
            let model = self.model.index("tags");
            for tag in TAGS {
                let expected = model.get(tag).cloned().unwrap_or_default();
                assert_eq!(set(tags.keys(tag)), expected);
                assert_eq!(tags.get(tag).len(), expected.len(), "each once");
            }
            let values: BTreeSet<String> = tags.values().iter().map(ToString::to_string).collect();
            assert_eq!(values.len(), tags.values().len(), "each once");
            assert_eq!(values, model.into_keys().collect());
        }
        if let Some(counts) = &self.counts {
            let model = self.model.index("count");
            for count in 0..6_usize {
                let expected = model.get(&count.to_string()).cloned().unwrap_or_default();
                assert_eq!(set(counts.keys(&count)), expected);
            }
        }
    }
}

fn check(snapshot: &Snapshot<ConfigMap>, model: &StoreModel) {
    assert_eq!(snapshot.len(), model.objects.len());
    assert_eq!(snapshot.is_empty(), model.objects.is_empty());
    assert_eq!(
        snapshot.version(),
        model.version.map(ResourceVersion::from).as_ref()
    );
    let found: BTreeMap<Key, ConfigMap> = snapshot
        .iter()
        .map(|object| (object.key().clone(), (*object).clone()))
        .collect();
    assert_eq!(found, model.objects);
    for (key, object) in &model.objects {
        assert_eq!(snapshot.get(key).as_deref(), Some(object));
    }
    for absent in ["ns1/none", "none", "ns9/n1"] {
        assert!(snapshot.get(&key(absent)).is_none());
    }
    for namespace in ["ns0", "ns1", "ns2", "ns3"] {
        let found = set(snapshot.namespace(namespace).map(|object| object.key().clone()));
        let expected = set(model
            .objects
            .keys()
            .filter(|key| key.namespace() == Some(namespace))
            .cloned());
        assert_eq!(found, expected);
    }
    assert_eq!(snapshot.index_names().collect::<BTreeSet<_>>(), model.indexes);
    for name in ["tags", "first", "count", "empty"] {
        if !model.indexes.contains(name) {
            assert!(
                snapshot
                    .keys_by_name(name, "blue")
                    .unwrap_err()
                    .is_unknown_index()
            );
            continue;
        }
        let index = model.index(name);
        assert_eq!(
            snapshot.index_values(name).unwrap(),
            index.keys().cloned().collect::<Vec<_>>()
        );
        for (value, keys) in &index {
            let expected: Vec<Key> = keys.iter().cloned().collect();
            assert_eq!(snapshot.keys_by_name(name, value).unwrap(), expected);
            assert_eq!(snapshot.by_name(name, value).unwrap().len(), expected.len());
        }
        assert!(snapshot.by_name(name, "no such value").unwrap().is_empty());
    }
}

fn set(keys: impl IntoIterator<Item = Key>) -> BTreeSet<Key> {
    keys.into_iter().collect()
}

fn run(seed: u64, hashes: Seed) {
    let mut run = StoreTest::new(seed, hashes);
    for _ in 0..400 {
        run.step();
        if run.random.u32(..3) == 0 {
            run.publish();
        }
    }
    run.publish();
    for (snapshot, model) in &run.snapshots {
        check(snapshot, model);
    }
}

#[test]
fn the_store_matches_the_model() {
    for seed in 0..12 {
        run(seed, Seed::new(seed));
    }
}

#[test]
fn collisions_change_nothing() {
    for seed in 0..5 {
        for bits in [0, 1, 0b11, 0x8000_0001] {
            run(seed, Seed::colliding(seed, bits));
        }
    }
}
