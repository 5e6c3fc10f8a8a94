//! C2. The objects as a stream, and what happens where a server does that badly.

use std::time::Duration;

use kube_embedded::{Fault, On, Server};
use mission::TestServer;
use tokio::time::{Instant, timeout};

use crate::scene::Scene;
use crate::tap::failure;

/// For so long a server that did streaming lists badly is not asked for one again.
const PAUSE: Duration = Duration::from_mins(10);

#[tokio::test]
async fn c2_the_stream_ends_at_its_bookmark_and_goes_on_as_the_watch() {
    let server = TestServer::start().await;
    let mut scene = Scene::live(&server, |informer| informer);
    for name in ["a", "b", "c"] {
        scene.make(name).await;
    }
    scene.start().await;
    scene.equals_server().await;
    let mut told = scene.events();
    assert_eq!(told.sorted(3).await, ["+a", "+b", "+c"]);
    scene.change("a", "2").await;
    assert_eq!(told.next().await, "~a");
    scene.catches_up().await;
    assert_eq!(scene.tap.words(), ["stream newest"], "one request for everything");
    let all = scene.tap.all();
    for (parameter, value) in [
        ("sendInitialEvents", "true"),
        ("resourceVersionMatch", "NotOlderThan"),
        ("allowWatchBookmarks", "true"),
        ("watch", "true"),
    ] {
        assert_eq!(all[0].parameter(parameter), Some(value), "{parameter}");
    }
    assert_eq!(scene.errors(), [""; 0]);
}

#[tokio::test]
async fn c2_a_later_stream_is_not_older_than_what_was_seen() {
    let server = TestServer::start().await;
    let scene = Scene::live(&server, |informer| informer);
    scene.make("a").await;
    // The only watch is the one that goes on from the stream, so a proxy has to refuse the stream itself.
    scene.start().await;
    let seen = scene.change("a", "2").await;
    scene.reach(seen).await;
    if let Some(embedded) = server.embedded() {
        embedded.cut_connections();
    }
    scene
        .tap
        .answer([("watch last", failure(410, "Expired", "too old"))]);
    if server.embedded().is_some() {
        scene.requests(3).await;
        let all = scene.tap.all();
        assert_eq!(scene.tap.words(), ["stream newest", "watch last", "stream last"]);
        assert_eq!(all[2].version(), Some(seen));
    }
    scene.catches_up().await;
}

#[tokio::test]
async fn c2_a_refusal_is_followed_by_a_list() {
    let server = TestServer::start().await;
    let mut scene = Scene::live(&server, |informer| informer);
    scene.make("a").await;
    let refusal = failure(422, "Invalid", "sendInitialEvents is forbidden for watch");
    scene.tap.answer([("stream newest", refusal)]);
    scene.start().await;
    scene.catches_up().await;
    assert_eq!(scene.tap.words(), ["stream newest", "list any 500", "watch last"]);
    let error = scene.error().await.to_string();
    assert!(error.contains("configmaps") && error.contains("422"), "{error}");
}

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
async fn c2_a_refused_stream_is_not_asked_for_again_for_a_while() {
    ends_in_a_list(Fault::NoStreamingList, Duration::ZERO, "422").await;
}

#[tokio::test(start_paused = true)]
async fn c2_a_stream_that_closes_early_is_not_asked_for_again_for_a_while() {
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
async fn c2_a_stream_without_its_bookmark_ends_after_ten_seconds() {
    ends_in_a_list(Fault::NoBookmarks, Duration::from_secs(10), "bookmark").await;
    ends_in_a_list(Fault::IgnoreStreamingList, Duration::from_secs(10), "bookmark").await;
    ends_in_a_list(Fault::SilenceAfterEvents(1), Duration::from_secs(10), "bookmark").await;
}

/// There is always something new, so the stream is never silent, and never ends.
#[tokio::test(start_paused = true)]
async fn c2_a_stream_without_end_ends_after_five_minutes() {
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
async fn c2_a_stream_that_breaks_twice_is_not_asked_for_again_for_a_while() {
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

/// An overloaded server is not made busier by a list after a stream that it had no time for.
#[tokio::test(start_paused = true)]
async fn c2_an_overloaded_server_is_asked_again_later_for_the_same() {
    let (server, mut scene) = Scene::paused(|informer| informer).await;
    scene.make("a").await;
    let busy = On::streaming_list("configmaps").times(3);
    server.faults().add(busy, Fault::too_many_requests(7));
    let begin = Instant::now();
    scene.start().await;
    assert!(
        begin.elapsed() >= Duration::from_secs(21),
        "{:?}",
        begin.elapsed()
    );
    assert_eq!(scene.tap.words(), ["stream newest"; 4]);
    assert!(scene.error().await.is_too_many_requests());
    scene.catches_up().await;
}
