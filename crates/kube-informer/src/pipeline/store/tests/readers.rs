//! Tests of readers beside a writer: every read is consistent.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use super::{TestStore, tagged, tags_of};
use crate::lister::{Lister, snapshot_all};
use crate::object::{Key, ResourceVersion};
use crate::pipeline::reflector::{Delta, Scope};
use crate::pipeline::store::{Seed, Snapshot};
use k8s_openapi::api::core::v1::ConfigMap;
use kube_wire::selector::Selector;

const OBJECTS: usize = 200;

/// Returns all objects of one generation, which is their tag and their version.
fn generation(number: u64) -> Vec<ConfigMap> {
    let key = |n: usize| Key::namespaced(&format!("ns{}", n % 4), &format!("n{n}"));
    let tag = number.to_string();
    (0..OBJECTS)
        .map(|n| tagged(&key(n), number, 1, &[&tag]))
        .collect()
}

#[test]
fn contract_1_a_read_never_mixes_two_versions() {
    let mut cache = TestStore::new(Seed::new(1));
    let tags = cache.index("tags", tags_of).unwrap();
    cache.replace(generation(1), 1);
    cache.publish();
    let (store, done) = (Arc::clone(&cache.store), AtomicBool::new(false));
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                let lister = Lister::new(Arc::clone(&store));
                let mut last = 0;
                while !done.load(Ordering::Relaxed) {
                    let snapshot = store.snapshot();
                    let version = snapshot.version().unwrap().to_string();
                    assert_eq!(snapshot.len(), OBJECTS);
                    assert!(
                        snapshot
                            .iter()
                            .all(|object| tags_of(&object) == [version.as_str()])
                    );
                    assert_eq!(snapshot.by(&tags, version.as_str()).len(), OBJECTS);
                    assert_eq!(snapshot.index_values("tags").unwrap(), [version.as_str()]);
                    let number: u64 = version.parse().unwrap();
                    assert!(number >= last, "forward only");
                    last = number;

                    let listed = lister.list(&Selector::everything());
                    assert!(listed.iter().all(|object| tags_of(object) == tags_of(&listed[0])));
                    let listed = lister.namespace("ns1").list(&Selector::everything());
                    assert_eq!(listed.len(), OBJECTS / 4);
                    assert!(listed.iter().all(|object| tags_of(object) == tags_of(&listed[0])));
                    let found = tags.get(version.as_str()).len();
                    assert!(found == 0 || found == OBJECTS, "{found}");
                }
            });
        }
        for number in 2..150 {
            cache.replace(generation(number), number);
            cache.publish();
        }
        done.store(true, Ordering::Relaxed);
    });
}

/// Two caches are written in turn, the first always before the second, so a pair in which the second is ahead
/// is inconsistent.
#[test]
fn snapshots_of_several_listers_are_consistent() {
    let mut caches = [TestStore::new(Seed::new(1)), TestStore::new(Seed::new(2))];
    for cache in &mut caches {
        cache.replace(generation(1), 1);
        cache.publish();
    }
    let [first, second] = caches
        .each_ref()
        .map(|cache| Lister::new(Arc::clone(&cache.store)));
    let number =
        |snapshot: &Snapshot<ConfigMap>| snapshot.version().unwrap().to_string().parse::<u64>().unwrap();
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    let (a, b) = snapshot_all((&first, &second));
                    let (a, b) = (number(&a), number(&b));
                    assert!(a == b || a == b + 1, "{a} and {b}");
                    let (b, a) = snapshot_all((&second, &first));
                    let (a, b) = (number(&a), number(&b));
                    assert!(a == b || a == b + 1, "{a} and {b}");
                }
            });
        }
        for version in 2..5_000 {
            for cache in &mut caches {
                cache.apply(Delta::Bookmark(ResourceVersion::from(version), Scope::ONLY));
                cache.publish();
            }
        }
        done.store(true, Ordering::Relaxed);
    });
}
