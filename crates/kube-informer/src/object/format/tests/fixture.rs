//! A packed cache of config maps without an informer.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use k8s_openapi::api::core::v1::ConfigMap;
use kube_wire::FieldMask;
use serde_json::{Value as Json, json};
use tokio_util::sync::CancellationToken;

use super::super::{Allocation, Compactor, PackedObject, PackingContext, Value};
use crate::object::{
    EncodedObject, Entry, Format, Key, Object, ResourceVersion, Transform, Uid, WatchedResource,
};
use crate::pipeline::reflector::{Delta, Replacement, Scope};
use crate::pipeline::store::{Scopes, Seed, Store, Writer};

/// A cache of config maps, and a task to compress it.
pub(super) struct PackedCache {
    pub(super) packing: Arc<PackingContext<ConfigMap>>,
    pub(super) store: Arc<Store<ConfigMap>>,
    pub(super) writer: Writer<ConfigMap>,
    pub(super) compactor: Compactor<ConfigMap>,
    decoded: Arc<AtomicUsize>,
}

impl PackedCache {
    /// Creates an empty cache, which counts how often objects are decoded.
    pub(super) fn new() -> PackedCache {
        PackedCache::with(|_, _| Ok(()))
    }

    /// Creates an empty cache with a transform. The second argument of the transform is the number of previous calls.
    pub(super) fn with(
        transform: impl Fn(&mut ConfigMap, usize) -> Result<(), String> + Send + Sync + 'static,
    ) -> PackedCache {
        let resource = WatchedResource::of::<ConfigMap>(&(), None);
        let decoded = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&decoded);
        let transform =
            Transform::new(move |map: &mut ConfigMap| transform(map, count.fetch_add(1, Ordering::Relaxed)));
        let packing = PackingContext::new(resource.clone(), Some(transform));
        let seed = Seed::new(1);
        let store = Arc::new(Store::new(resource.clone(), seed));
        PackedCache {
            writer: Writer::new(Arc::clone(&store), seed, Scopes::one()),
            compactor: Compactor {
                packing: Arc::clone(&packing),
                resource: resource.clone(),
                objects: {
                    let store = Arc::clone(&store);
                    Box::new(move || store.snapshot().packed_objects())
                },
            },
            packing,
            store,
            decoded,
        }
    }

    pub(super) fn packed(&self, number: usize, allocation: Allocation) -> Arc<PackedObject<ConfigMap>> {
        let json = config_map(number);
        let encoded = EncodedObject {
            format: Format::Json,
            bytes: serde_json::to_vec(&json).unwrap().into(),
        };
        self.packing
            .pack(&key(number), &encoded, &FieldMask::managed_fields(), allocation)
            .unwrap()
    }

    pub(super) fn entry(&self, number: usize, allocation: Allocation) -> Arc<Entry<ConfigMap>> {
        let key = key(number);
        let hash = Seed::new(1).key(&key);
        let version = ResourceVersion::from(number as u64 + 1);
        let uid = Uid::of(config_map(number)["metadata"]["uid"].as_str().unwrap());
        Entry::new(
            key,
            hash,
            version,
            uid,
            Value::Packed(self.packed(number, allocation)),
        )
    }

    /// Fills the cache with this many objects.
    pub(super) fn list(&mut self, objects: usize) {
        let mut objects: Vec<_> = (0..objects)
            .map(|number| self.entry(number, Allocation::Block))
            .collect();
        objects.sort_by_key(|entry| entry.hash());
        self.apply(Delta::Replaced(Replacement {
            objects,
            version: ResourceVersion::from(1_000_000),
            scope: Scope::ONLY,
            trusts_versions: true,
        }));
    }

    pub(super) fn apply(&mut self, delta: Delta<ConfigMap>) {
        self.writer.apply(delta, &mut Vec::new());
        self.writer.publish();
        self.writer.take_retired();
    }

    pub(super) fn get(&self, number: usize) -> Object<ConfigMap> {
        self.store
            .snapshot()
            .get(&key(number))
            .expect("it is in the cache")
    }

    pub(super) fn round(&self, all: bool) {
        self.compactor.round(all, &CancellationToken::new());
    }

    /// Returns the size of all objects, in bytes.
    pub(super) fn size(&self) -> usize {
        let sizes = self.store.snapshot().walk().map(|entry| match entry.value() {
            Value::Packed(packed) => packed.size(),
            Value::Decoded(_) => panic!("it is not packed"),
        });
        sizes.sum()
    }

    pub(super) fn decoded(&self) -> usize {
        self.decoded.load(Ordering::Relaxed)
    }
}

pub(super) fn key(number: usize) -> Key {
    Key::namespaced("shop", &format!("map-{number}"))
}

/// Returns a config map that has much in common with the others, and some content of its own.
pub(super) fn config_map(number: usize) -> Json {
    let mut random = fastrand::Rng::with_seed(number as u64);
    let mut word = |len: usize| -> String { (0..len).map(|_| random.alphanumeric()).collect() };
    json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "name": format!("map-{number}"),
            "namespace": "shop",
            "uid": format!("uid-{number}-{}", word(16)),
            "resourceVersion": (number + 1).to_string(),
            "labels": {"app": format!("app-{}", number % 10), "tier": "backend"},
            "annotations": {"example.org/checksum": word(32)},
            "managedFields": [{"manager": "kubectl", "operation": "Update"}],
        },
        "data": {
            "settings.yaml": format!(
                "listen: 0.0.0.0:8080\nlogLevel: info\nmetrics:\n  enabled: true\n  port: 9090\n\
                 database:\n  host: db-{}.internal.example.org\n  pool: {}\ntoken: {}\n",
                number % 7, number % 50, word(24),
            ),
        },
    })
}

/// Returns the config map as read from a cache without `managedFields`.
pub(super) fn expected(number: usize) -> ConfigMap {
    let mut expected: ConfigMap = serde_json::from_value(config_map(number)).unwrap();
    expected.metadata.managed_fields = None;
    expected
}

/// Packs a config map with this much text, which compresses well.
pub(super) fn packed_text(
    cache: &PackedCache,
    size: usize,
    allocation: Allocation,
) -> Arc<PackedObject<ConfigMap>> {
    let text = serde_json::to_vec(&json!({
        "metadata": {"name": "map-0", "namespace": "shop", "resourceVersion": "1"},
        "data": {"text": "x".repeat(size)}
    }));
    let encoded = EncodedObject {
        format: Format::Json,
        bytes: text.unwrap().into(),
    };
    let packed = cache
        .packing
        .pack(&key(0), &encoded, &FieldMask::managed_fields(), allocation);
    packed.unwrap()
}
