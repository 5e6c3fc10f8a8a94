//! Tests of packed objects without an informer.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use kube_wire::FieldMask;
use kube_wire::protobuf::{self, Envelope, Schema};
use kube_wire::selector::Selector;
use serde_json::{Value as Json, json};
use tokio_util::sync::CancellationToken;

use super::compress::{Compressor, MIN_SAMPLES};
use super::decode_cache::{MAX_RECENT, MIN_RECENT};
use super::packing::{BLOCK, TrainedDictionary};
use super::{Allocation, Compactor, PackedObject, PackingContext, TransformedMetadata, Value};
use crate::lister::Lister;
use crate::object::{
    EncodedObject, Entry, Format, Key, Object, ResourceVersion, Transform, Uid, WatchedResource,
};
use crate::pipeline::reflector::{Delta, Replacement, Scope};
use crate::pipeline::store::{Scopes, Seed, Store, Writer};

/// A cache of config maps, and a task to compress it.
struct PackedCache {
    packing: Arc<PackingContext<ConfigMap>>,
    store: Arc<Store<ConfigMap>>,
    writer: Writer<ConfigMap>,
    packer: Compactor<ConfigMap>,
    decoded: Arc<AtomicUsize>,
}

impl PackedCache {
    /// Creates an empty cache, which counts how often objects are decoded.
    fn new() -> PackedCache {
        PackedCache::with(|_, _| Ok(()))
    }

    /// Creates an empty cache with a transform. The second argument of the transform is the number of previous calls.
    fn with(
        transform: impl Fn(&mut ConfigMap, usize) -> Result<(), String> + Send + Sync + 'static,
    ) -> PackedCache {
        let resource = WatchedResource::of::<ConfigMap>(&(), None);
        let packing = PackingContext::new(resource.clone());
        let decoded = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&decoded);
        packing.set_transform(Some(Transform::new(move |map: &mut ConfigMap| {
            transform(map, count.fetch_add(1, Ordering::Relaxed))
        })));
        let seed = Seed::new(1);
        let store = Arc::new(Store::new(resource.clone(), seed));
        PackedCache {
            writer: Writer::new(Arc::clone(&store), seed, Scopes::one()),
            packer: Compactor {
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

    fn packed(&self, number: usize, allocation: Allocation) -> Arc<PackedObject<ConfigMap>> {
        let json = config_map(number);
        let encoded = EncodedObject {
            format: Format::Json,
            bytes: serde_json::to_vec(&json).unwrap().into(),
        };
        self.packing
            .pack(&key(number), &encoded, &FieldMask::managed_fields(), allocation)
            .unwrap()
    }

    fn entry(&self, number: usize, allocation: Allocation) -> Arc<Entry<ConfigMap>> {
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
    fn list(&mut self, objects: usize) {
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

    fn apply(&mut self, delta: Delta<ConfigMap>) {
        self.writer.apply(delta, &mut Vec::new());
        self.writer.publish();
        self.writer.free_retired();
    }

    fn get(&self, number: usize) -> Object<ConfigMap> {
        self.store
            .snapshot()
            .get(&key(number))
            .expect("it is in the cache")
    }

    fn round(&self, all: bool) {
        self.packer.round(all, &CancellationToken::new());
    }

    /// Returns the size of all objects, in bytes.
    fn size(&self) -> usize {
        let sizes = self.store.snapshot().walk().map(|entry| match entry.value() {
            Value::Packed(packed) => packed.size(),
            Value::Decoded(_) => panic!("it is not packed"),
        });
        sizes.sum()
    }

    fn decoded(&self) -> usize {
        self.decoded.load(Ordering::Relaxed)
    }
}

fn key(number: usize) -> Key {
    Key::namespaced("shop", &format!("map-{number}"))
}

/// Returns a config map that has much in common with the others, and some content of its own.
fn config_map(number: usize) -> Json {
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
fn expected(number: usize) -> ConfigMap {
    let mut expected: ConfigMap = serde_json::from_value(config_map(number)).unwrap();
    expected.metadata.managed_fields = None;
    expected
}

#[test]
fn an_object_comes_back_as_it_was_without_what_is_left_out() {
    let mut cache = PackedCache::new();
    cache.list(200);
    for number in 0..200 {
        assert_eq!(*cache.get(number), expected(number));
    }
    cache.round(true);
    for number in 0..200 {
        assert_eq!(*cache.get(number), expected(number), "compressed");
    }
}

#[test]
fn compressing_makes_small_what_is_alike() {
    let mut cache = PackedCache::new();
    cache.list(500);
    let before = cache.size();
    assert_eq!(cache.packing.waiting(), 500);
    cache.round(true);
    assert_eq!(cache.packing.waiting(), 0);
    // A quarter of it are outlines, which are not compressed.
    assert!(
        cache.size() * 2 < before,
        "{} of {before} bytes are left",
        cache.size()
    );
}

#[test]
fn labels_and_uid_are_read_without_decoding() {
    let mut cache = PackedCache::new();
    cache.list(100);
    let before = cache.decoded();
    for compressed in [false, true] {
        let map = cache.get(17);
        assert_eq!(map.label("app").as_deref(), Some("app-7"), "{compressed}");
        assert_eq!(map.label("none"), None);
        let annotations = expected(17).metadata.annotations.expect("there is one");
        let name = "example.org/checksum";
        assert_eq!(map.annotation(name).as_deref(), Some(annotations[name].as_str()));
        assert_eq!(map.annotation("none"), None);
        assert_eq!(map.uid().as_deref(), expected(17).metadata.uid.as_deref());
        let selector: Selector = "app in (app-7, app-8), tier".parse().unwrap();
        assert_eq!(cache.store.snapshot().select(&selector).count(), 20);
        cache.round(true);
    }
    assert_eq!(cache.decoded(), before);
}

#[test]
fn an_object_that_someone_holds_is_not_decoded_twice() {
    let mut cache = PackedCache::new();
    cache.list(200);
    cache.round(true);
    let before = cache.decoded();
    let held = cache.get(3).to_arc();
    // More than the number of recently decoded objects to keep.
    for number in 50..200 {
        let _name = &cache.get(number).metadata.name;
    }
    assert!(Arc::ptr_eq(&held, &cache.get(3).to_arc()));
    assert_eq!(cache.decoded(), before + 151);
    drop(held);
    let _name = &cache.get(3).metadata.name;
    assert_eq!(cache.decoded(), before + 152, "no reference was left");
}

#[test]
fn what_was_read_last_is_not_decoded_again() {
    let mut cache = PackedCache::new();
    cache.list(10);
    let read_often = |numbers: std::ops::Range<usize>| {
        let before = cache.decoded();
        for _ in 0..20 {
            for number in numbers.clone() {
                let _name = &cache.get(number).metadata.name;
            }
        }
        cache.decoded() - before
    };
    let few = MIN_RECENT as usize;
    assert_eq!(read_often(0..few), few);
    // When the first late access increases the capacity, only the last few objects are still kept.
    assert_eq!(read_often(few..few + 5), 5 + 5 - few);
    assert_eq!(read_often(few..few + 5), 0);
}

#[test]
fn those_who_read_the_same_one_after_the_other_decode_once_soon() {
    let mut cache = PackedCache::new();
    cache.list(3_000);
    let read = |cache: &PackedCache, numbers: std::ops::Range<usize>| {
        let before = cache.decoded();
        for number in numbers {
            let _name = &cache.get(number).metadata.name;
        }
        cache.decoded() - before
    };
    let recent = |cache: &PackedCache| cache.packing.decoded.lock().recent();
    assert_eq!(read(&cache, 0..100), 100);
    assert_eq!(recent(&cache), MIN_RECENT as usize, "no access was late");
    let again = 100 - MIN_RECENT as usize;
    assert_eq!(
        read(&cache, 0..100),
        again,
        "the first late access increases the capacity"
    );
    assert_eq!(read(&cache, 0..100), 0);
    assert_eq!(recent(&cache), 100);
    // Reading all objects once does not increase the capacity.
    assert_eq!(read(&cache, 200..500), 300);
    assert_eq!(recent(&cache), 100);
    assert_eq!(read(&cache, 500..3_000), 2_500);
    assert_eq!(recent(&cache), MIN_RECENT as usize, "no access was late for long");
    assert_eq!(read(&cache, 0..3_000), 3_000);
    assert_eq!(recent(&cache), MIN_RECENT as usize);
    const { assert!(MAX_RECENT > 100) };
}

#[test]
fn what_is_let_go_is_forgotten_at_once() {
    let mut cache = PackedCache::new();
    cache.list(50);
    for number in 0..50 {
        let _name = &cache.get(number).metadata.name;
    }
    assert_eq!(cache.packing.decoded.lock().len(), MIN_RECENT as usize);
}

#[test]
fn what_was_read_last_is_let_go_when_nothing_happens() {
    let mut cache = PackedCache::new();
    cache.list(10);
    let read = Arc::downgrade(&cache.get(1).to_arc());
    assert!(read.upgrade().is_some());
    cache.packing.clear_recent();
    assert!(read.upgrade().is_none());
}

#[test]
fn what_came_alone_is_decoded_once_for_all_who_look_at_once() {
    let mut cache = PackedCache::new();
    cache.list(0);
    let changed = cache.entry(1, Allocation::Separate);
    cache.apply(Delta::Upsert(changed));
    let _name = &cache.get(1).metadata.name;
    assert_eq!(cache.decoded(), 1);
}

#[test]
fn notes_of_decoded_objects_go_with_them() {
    let mut cache = PackedCache::new();
    cache.list(1_000);
    for number in 0..1_000 {
        let _name = &cache.get(number).metadata.name;
    }
    assert!(
        cache.packing.decoded.lock().len() < 300,
        "dead entries are removed"
    );
    let held: Vec<_> = (0..500).map(|number| cache.get(number).to_arc()).collect();
    assert!(cache.packing.decoded.lock().len() >= 500);
    cache.list(0);
    assert_eq!(
        cache.packing.decoded.lock().len(),
        0,
        "entries are removed with the packed object"
    );
    assert_eq!(held[499].metadata.name.as_deref(), Some("map-499"));
    assert_eq!(cache.packing.waiting(), 0);
}

#[test]
fn what_changes_is_left_alone_until_it_rests() {
    let mut cache = PackedCache::new();
    cache.list(100);
    cache.round(true);
    let changed = cache.entry(5, Allocation::Separate);
    cache.apply(Delta::Upsert(changed));
    cache.round(false);
    assert_eq!(cache.packing.waiting(), 1, "it may change again soon");
    cache.round(false);
    assert_eq!(cache.packing.waiting(), 0);
    assert_eq!(*cache.get(5), expected(5));
}

#[test]
fn a_dictionary_is_made_when_there_is_enough_to_learn_from_and_anew_when_there_is_much_more() {
    let mut cache = PackedCache::new();
    cache.list(20);
    cache.round(true);
    assert!(cache.packing.dictionary.lock().is_none());
    assert_eq!(
        cache.packing.waiting(),
        0,
        "compression works without a dictionary"
    );
    let trained_on = |cache: &PackedCache| cache.packing.dictionary.lock().as_ref().unwrap().objects;
    cache.list(100);
    cache.round(true);
    assert_eq!(trained_on(&cache), 100);
    cache.list(700);
    cache.round(true);
    assert_eq!(trained_on(&cache), 100);
    cache.list(800);
    cache.round(true);
    assert_eq!(trained_on(&cache), 800);
    for number in [0, 50, 400, 799] {
        assert_eq!(*cache.get(number), expected(number));
    }
}

#[test]
fn a_dictionary_that_does_much_worse_than_at_first_is_made_anew() {
    let mut cache = PackedCache::new();
    cache.list(400);
    cache.round(true);
    let first = cache.packing.dictionary.lock().clone().unwrap();
    assert!(first.percent.is_some());
    let mut other = cache.packing.dictionary.lock().clone();
    other.as_mut().unwrap().percent = Some(1);
    *cache.packing.dictionary.lock() = other;
    cache.list(0);
    cache.list(400);
    cache.round(true);
    assert!(cache.packing.dictionary.lock().is_none());
    cache.list(0);
    cache.list(400);
    cache.round(true);
    let second = cache.packing.dictionary.lock().clone().unwrap();
    assert!(!Arc::ptr_eq(&first.dictionary, &second.dictionary));
    assert_eq!(*cache.get(7), expected(7));
}

#[test]
fn a_dictionary_is_made_of_the_smallest_number_of_samples_that_is_enough() {
    let mut cache = PackedCache::new();
    cache.list(MIN_SAMPLES);
    cache.round(true);
    let trained = cache.packing.dictionary.lock().clone().expect("there are enough");
    assert_eq!(trained.objects, MIN_SAMPLES);
}

#[test]
fn a_round_notes_how_many_percent_of_the_objects_are_left() {
    let mut cache = PackedCache::new();
    cache.list(400);
    let before = cache.size();
    cache.round(true);
    let trained = cache.packing.dictionary.lock().clone().expect("it was trained");
    assert_eq!(trained.percent, Some(100 * cache.size() / before));
}

#[test]
fn the_bytes_of_all_objects_are_counted() {
    let mut cache = PackedCache::new();
    cache.list(100);
    assert_eq!(cache.packing.bytes(), cache.size());
    cache.round(true);
    assert_eq!(cache.packing.bytes(), cache.size(), "compressed");
    cache.list(0);
    assert_eq!(cache.packing.bytes(), 0);
}

#[tokio::test(start_paused = true)]
async fn what_was_read_last_is_let_go_after_a_rest_but_not_after_a_list() {
    let mut cache = PackedCache::new();
    cache.list(10);
    cache.round(true);
    let read = Arc::downgrade(&cache.get(1).to_arc());
    let stop = CancellationToken::new();
    let packer = tokio::spawn(cache.packer.run(stop.clone()));
    cache.packing.on_list_applied();
    tokio::time::sleep(Duration::from_secs(20)).await;
    assert!(read.upgrade().is_some());
    tokio::time::sleep(Duration::from_secs(20)).await;
    assert!(read.upgrade().is_none());
    stop.cancel();
    packer.await.unwrap();
}

/// Checking the bytes is sufficient to know that they can be decoded.
#[test]
fn a_good_message_of_a_built_in_kind_is_packed_without_decoding() {
    let message = protobuf::encode(&config_map(1)).expect("it has a message");
    let message = Bytes::copy_from_slice(Envelope::parse(&message).unwrap().raw);
    let schema = Schema::of("v1", "ConfigMap").expect("it is a built-in kind");
    for (is_transformed, decoded) in [(false, 0), (true, 1)] {
        let resource = WatchedResource::of::<ConfigMap>(&(), None);
        let packing = PackingContext::<ConfigMap>::new(resource);
        packing
            .set_transform(is_transformed.then(|| Transform::new(|_: &mut ConfigMap| Ok::<_, String>(()))));
        let encoded = EncodedObject {
            format: Format::Protobuf(schema),
            bytes: message.clone(),
        };
        let packed = packing
            .pack(&key(1), &encoded, &FieldMask::none(), Allocation::Separate)
            .unwrap();
        assert_eq!(packing.decoded.lock().len(), decoded);
        assert_eq!(packed.object(&key(1)).metadata.name.as_deref(), Some("map-1"));
    }
}

/// Packs a config map with this much text, which compresses well.
fn packed_text(cache: &PackedCache, size: usize, allocation: Allocation) -> Arc<PackedObject<ConfigMap>> {
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

#[test]
fn objects_are_compressed_again_only_with_another_dictionary() {
    let mut cache = PackedCache::new();
    let dictionaries = [100, 900].map(|objects| {
        cache.list(0);
        cache.list(objects);
        cache.round(true);
        cache.packing.dictionary.lock().clone().unwrap().dictionary
    });
    let choices = [None, Some(&dictionaries[0]), Some(&dictionaries[1])];
    for (number, dictionary) in choices.into_iter().enumerate() {
        let packed = packed_text(&cache, 10_000, Allocation::Block);
        let plain = packed
            .to_compress(true, dictionary)
            .expect("it is not compressed");
        let mut compressor = Compressor::new(dictionary.map(AsRef::as_ref)).unwrap();
        assert!(packed.compress(&plain, &mut compressor, dictionary) < 1_000);
        for (other, another) in choices.into_iter().enumerate() {
            assert!(packed.to_compress(false, another).is_none());
            let again = packed.to_compress(true, another);
            assert_eq!(
                again,
                (number != other).then(|| plain.clone()),
                "{number} {other}"
            );
        }
    }
}

#[test]
fn small_objects_of_a_list_share_memory_and_others_do_not() {
    let cache = PackedCache::new();
    let packed = |allocation, size| {
        let packed = packed_text(&cache, size, allocation);
        let bytes = packed.to_compress(true, None).unwrap().as_ptr_range();
        (packed, bytes.start.addr()..bytes.end.addr())
    };
    let neighbours = |allocation, size| {
        let packed: Vec<_> = (0..2 * BLOCK / size).map(|_| packed(allocation, size)).collect();
        let pairs = packed.windows(2);
        pairs.filter(|pair| pair[0].1.end == pair[1].1.start).count()
    };
    // Two or three blocks are full.
    assert!(neighbours(Allocation::Block, 10_000) >= 2 * BLOCK / 10_000 - 3);
    assert_eq!(neighbours(Allocation::Separate, 10_000), 0);
    // Larger objects would leave large gaps at the ends of blocks.
    assert!(neighbours(Allocation::Block, BLOCK / 4 - 1_000) > 0);
    assert_eq!(neighbours(Allocation::Block, BLOCK / 4), 0);
}

#[test]
fn four_of_the_largest_objects_that_share_a_block_fill_it() {
    let cache = PackedCache::new();
    let envelope = packed_text(&cache, 1_000, Allocation::Separate).size() - 1_000;
    let packed = [(); 4].map(|()| packed_text(&cache, BLOCK / 4 - envelope, Allocation::Block));
    let bytes = packed
        .each_ref()
        .map(|packed| packed.to_compress(true, None).unwrap());
    assert_eq!(bytes[0].len(), BLOCK / 4);
    let are_neighbours = |pair: &[Bytes]| pair[0].as_ptr_range().end == pair[1].as_ptr();
    let neighbours: Vec<bool> = bytes.windows(2).map(are_neighbours).collect();
    assert_eq!(neighbours, [true; 3]);
}

/// Objects that change often may compress worse than the others, whatever the dictionary.
#[test]
fn changed_objects_that_compress_badly_bring_one_new_dictionary() {
    let mut cache = PackedCache::new();
    cache.list(400);
    cache.round(true);
    let trained = |percent| TrainedDictionary {
        percent,
        ..cache.packing.dictionary.lock().clone().expect("it was trained")
    };
    let (first, second) = (trained(Some(40)), trained(None));
    *cache.packing.dictionary.lock() = Some(first);
    cache.packer.record_ratio(60);
    assert!(
        cache.packing.dictionary.lock().is_some(),
        "half as much again is accepted"
    );
    cache.packer.record_ratio(70);
    assert!(cache.packing.dictionary.lock().is_none(), "it is removed");
    *cache.packing.dictionary.lock() = Some(second);
    // All objects together, then the same ones that compressed badly before.
    for percent in [42, 70, 71, 70] {
        cache.packer.record_ratio(percent);
        assert!(
            cache.packing.dictionary.lock().is_some(),
            "the second one is kept"
        );
    }
    cache.packer.record_ratio(107);
    assert!(
        cache.packing.dictionary.lock().is_none(),
        "it is much worse again"
    );
}

/// Both formats answer from the transformed object.
#[test]
fn metadata_that_a_transform_changes_is_read_from_the_transformed_object() {
    let mut cache = PackedCache::with(|map, _| {
        let meta = &mut map.metadata;
        meta.labels
            .get_or_insert_default()
            .insert("app".to_owned(), "changed".to_owned());
        meta.annotations = None;
        meta.uid = None;
        meta.owner_references = Some(vec![OwnerReference {
            name: "owner".to_owned(),
            ..OwnerReference::default()
        }]);
        meta.deletion_timestamp = serde_json::from_value(json!("2026-01-01T00:00:00Z")).unwrap();
        Ok(())
    });
    cache.list(50);
    let selector: Selector = "app=changed".parse().unwrap();
    for compressed in [false, true] {
        if compressed {
            cache.round(true);
        }
        let map = cache.get(3);
        assert!(map.matches(&selector));
        assert_eq!(map.label("app").as_deref(), Some("changed"));
        assert_eq!(map.label("tier").as_deref(), Some("backend"));
        assert_eq!(map.annotation("example.org/checksum"), None);
        assert_eq!(map.uid(), None);
        assert_eq!(map.owner_references()[0].name, "owner");
        assert!(map.is_terminating());
        assert_eq!(Lister::new(Arc::clone(&cache.store)).list(&selector).len(), 50);
    }
}

#[test]
fn each_part_of_metadata_is_compared_alone() {
    let changed = |change: fn(&mut ObjectMeta)| {
        let mut after = ObjectMeta::default();
        change(&mut after);
        let changed = TransformedMetadata::between(&ObjectMeta::default(), &after);
        [changed.labels, changed.annotations, changed.identity]
    };
    assert_eq!(changed(|_| {}), [false; 3]);
    assert_eq!(changed(|meta| meta.name = Some("a".to_owned())), [false; 3]);
    assert_eq!(
        changed(|meta| meta.labels = Some(BTreeMap::new())),
        [true, false, false]
    );
    assert_eq!(
        changed(|meta| meta.annotations = Some(BTreeMap::new())),
        [false, true, false]
    );
    let identity: [fn(&mut ObjectMeta); 3] = [
        |meta| meta.uid = Some("a".to_owned()),
        |meta| meta.owner_references = Some(Vec::new()),
        |meta| meta.deletion_timestamp = serde_json::from_value(json!("2026-01-01T00:00:00Z")).ok(),
    ];
    for change in identity {
        assert_eq!(changed(change), [false, false, true]);
    }
}

#[test]
fn metadata_that_a_transform_leaves_alone_is_read_without_decoding() {
    let mut cache = PackedCache::with(|map, _| {
        map.data = None;
        map.metadata.annotations = None;
        Ok(())
    });
    cache.list(50);
    cache.round(true);
    let decoded = cache.decoded();
    let selector: Selector = "app=app-3".parse().unwrap();
    let map = cache.get(3);
    assert!(map.matches(&selector) && !map.is_terminating());
    assert_eq!(map.label("app").as_deref(), Some("app-3"));
    assert!(map.uid().is_some() && map.owner_references().is_empty());
    assert_eq!(cache.decoded(), decoded);
    assert_eq!(map.annotation("example.org/checksum"), None);
    assert_eq!(cache.decoded(), decoded + 1);
}

#[test]
fn what_does_not_become_smaller_stays_as_it_is() {
    let cache = PackedCache::new();
    let mut random = fastrand::Rng::with_seed(3);
    let noise: String = (0..400).map(|_| random.char('\u{4e00}'..'\u{9000}')).collect();
    let mut json = config_map(1);
    json["data"] = json!({"noise": noise});
    let encoded = EncodedObject {
        format: Format::Json,
        bytes: serde_json::to_vec(&json).unwrap().into(),
    };
    let packed = cache
        .packing
        .pack(&key(1), &encoded, &FieldMask::none(), Allocation::Block)
        .unwrap();
    let size = packed.size();
    let mut compressor = super::compress::Compressor::new(None).unwrap();
    let plain = packed.to_compress(true, None).unwrap();
    assert_eq!(packed.compress(&plain, &mut compressor, None), size);
    assert_eq!(cache.packing.waiting(), 0);
    assert!(packed.to_compress(true, None).is_none(), "it is tried only once");
    assert_eq!(packed.object(&key(1)).data.as_ref().unwrap()["noise"], noise);
}

#[test]
fn bytes_that_are_no_object_of_the_kind_are_refused_with_their_name() {
    let cache = PackedCache::new();
    let mut json = config_map(1);
    json["data"] = json!(["not", "a", "map"]);
    let encoded = EncodedObject {
        format: Format::Json,
        bytes: serde_json::to_vec(&json).unwrap().into(),
    };
    let error = cache
        .packing
        .pack(&key(1), &encoded, &FieldMask::none(), Allocation::Block)
        .err()
        .expect("it is not a config map");
    assert!(error.is_bad_data());
    assert!(error.to_string().contains("cannot decode shop/map-1"), "{error}");
    assert_eq!(cache.packing.waiting(), 0);
}

/// A transform must be deterministic. If it is not, its objects are missing from indexes, but nothing else fails.
#[test]
fn contract_12_an_object_that_cannot_be_decoded_again_is_in_no_index() {
    let nondeterministic = |map: &mut ConfigMap, before: usize| match map.metadata.name.as_deref() {
        Some("map-1") if before >= 3 => Err("not today".to_owned()),
        _ => Ok(()),
    };
    let mut cache = PackedCache::with(nondeterministic);
    cache.list(3);
    let names = |map: &ConfigMap| Ok(map.metadata.name.clone().into_iter().collect::<Vec<String>>());
    cache.writer.add_index("names".into(), Arc::new(names)).unwrap();
    let errors = cache.writer.publish();
    assert!(errors[0].is_user_code() && errors.len() == 1, "{errors:?}");
    let text = errors[0].to_string();
    assert!(
        text.contains("cannot index shop/map-1") && text.contains("not today"),
        "{text}"
    );
    let snapshot = cache.store.snapshot();
    assert_eq!(snapshot.len(), 3);
    assert_eq!(snapshot.index_values("names").unwrap(), ["map-0", "map-2"]);

    cache.apply(Delta::Deleted(cache.entry(2, Allocation::Block)));
    let snapshot = cache.store.snapshot();
    assert_eq!(
        (snapshot.len(), snapshot.index_values("names").unwrap().len()),
        (2, 1)
    );
}

#[test]
fn readers_and_the_packer_do_not_disturb_each_other() {
    let mut cache = PackedCache::new();
    cache.list(300);
    let (store, packer) = (&cache.store, &cache.packer);
    std::thread::scope(|threads| {
        for reader in 0..3 {
            threads.spawn(move || {
                let mut random = fastrand::Rng::with_seed(reader);
                for _ in 0..600 {
                    let number = random.usize(0..300);
                    let map = store.snapshot().get(&key(number)).expect("it is in the cache");
                    assert_eq!(*map, expected(number));
                }
            });
        }
        threads.spawn(|| packer.round(true, &CancellationToken::new()));
    });
    assert_eq!(cache.packing.waiting(), 0);
}
