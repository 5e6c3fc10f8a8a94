//! A watch on which no event arrives: the maximum duration of each silence.

use std::time::Duration;

use kube_embedded::{Fault, On};
use tokio::time::{Instant, sleep};

use crate::observed_informer::ObservedInformer;

#[tokio::test(start_paused = true)]
async fn missing_bookmarks_are_noticed_within_minutes() {
    let (server, mut observed) = ObservedInformer::paused(|informer| informer).await;
    observed.create("a").await;
    // The object, the bookmark of the stream and the one of the first minute arrive, and then nothing.
    server
        .faults()
        .add(On::watch("configmaps").once(), Fault::SilenceAfterEvents(3));
    observed.start().await;
    sleep(Duration::from_secs(70)).await;
    let begin = Instant::now();
    observed.change("a", "2").await;
    let error = observed.error().await;
    assert!(error.is_connection(), "{error}");
    assert!(error.to_string().contains("no data for 210s"), "{error}");
    assert!(error.to_string().contains("configmaps"), "{error}");
    assert!(
        begin.elapsed() <= Duration::from_secs(211),
        "{:?}",
        begin.elapsed()
    );
    observed.catches_up().await;
    assert_eq!(
        observed.tap.words(),
        ["stream newest", "watch last"],
        "renewed without a list"
    );
}

#[tokio::test(start_paused = true)]
async fn stall_without_bookmarks_is_noticed_after_the_watch_timeout() {
    let (server, mut observed) = ObservedInformer::paused(|informer| informer.streaming_list(false)).await;
    observed.create("a").await;
    server.faults().add(On::watch("configmaps"), Fault::NoBookmarks);
    server
        .faults()
        .add(On::watch("configmaps").once(), Fault::SilenceAfterEvents(0));
    observed.start().await;
    let begin = Instant::now();
    observed.change("a", "2").await;
    let error = observed.error().await;
    assert!(error.is_connection(), "{error}");
    let asked = observed.tap.all()[1]
        .parameter("timeoutSeconds")
        .and_then(|text| text.parse().ok());
    let allowed = Duration::from_secs(asked.unwrap_or(0) + 10);
    assert_eq!(begin.elapsed().as_secs(), allowed.as_secs());
    observed.catches_up().await;
}

#[tokio::test(start_paused = true)]
async fn unanswered_requests_time_out() {
    let hours = Fault::Delay(Duration::from_hours(5));
    for (on, streaming, most) in [
        (On::watch("configmaps"), false, 30),
        (On::list("configmaps"), false, 60),
        (On::watch("configmaps"), true, 30),
    ] {
        let (server, mut observed) =
            ObservedInformer::paused(|informer| informer.streaming_list(streaming)).await;
        observed.create("a").await;
        server.faults().add(on.once(), hours.clone());
        let begin = Instant::now();
        observed.informer.start().expect("a first start");
        let error = observed.error().await;
        assert!(
            begin.elapsed() <= Duration::from_secs(most + 1),
            "{:?}: {error}",
            begin.elapsed()
        );
        assert!(error.to_string().contains("configmaps"), "{error}");
        observed.synced().await;
        observed.catches_up().await;
        assert!(
            begin.elapsed() <= Duration::from_secs(most + 5),
            "{:?}",
            begin.elapsed()
        );
    }
}

/// Silence is not a failure: an idle collection is watched for hours without an error.
#[tokio::test(start_paused = true)]
async fn quiet_collection_is_not_treated_as_stalled() {
    let (_server, mut observed) = ObservedInformer::paused(|informer| informer).await;
    observed.create("a").await;
    observed.start().await;
    tokio::time::sleep(Duration::from_hours(12)).await;
    assert_eq!(observed.errors(), [""; 0]);
    observed.catches_up().await;
}
