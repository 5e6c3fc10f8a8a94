//! E5: the version of the store.

use std::time::Duration;

use crate::informers::{Maps, caught_up, hearing, started, stopped};

#[tokio::test]
async fn e5_the_version_moves_with_every_event() {
    let maps = Maps::holding([]).await;
    let informer = maps.informer();
    assert_eq!(informer.snapshot().version(), None);
    let (handler, mut heard) = hearing();
    informer.add_handler(handler).expect("a handler");
    started(&informer).await;
    let mut last = informer.resource_version().expect("a version");
    for step in ["create", "change", "delete"] {
        match step {
            "create" => drop(maps.create("a", "1").await),
            "change" => drop(maps.change("a", "2").await),
            _ => maps.delete("a").await,
        }
        let event = heard.next().await;
        let now = informer.resource_version().expect("a version");
        assert!(last.is_before(&now), "{step}");
        // The version of a deletion is that of the deletion, not of what was deleted.
        assert_eq!(&now, event.object().version(), "{step}");
        assert_eq!(informer.snapshot().version(), Some(&now));
        assert_eq!(informer.status().version, Some(now.clone()));
        last = now;
    }
    stopped(&informer).await;
}

#[tokio::test]
async fn e5_a_bookmark_gives_the_version_of_an_empty_collection() {
    let maps = Maps::holding([]).await;
    let made = maps.create("a", "1").await;
    // Nothing here fits: all that a streaming list sends is the bookmark that ends it.
    let informer = maps.builder().fields("metadata.name=none").build();
    started(&informer).await;
    let status = informer.status();
    assert_eq!((status.streaming_lists, status.lists, status.objects), (1, 0, 0));
    assert!(status.version.is_some_and(|version| !version.is_before(&made)));
    stopped(&informer).await;
}

#[tokio::test(start_paused = true)]
async fn e5_bookmarks_move_the_version_past_what_others_write() {
    let Some(maps) = Maps::on_paused_clock(["a"]).await else {
        return;
    };
    let informer = maps.builder().fields("metadata.name=a").build();
    started(&informer).await;
    let other = maps.create("other", "1").await;
    assert!(
        informer
            .resource_version()
            .is_some_and(|now| now.is_before(&other))
    );
    // Only a bookmark can tell, and one comes each minute.
    let reached = informer.wait_for_version(other, Duration::from_mins(2)).await;
    reached.expect("a bookmark");
    assert_eq!(informer.lister().len(), 1);
    stopped(&informer).await;
}

#[tokio::test]
async fn e5_a_list_moves_the_version_too() {
    let maps = Maps::holding(["a"]).await;
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
