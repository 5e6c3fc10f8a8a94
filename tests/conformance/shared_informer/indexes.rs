//! Indexes, and objects that all readers share.

use k8s_openapi::api::core::v1::ConfigMap;
use kube_informer::{Error, Object, Selector};
use tokio::sync::mpsc;

use crate::config_maps::{ConfigMaps, value};
use crate::informers::{caught_up, names, recording_handler, soon, started, stopped};

fn by_value(map: &ConfigMap) -> [String; 1] {
    [value(map).to_owned()]
}

#[tokio::test]
async fn indexes_can_be_added_before_and_after_start() {
    let maps = ConfigMaps::named(["a", "b"]).await;
    maps.create("c", "2").await;
    let informer = maps.informer();
    let before = informer.index("before", by_value).expect("an index");
    assert!(before.get("1").is_empty());
    started(&informer).await;
    // The index is complete at once, also for existing objects.
    let after = informer.index("after", by_value).expect("an index");
    for index in [&before, &after] {
        assert_eq!(names(&index.get("1")), ["a", "b"]);
        assert_eq!(names(&index.get("2")), ["c"]);
    }
    let version = maps.change("a", "2").await;
    caught_up(&informer, version).await;
    for index in [&before, &after] {
        assert_eq!(names(&index.get("1")), ["b"]);
        assert_eq!(names(&index.get("2")), ["a", "c"]);
    }
    assert_eq!(
        informer.snapshot().index_names().collect::<Vec<_>>(),
        ["before", "after"]
    );
    // The store can be read by key, completely, and as a snapshot.
    let lister = informer.lister();
    assert_eq!(value(&lister.get_key(&maps.key("b")).expect("the object")), "1");
    assert_eq!(names(&lister.list(&Selector::everything())), ["a", "b", "c"]);
    assert_eq!(informer.snapshot().len(), 3);
    stopped(&informer).await;
}

#[tokio::test]
async fn duplicate_index_name_is_rejected() {
    let maps = ConfigMaps::named(["a"]).await;
    let informer = maps.informer();
    let index = informer.index("value", by_value).expect("an index");
    for started_already in [false, true] {
        if started_already {
            started(&informer).await;
        }
        let again = informer.index("value", |_: &ConfigMap| [7_u32]);
        let error = again.expect_err("a conflict");
        assert!(error.is_conflict());
        assert!(error.to_string().contains("\"value\""), "{error}");
    }
    // The first index is unchanged.
    assert_eq!(names(&index.get("1")), ["a"]);
    stopped(&informer).await;
}

#[tokio::test]
async fn failing_or_panicking_index_function_breaks_nothing() {
    let maps = ConfigMaps::named(["a"]).await;
    maps.create("bad", "fail").await;
    maps.create("worse", "panic").await;
    let (sender, mut receiver) = mpsc::unbounded_channel::<Error>();
    let informer = maps
        .builder()
        .watch_error_handler(move |error| drop(sender.send(error.clone())))
        .build();
    let fragile = |map: &ConfigMap| match value(map) {
        "fail" => Err("I do not know"),
        "panic" => panic!("I will not say"),
        value => Ok([value.to_owned()]),
    };
    let early = informer.try_index("early", fragile).expect("an index");
    let sound = informer.index("sound", by_value).expect("an index");
    let (handler, mut received) = recording_handler();
    informer.add_handler(handler).expect("a handler");
    started(&informer).await;
    // All objects are cached and delivered; only the index lacks one.
    assert_eq!(received.listed(3).await, ["*a", "*bad", "*worse"]);
    assert_eq!(informer.lister().len(), 3);
    assert_eq!(early.values().len(), 1);
    assert_eq!(names(&sound.get("panic")), ["worse"]);
    let mut texts = Vec::new();
    for _ in 0..2 {
        let error = soon(receiver.recv()).await.expect("an error");
        assert!(error.is_user_code());
        texts.push(error.to_string());
    }
    for words in ["I do not know", "I will not say"] {
        assert!(texts.iter().any(|text| text.contains(words)), "{texts:?}");
    }
    assert!(texts.iter().all(|text| text.contains("\"early\"")), "{texts:?}");

    let late = informer.try_index("late", fragile).expect("an index");
    assert_eq!(late.values().len(), 1);
    // With a value, the object is in the index; without, it is removed.
    let version = maps.change("bad", "1").await;
    caught_up(&informer, version).await;
    let version = maps.change("a", "panic").await;
    caught_up(&informer, version).await;
    for index in [&early, &late] {
        assert_eq!(names(&index.get("1")), ["bad"]);
    }
    assert_eq!(names(&sound.get("panic")), ["a", "worse"]);
    stopped(&informer).await;
}

/// The `compile_fail` example of `kube_informer::Object` shows that cached objects cannot be changed. This
/// test shows that they are not copied.
#[tokio::test]
async fn all_readers_share_one_object() {
    let maps = ConfigMaps::named(["a"]).await;
    let informer = maps.informer();
    let index = informer.index("value", by_value).expect("an index");
    let (handler, mut one) = recording_handler();
    informer.add_handler(handler).expect("a handler");
    let (handler, mut other) = recording_handler();
    informer.add_handler(handler).expect("a handler");
    started(&informer).await;
    let key = maps.key("a");
    let cached = informer.lister().get_key(&key).expect("the object");
    let snapshot = informer.snapshot();
    let everywhere = [
        one.next().await.object().clone(),
        other.next().await.object().clone(),
        informer.lister().list(&Selector::everything()).remove(0),
        snapshot.get(&key).expect("the object"),
        snapshot.iter().next().expect("the object"),
        index.get("1").remove(0),
    ];
    assert!(everywhere.iter().all(|object| Object::ptr_eq(object, &cached)));
    // A reader that changes an object makes a copy.
    let mut own = ConfigMap::clone(&cached);
    own.data = None;
    assert_eq!(value(&cached), "1");
    stopped(&informer).await;
}
