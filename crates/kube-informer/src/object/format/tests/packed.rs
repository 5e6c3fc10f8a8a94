//! Packing, reading and the decode cache, with and without compression.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use kube_wire::FieldMask;
use kube_wire::protobuf::{self, Envelope, Schema};
use kube_wire::selector::Selector;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::super::decode_cache::{MAX_RECENT, MIN_RECENT};
use super::super::packing::BLOCK;
use super::super::{Allocation, PackingContext, TransformedMetadata};
use super::fixture::{PackedCache, config_map, expected, key, packed_text};
use crate::lister::Lister;
use crate::object::{EncodedObject, Format, Transform, WatchedResource};
use crate::pipeline::reflector::Delta;

#[test]
fn packed_objects_are_returned_without_pruned_fields() {
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
fn a_held_object_is_not_decoded_twice() {
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
fn recently_read_objects_are_not_decoded_again() {
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
fn repeated_scans_increase_the_number_of_recent_objects() {
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
fn released_objects_leave_the_decode_cache() {
    let mut cache = PackedCache::new();
    cache.list(50);
    for number in 0..50 {
        let _name = &cache.get(number).metadata.name;
    }
    assert_eq!(cache.packing.decoded.lock().len(), MIN_RECENT as usize);
}

#[test]
fn clearing_releases_recent_objects() {
    let mut cache = PackedCache::new();
    cache.list(10);
    let read = Arc::downgrade(&cache.get(1).to_arc());
    assert!(read.upgrade().is_some());
    cache.packing.clear_recent();
    assert!(read.upgrade().is_none());
}

#[test]
fn a_changed_object_is_decoded_once_for_all_readers() {
    let mut cache = PackedCache::new();
    cache.list(0);
    let changed = cache.entry(1, Allocation::Separate);
    cache.apply(Delta::Upsert(changed));
    let _name = &cache.get(1).metadata.name;
    assert_eq!(cache.decoded(), 1);
}

#[test]
fn entries_of_the_decode_cache_are_removed_with_their_objects() {
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
fn packed_bytes_are_counted() {
    let mut cache = PackedCache::new();
    cache.list(100);
    assert_eq!(cache.packing.bytes(), cache.size());
    cache.round(true);
    assert_eq!(cache.packing.bytes(), cache.size(), "compressed");
    cache.list(0);
    assert_eq!(cache.packing.bytes(), 0);
}

#[tokio::test(start_paused = true)]
async fn recent_objects_are_released_after_an_idle_period_but_not_after_a_list() {
    let mut cache = PackedCache::new();
    cache.list(10);
    cache.round(true);
    let read = Arc::downgrade(&cache.get(1).to_arc());
    let stop = CancellationToken::new();
    let compactor = tokio::spawn(cache.compactor.run(stop.clone()));
    cache.packing.on_list_applied();
    tokio::time::sleep(Duration::from_secs(20)).await;
    assert!(read.upgrade().is_some());
    tokio::time::sleep(Duration::from_secs(20)).await;
    assert!(read.upgrade().is_none());
    stop.cancel();
    compactor.await.unwrap();
}

/// Checking the bytes is sufficient to know that they can be decoded.
#[test]
fn a_valid_message_of_a_built_in_kind_is_packed_without_decoding() {
    let message = protobuf::encode(&config_map(1)).expect("it has a message");
    let message = Bytes::copy_from_slice(Envelope::parse(&message).unwrap().raw);
    let schema = Schema::of("v1", "ConfigMap").expect("it is a built-in kind");
    for (is_transformed, decoded) in [(false, 0), (true, 1)] {
        let resource = WatchedResource::of::<ConfigMap>(&(), None);
        let transform = is_transformed.then(|| Transform::new(|_: &mut ConfigMap| Ok::<_, String>(())));
        let packing = PackingContext::new(resource, transform);
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

#[test]
fn small_listed_objects_share_blocks() {
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
fn four_of_the_largest_shared_objects_fill_a_block() {
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
fn parts_of_metadata_are_compared_separately() {
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
fn unchanged_metadata_is_read_without_decoding() {
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
fn invalid_bytes_are_rejected_with_the_name_of_the_object() {
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
fn contract_12_an_object_that_cannot_be_decoded_is_in_no_index() {
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
fn readers_and_compression_run_concurrently() {
    let mut cache = PackedCache::new();
    cache.list(300);
    let (store, compactor) = (&cache.store, &cache.compactor);
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
        threads.spawn(|| compactor.round(true, &CancellationToken::new()));
    });
    assert_eq!(cache.packing.waiting(), 0);
}
