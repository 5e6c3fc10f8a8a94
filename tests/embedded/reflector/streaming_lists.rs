//! Streaming lists, and servers that do them badly.

use std::time::Duration;

use kube_embedded::{Fault, On, Server};
use tokio::time::{Instant, timeout};

use crate::scene::Scene;

/// For so long a server that did streaming lists badly is not asked for one again.
const PAUSE: Duration = Duration::from_mins(10);

/// Streams of a server that behaves so end in a list after at most this time, and are not asked for again for ten
/// minutes. Embedded only, as the faults are.
async fn ends_in_a_list(fault: Fault, at_most: Duration, why: &str) {
    let (server, mut scene) = Scene::paused(|informer| informer).await;
    scene.make("a").await;
    scene.make("b").await;
    server
        .faults()
        .add(On::streaming_list("configmaps"), fault.clone());
    let begin = Instant::now();
    scene.informer.start().expect("a first start");
    scene.requests(2).await;
    let waited = begin.elapsed();
    assert!(waited <= at_most, "{fault:?}: {waited:?}");
    assert_eq!(
        scene.tap.words()[..2],
        ["stream newest", "list any 500"],
        "{fault:?}"
    );
    scene.synced().await;
    scene.catches_up().await;
    let error = scene.error().await.to_string();
    assert!(
        error.contains("configmaps") && error.contains(why),
        "{fault:?}: {error}"
    );

    let fell_back = begin + waited;
    while fell_back.elapsed() + Duration::from_mins(2) < PAUSE {
        start_over(&server, &scene).await;
        assert_eq!(scene.tap.count("stream"), 1, "{fault:?}: {:?}", scene.tap.words());
        tokio::time::sleep(Duration::from_mins(1)).await;
    }
    tokio::time::sleep(Duration::from_mins(2)).await;
    server.faults().clear();
    start_over(&server, &scene).await;
    assert_eq!(scene.tap.count("stream"), 2, "{fault:?}: forgiven after a while");
}

/// Makes the informer begin anew, and waits until it is in step again.
async fn start_over(server: &Server, scene: &Scene) {
    let begins = |scene: &Scene| {
        scene
            .tap
            .all()
            .iter()
            .filter(|asked| !asked.is_plain_watch())
            .count()
    };
    let before = begins(scene);
    let rule = server
        .faults()
        .add(On::watch("configmaps").once(), Fault::expired());
    server.cut_connections();
    let begun = async {
        while begins(scene) == before {
            scene.requests(scene.tap.all().len() + 1).await;
        }
    };
    timeout(scene.patience, begun).await.expect("a new beginning");
    assert_eq!(rule.hits(), 1);
    scene.catches_up().await;
}

#[tokio::test(start_paused = true)]
async fn rejected_streaming_list_is_not_retried_for_a_while() {
    ends_in_a_list(Fault::NoStreamingList, Duration::ZERO, "422").await;
}

#[tokio::test(start_paused = true)]
async fn streaming_list_closed_early_is_not_retried_for_a_while() {
    for events in [0, 1] {
        ends_in_a_list(
            Fault::CloseAfterEvents(events),
            Duration::ZERO,
            "closed the stream",
        )
        .await;
    }
}

#[tokio::test(start_paused = true)]
async fn streaming_list_without_bookmark_ends_after_ten_seconds() {
    ends_in_a_list(Fault::NoBookmarks, Duration::from_secs(10), "bookmark").await;
    ends_in_a_list(Fault::IgnoreStreamingList, Duration::from_secs(10), "bookmark").await;
    ends_in_a_list(Fault::SilenceAfterEvents(1), Duration::from_secs(10), "bookmark").await;
}

/// There is always something new, so the stream is never silent, and never ends.
#[tokio::test(start_paused = true)]
async fn endless_streaming_list_ends_after_five_minutes() {
    let (server, mut scene) = Scene::paused(|informer| informer).await;
    scene.make("a").await;
    server
        .faults()
        .add(On::streaming_list("configmaps"), Fault::NoBookmarks);
    let begin = Instant::now();
    scene.informer.start().expect("a first start");
    let mut value = 0;
    while scene.tap.all().len() < 2 {
        value += 1;
        scene.change("a", &value.to_string()).await;
        tokio::time::sleep(Duration::from_secs(5)).await;
        assert!(
            begin.elapsed() < Duration::from_mins(6),
            "the stream goes on and on"
        );
    }
    scene.synced().await;
    scene.catches_up().await;
    assert_eq!(scene.tap.words(), ["stream newest", "list any 500", "watch last"]);
    assert!(scene.error().await.is_no_streaming_list());
}

/// A stream that breaks is not a server that cannot: the next cycle tries again, but a second break is remembered.
#[tokio::test(start_paused = true)]
async fn streaming_list_broken_twice_is_not_retried_for_a_while() {
    let (server, scene) = Scene::paused(|informer| informer).await;
    scene.make("a").await;
    scene.make("b").await;
    server
        .faults()
        .add(On::streaming_list("configmaps"), Fault::CutAfterEvents(1));
    scene.start().await;
    for _ in 0..5 {
        start_over(&server, &scene).await;
    }
    assert_eq!(scene.tap.count("stream"), 2, "{:?}", scene.tap.words());
}

/// A server whose watch cache lags answers streaming lists at the newest version with 429 for as long as it lags.
#[tokio::test(start_paused = true)]
async fn throttled_streaming_list_becomes_a_list_from_the_watch_cache() {
    let (server, mut scene) = Scene::paused(|informer| informer).await;
    scene.make("a").await;
    let busy = On::streaming_list("configmaps");
    server.faults().add(busy, Fault::too_many_requests(7));
    let begin = Instant::now();
    scene.start().await;
    assert!(
        begin.elapsed() >= Duration::from_secs(7),
        "Retry-After is honoured: {:?}",
        begin.elapsed()
    );
    assert_eq!(scene.tap.words()[..2], ["stream newest", "list any 500"]);
    assert!(scene.error().await.is_too_many_requests());
    scene.catches_up().await;
}
