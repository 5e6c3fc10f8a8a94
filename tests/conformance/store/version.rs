//! The version of the store.

use crate::config_maps::ConfigMaps;
use crate::informers::{caught_up, recording_handler, started, stopped};

#[tokio::test]
async fn version_advances_with_every_event() {
    let maps = ConfigMaps::named([]).await;
    let informer = maps.informer();
    assert_eq!(informer.snapshot().version(), None);
    let (handler, mut received) = recording_handler();
    informer.add_handler(handler).expect("a handler");
    started(&informer).await;
    let mut last = informer.resource_version().expect("a version");
    for step in ["create", "change", "delete"] {
        match step {
            "create" => drop(maps.create("a", "1").await),
            "change" => drop(maps.change("a", "2").await),
            _ => maps.delete("a").await,
        }
        let event = received.next().await;
        let now = informer.resource_version().expect("a version");
        assert!(last.is_before(&now), "{step}");
        // The version after a deletion is that of the deletion, not of the deleted object.
        assert_eq!(&now, event.object().version(), "{step}");
        assert_eq!(informer.snapshot().version(), Some(&now));
        assert_eq!(informer.status().version, Some(now.clone()));
        last = now;
    }
    stopped(&informer).await;
}

#[tokio::test]
async fn bookmark_sets_the_version_of_an_empty_collection() {
    let maps = ConfigMaps::named([]).await;
    let made = maps.create("a", "1").await;
    // No object matches: the streaming list contains only its final bookmark.
    let informer = maps.builder().fields("metadata.name=none").build();
    started(&informer).await;
    let status = informer.status();
    assert_eq!((status.streaming_lists, status.lists, status.objects), (1, 0, 0));
    assert!(status.version.is_some_and(|version| !version.is_before(&made)));
    stopped(&informer).await;
}

#[tokio::test]
async fn list_advances_the_version() {
    let maps = ConfigMaps::named(["a"]).await;
    let (builder, gate) = maps.gated();
    let informer = builder.streaming_list(false).build();
    started(&informer).await;
    let first = informer.resource_version().expect("a version");
    gate.close();
    let written = maps.change("a", "2").await;
    maps.open(&gate).await;
    caught_up(&informer, written).await;
    assert!(first.is_before(&informer.resource_version().expect("a version")));
    assert!(informer.status().lists >= 1);
    stopped(&informer).await;
}
