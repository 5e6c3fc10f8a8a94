//! A read sees one version; readers and the writer do not block each other.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc as blocking};

use k8s_openapi::api::core::v1::ConfigMap;
use kube_informer::{Index, Lister, Object, Selector, Snapshot};
use parking_lot::Mutex;
use tokio::sync::mpsc;

use crate::config_maps::{ConfigMaps, value};
use crate::informers::{PATIENCE, caught_up, recording_handler, soon, started, stopped};

/// Checks that objects, index and version are consistent.
fn check(snapshot: &Snapshot<ConfigMap>, by_value: &Index<ConfigMap, String>) -> usize {
    let version = snapshot.version().expect("a version");
    for map in snapshot {
        assert!(!version.is_before(map.version()), "{map:?} in {snapshot:?}");
        let found = snapshot.by(by_value, value(&map));
        assert!(found.iter().any(|other| Object::ptr_eq(other, &map)), "{map:?}");
    }
    let values = snapshot.index_values("value").expect("an index");
    let indexed: usize = values
        .iter()
        .map(|value| snapshot.by(by_value, value.as_str()).len())
        .sum();
    assert_eq!(indexed, snapshot.len());
    snapshot.len()
}

/// Reads until all writes are done.
fn read(lister: &Lister<ConfigMap>, by_value: &Index<ConfigMap, String>, done: &AtomicBool) -> usize {
    let mut reads = 0;
    let mut last = None;
    loop {
        let over = done.load(Ordering::Acquire);
        let snapshot = lister.snapshot();
        assert!(check(&snapshot, by_value) >= 3);
        let version = snapshot.version().cloned().expect("a version");
        assert!(last.is_none_or(|last| !version.is_before(&last)));
        last = Some(version);
        // One call reads one version: a to c always exist, d may exist.
        assert!((3..=4).contains(&lister.list(&Selector::everything()).len()));
        reads += 1;
        if over {
            return reads;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn readers_see_a_consistent_state_during_writes() {
    let maps = ConfigMaps::named(["a", "b", "c"]).await;
    let informer = maps.informer();
    let by_value = informer
        .index("value", |map: &ConfigMap| [value(map).to_owned()])
        .expect("an index");
    started(&informer).await;
    let done = Arc::new(AtomicBool::new(false));
    let readers: Vec<_> = (0..2)
        .map(|_| {
            let (lister, by_value, done) = (informer.lister(), by_value.clone(), Arc::clone(&done));
            std::thread::spawn(move || read(&lister, &by_value, &done))
        })
        .collect();
    let mut last = None;
    for round in 0..20 {
        for name in ["a", "b", "c"] {
            last = Some(maps.change(name, &(round % 3).to_string()).await);
        }
        maps.create("d", "1").await;
        maps.delete("d").await;
    }
    let end = maps.change("a", "the end").await;
    assert!(last.is_some_and(|last| last.is_before(&end)));
    let reached = informer.wait_for_version(end, PATIENCE).await;
    done.store(true, Ordering::Release);
    for reader in readers {
        assert!(reader.join().expect("consistent reads") > 0);
    }
    reached.expect("the version of a write");
    stopped(&informer).await;
}

/// A reader in the middle of an iteration does not block writes, and sees the snapshot that it started with.
#[tokio::test]
async fn slow_reader_blocks_nothing() {
    let maps = ConfigMaps::named(["a", "b", "c"]).await;
    let informer = maps.informer();
    started(&informer).await;
    let snapshot = informer.snapshot();
    let mut walk = snapshot.iter();
    let first = walk.next().expect("an object");
    assert_eq!(value(&first), "1");
    for name in ["a", "b", "c"] {
        let version = maps.change(name, "2").await;
        caught_up(&informer, version).await;
    }
    assert!(walk.all(|map| value(&map) == "1"));
    assert!(
        informer
            .lister()
            .list(&Selector::everything())
            .iter()
            .all(|map| value(map) == "2")
    );
    stopped(&informer).await;
}

/// The writer is blocked in an index function: readers neither wait for it nor see a partial write.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn readers_do_not_wait_for_the_writer() {
    let maps = ConfigMaps::named(["a"]).await;
    let informer = maps.informer();
    let (arrive, mut arrived) = mpsc::unbounded_channel();
    let (release, held) = blocking::channel::<()>();
    let held = Mutex::new(held);
    let by_value = informer.index("value", move |map: &ConfigMap| {
        if value(map) == "slow" {
            let _ = arrive.send(());
            let _ = held.lock().recv();
        }
        [value(map).to_owned()]
    });
    let by_value = by_value.expect("an index");
    started(&informer).await;
    let before = informer.resource_version();
    let written = maps.change("a", "slow").await;
    soon(arrived.recv()).await.expect("the writer at work");

    let lister = informer.lister();
    let read = lister.get_key(&maps.key("a")).expect("the object");
    assert_eq!(value(&read), "1");
    assert_eq!(lister.list(&Selector::everything()).len(), 1);
    assert_eq!((by_value.get("1").len(), by_value.get("slow").len()), (1, 0));
    assert_eq!(informer.resource_version(), before);
    // Handlers can be added at the same time.
    let (handler, mut received) = recording_handler();
    informer.add_handler(handler).expect("a handler");
    assert_eq!(value(received.next().await.object()), "1");
    drop(release);
    caught_up(&informer, written).await;
    assert_eq!((by_value.get("1").len(), by_value.get("slow").len()), (0, 1));
    assert_eq!(received.word().await, "~a");
    stopped(&informer).await;
}
