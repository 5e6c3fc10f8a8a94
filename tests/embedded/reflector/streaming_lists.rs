//! Streaming lists, and servers with poor support for them.

use std::time::Duration;

use kube_embedded::{Fault, On, Server};
use tokio::time::{Instant, timeout};

use crate::observed_informer::ObservedInformer;

/// Time without streaming lists after one has failed.
const PAUSE: Duration = Duration::from_mins(10);

/// Checks that streams of such a server are replaced by a list after at most this time, and not retried for
/// ten minutes. Embedded only, like faults.
async fn ends_in_a_list(fault: Fault, at_most: Duration, why: &str) {
    let (server, mut observed) = ObservedInformer::paused(|informer| informer).await;
    observed.create("a").await;
    observed.create("b").await;
    server
        .faults()
        .add(On::streaming_list("configmaps"), fault.clone());
    let begin = Instant::now();
    observed.informer.start().expect("a first start");
    observed.requests(2).await;
    let waited = begin.elapsed();
    assert!(waited <= at_most, "{fault:?}: {waited:?}");
    assert_eq!(
        observed.tap.words()[..2],
        ["stream newest", "list any 500"],
        "{fault:?}"
    );
    observed.synced().await;
    observed.catches_up().await;
    let error = observed.error().await.to_string();
    assert!(
        error.contains("configmaps") && error.contains(why),
        "{fault:?}: {error}"
    );

    let fell_back = begin + waited;
    while fell_back.elapsed() + Duration::from_mins(2) < PAUSE {
        start_over(&server, &observed).await;
        assert_eq!(
            observed.tap.count("stream"),
            1,
            "{fault:?}: {:?}",
            observed.tap.words()
        );
        tokio::time::sleep(Duration::from_mins(1)).await;
    }
    tokio::time::sleep(Duration::from_mins(2)).await;
    server.faults().clear();
    start_over(&server, &observed).await;
    assert_eq!(
        observed.tap.count("stream"),
        2,
        "{fault:?}: retried after a while"
    );
}

/// Forces a relist, and waits until the informer is current again.
async fn start_over(server: &Server, observed: &ObservedInformer) {
    let begins = |observed: &ObservedInformer| {
        observed
            .tap
            .all()
            .iter()
            .filter(|asked| !asked.is_plain_watch())
            .count()
    };
    let before = begins(observed);
    let rule = server
        .faults()
        .add(On::watch("configmaps").once(), Fault::expired());
    server.cut_connections();
    let begun = async {
        while begins(observed) == before {
            observed.requests(observed.tap.all().len() + 1).await;
        }
    };
    timeout(observed.patience, begun).await.expect("a relist");
    assert_eq!(rule.hits(), 1);
    observed.catches_up().await;
}

#[tokio::test(start_paused = true)]
async fn rejected_streaming_list_is_not_retried_for_a_while() {
    ends_in_a_list(Fault::NoStreamingList, Duration::ZERO, "422").await;
}

#[tokio::test(start_paused = true)]
async fn streaming_list_closed_early_is_not_retried_for_a_while() {
    for events in [0, 1] {
        ends_in_a_list(Fault::CloseAfterEvents(events), Duration::ZERO, "stream closed").await;
    }
}

#[tokio::test(start_paused = true)]
async fn streaming_list_without_bookmark_ends_after_ten_seconds() {
    ends_in_a_list(Fault::NoBookmarks, Duration::from_secs(10), "bookmark").await;
    ends_in_a_list(Fault::IgnoreStreamingList, Duration::from_secs(10), "bookmark").await;
    ends_in_a_list(Fault::SilenceAfterEvents(1), Duration::from_secs(10), "bookmark").await;
}

/// There are always new events, so the stream is never silent, and never ends.
#[tokio::test(start_paused = true)]
async fn endless_streaming_list_ends_after_five_minutes() {
    let (server, mut observed) = ObservedInformer::paused(|informer| informer).await;
    observed.create("a").await;
    server
        .faults()
        .add(On::streaming_list("configmaps"), Fault::NoBookmarks);
    let begin = Instant::now();
    observed.informer.start().expect("a first start");
    let mut value = 0;
    while observed.tap.all().len() < 2 {
        value += 1;
        observed.change("a", &value.to_string()).await;
        tokio::time::sleep(Duration::from_secs(5)).await;
        assert!(
            begin.elapsed() < Duration::from_mins(6),
            "the stream does not end"
        );
    }
    observed.synced().await;
    observed.catches_up().await;
    assert_eq!(
        observed.tap.words(),
        ["stream newest", "list any 500", "watch last"]
    );
    assert!(observed.error().await.is_no_streaming_list());
}

/// One broken stream does not mean that the server lacks support: the next cycle retries, but not after a
/// second failure.
#[tokio::test(start_paused = true)]
async fn streaming_list_broken_twice_is_not_retried_for_a_while() {
    let (server, observed) = ObservedInformer::paused(|informer| informer).await;
    observed.create("a").await;
    observed.create("b").await;
    server
        .faults()
        .add(On::streaming_list("configmaps"), Fault::CutAfterEvents(1));
    observed.start().await;
    for _ in 0..5 {
        start_over(&server, &observed).await;
    }
    assert_eq!(observed.tap.count("stream"), 2, "{:?}", observed.tap.words());
}

/// A server with a stale watch cache responds to streaming lists at the newest version with 429.
#[tokio::test(start_paused = true)]
async fn throttled_streaming_list_becomes_a_list_from_the_watch_cache() {
    let (server, mut observed) = ObservedInformer::paused(|informer| informer).await;
    observed.create("a").await;
    let busy = On::streaming_list("configmaps");
    server.faults().add(busy, Fault::too_many_requests(7));
    let begin = Instant::now();
    observed.start().await;
    assert!(
        begin.elapsed() >= Duration::from_secs(7),
        "Retry-After is honoured: {:?}",
        begin.elapsed()
    );
    assert_eq!(observed.tap.words()[..2], ["stream newest", "list any 500"]);
    assert!(observed.error().await.is_too_many_requests());
    observed.catches_up().await;
}
