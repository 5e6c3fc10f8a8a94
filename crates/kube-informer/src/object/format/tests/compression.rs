//! Compression and dictionaries.

use std::sync::Arc;

use kube_wire::FieldMask;
use serde_json::json;

use super::super::Allocation;
use super::super::compress::{Compressor, MIN_SAMPLES};
use super::super::packing::TrainedDictionary;
use super::fixture::{PackedCache, config_map, expected, key, packed_text};
use crate::object::{EncodedObject, Format};
use crate::pipeline::reflector::Delta;

#[test]
fn similar_objects_compress_well() {
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
fn a_changed_object_is_compressed_after_a_round_without_changes() {
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
fn dictionaries_are_trained_on_enough_objects_and_again_after_growth() {
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
fn a_dictionary_that_compresses_worse_than_before_is_replaced() {
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
fn the_minimum_number_of_samples_suffices_for_a_dictionary() {
    let mut cache = PackedCache::new();
    cache.list(MIN_SAMPLES);
    cache.round(true);
    let trained = cache.packing.dictionary.lock().clone().expect("there are enough");
    assert_eq!(trained.objects, MIN_SAMPLES);
}

#[test]
fn a_round_records_the_compression_ratio() {
    let mut cache = PackedCache::new();
    cache.list(400);
    let before = cache.size();
    cache.round(true);
    let trained = cache.packing.dictionary.lock().clone().expect("it was trained");
    assert_eq!(trained.percent, Some(100 * cache.size() / before));
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

/// Objects that change often may compress worse than the others, whatever the dictionary.
#[test]
fn poorly_compressible_changes_retrain_the_dictionary_once() {
    let mut cache = PackedCache::new();
    cache.list(400);
    cache.round(true);
    let trained = |percent| TrainedDictionary {
        percent,
        ..cache.packing.dictionary.lock().clone().expect("it was trained")
    };
    let (first, second) = (trained(Some(40)), trained(None));
    *cache.packing.dictionary.lock() = Some(first);
    cache.compactor.record_ratio(60);
    assert!(
        cache.packing.dictionary.lock().is_some(),
        "half as much again is accepted"
    );
    cache.compactor.record_ratio(70);
    assert!(cache.packing.dictionary.lock().is_none(), "it is removed");
    *cache.packing.dictionary.lock() = Some(second);
    // All objects together, then the same ones that compressed badly before.
    for percent in [42, 70, 71, 70] {
        cache.compactor.record_ratio(percent);
        assert!(
            cache.packing.dictionary.lock().is_some(),
            "the second one is kept"
        );
    }
    cache.compactor.record_ratio(107);
    assert!(
        cache.packing.dictionary.lock().is_none(),
        "it is much worse again"
    );
}

#[test]
fn incompressible_objects_stay_uncompressed() {
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
    let mut compressor = Compressor::new(None).unwrap();
    let plain = packed.to_compress(true, None).unwrap();
    assert_eq!(packed.compress(&plain, &mut compressor, None), size);
    assert_eq!(cache.packing.waiting(), 0);
    assert!(packed.to_compress(true, None).is_none(), "it is tried only once");
    assert_eq!(packed.object(&key(1)).data.as_ref().unwrap()["noise"], noise);
}
