//! Watches: where they resume, and what causes a relist.

use std::time::Duration;

use kube_embedded::{Fault, On};
use kube_informer::HandlerOptions;
use tokio::time::Instant;

use crate::observed_informer::ObservedInformer;
use crate::tap::RecordedRequest;

/// Servers close watches at the requested time. This causes neither a list nor a wait.
#[tokio::test(start_paused = true)]
async fn closing_watches_cause_no_relist_for_hours() {
    let (server, mut observed) = ObservedInformer::paused(|informer| informer).await;
    observed.create("a").await;
    observed.start().await;
    let begin = Instant::now();
    while begin.elapsed() < Duration::from_hours(6) {
        tokio::time::sleep(Duration::from_mins(7)).await;
        server.advance_resource_version(10);
        let written = observed.change("a", &begin.elapsed().as_secs().to_string()).await;
        observed.reach(written).await;
    }
    let words = observed.tap.words();
    assert_eq!(words[0], "stream newest");
    assert!(words[1..].iter().all(|word| word == "watch last"), "{words:?}");
    assert!(
        (6 * 6..=6 * 12 + 1).contains(&words.len()),
        "{} watches",
        words.len()
    );
    let versions: Vec<_> = observed.tap.all()[1..]
        .iter()
        .map(RecordedRequest::version)
        .collect();
    assert!(versions.is_sorted(), "{versions:?}");
    assert_eq!(observed.errors(), [""; 0]);
    observed.equals_server().await;
}

#[tokio::test(start_paused = true)]
async fn cleanly_closed_watch_is_restarted_immediately() {
    let (server, mut observed) = ObservedInformer::paused(|informer| informer.streaming_list(false)).await;
    observed.create("a").await;
    server
        .faults()
        .add(On::watch("configmaps").once(), Fault::CloseAfterEvents(1));
    observed.start().await;
    tokio::time::sleep(Duration::from_secs(2)).await;
    let closed = Instant::now();
    let written = observed.change("a", "2").await;
    observed.requests(3).await;
    assert_eq!(closed.elapsed(), Duration::ZERO);
    assert_eq!(observed.tap.words(), ["list any 500", "watch last", "watch last"]);
    assert_eq!(observed.tap.all()[2].version(), Some(written));
    assert_eq!(observed.errors(), [""; 0]);
    observed.catches_up().await;
}

#[tokio::test(start_paused = true)]
async fn refused_connection_causes_no_relist() {
    let (server, mut observed) = ObservedInformer::paused(|informer| informer).await;
    observed.create("a").await;
    observed.start().await;
    server.go_down().await;
    assert!(observed.error().await.is_connection(), "the watch breaks");
    for _ in 0..5 {
        let refused = observed.error().await;
        assert!(
            refused.is_connection() && refused.to_string().contains("configmaps"),
            "{refused}"
        );
    }
    server.restart().await.expect("the same port");
    observed.catches_up().await;
    let words = observed.tap.words();
    assert!(words[1..].iter().all(|word| word == "watch last"), "{words:?}");
}

#[tokio::test(start_paused = true)]
async fn retry_after_is_respected_within_limits() {
    for (retry_after, least, most) in [(20, 20, 21), (1_000_000, 120, 121)] {
        let (server, observed) = ObservedInformer::paused(|informer| informer.streaming_list(false)).await;
        server.faults().add(
            On::watch("configmaps").once(),
            Fault::too_many_requests(retry_after),
        );
        observed.start().await;
        observed.requests(3).await;
        let all = observed.tap.all();
        let waited = all[2].at - all[1].at;
        assert!(
            (least..most).contains(&waited.as_secs()),
            "{retry_after} s: {waited:?}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn expired_version_in_the_stream_causes_a_relist() {
    let (server, mut observed) = ObservedInformer::paused(|informer| informer.streaming_list(false)).await;
    observed.create("a").await;
    server
        .faults()
        .add(On::watch("configmaps").once(), Fault::ExpireAfterEvents(1));
    observed.start().await;
    let written = observed.change("a", "2").await;
    assert!(observed.error().await.is_expired());
    observed.catches_up().await;
    let words = observed.tap.words();
    assert_eq!(words, ["list any 500", "watch last", "list last", "watch last"]);
    assert_eq!(
        observed.tap.all()[2].version(),
        Some(written),
        "events before the error are applied"
    );
}

#[tokio::test(start_paused = true)]
async fn watch_broken_within_an_event_resumes_without_a_relist() {
    let (server, mut observed) = ObservedInformer::paused(|informer| informer.streaming_list(false)).await;
    observed.create("a").await;
    server
        .faults()
        .add(On::watch("configmaps").once(), Fault::CutAfterEvents(1));
    observed.start().await;
    let mut told = observed.events_with(HandlerOptions::new().every_event());
    assert_eq!(told.next().await, "+a");
    let whole = observed.change("a", "2").await;
    observed.change("a", "3").await;
    assert!(observed.error().await.is_connection());
    observed.catches_up().await;
    let words = observed.tap.words();
    assert_eq!(words, ["list any 500", "watch last", "watch last"]);
    assert_eq!(
        observed.tap.all()[2].version(),
        Some(whole),
        "an incomplete event is not applied"
    );
    assert_eq!(told.until("+marker-0").await, ["~a", "~a", "+marker-0"]);
}

#[tokio::test(start_paused = true)]
async fn error_event_causes_a_relist() {
    let (server, mut observed) = ObservedInformer::paused(|informer| informer.streaming_list(false)).await;
    observed.create("a").await;
    server
        .faults()
        .add(On::watch("configmaps").once(), Fault::ErrorAfterEvents(1));
    observed.start().await;
    observed.change("a", "2").await;
    let error = observed.error().await;
    assert_eq!(
        error.server_status().map(|status| status.code),
        Some(500),
        "{error}"
    );
    observed.catches_up().await;
    let words = observed.tap.words();
    assert_eq!(words, ["list any 500", "watch last", "list last", "watch last"]);
}

#[tokio::test(start_paused = true)]
async fn duplicate_events_are_delivered_once() {
    let (server, mut observed) = ObservedInformer::paused(|informer| informer).await;
    observed.create("a").await;
    server
        .faults()
        .add(On::watch("configmaps"), Fault::DuplicateEvents);
    observed.start().await;
    let mut told = observed.events_with(HandlerOptions::new().every_event());
    assert_eq!(told.next().await, "+a");
    observed.change("a", "2").await;
    observed.delete("a").await;
    observed.catches_up().await;
    let words = told.until("+marker-0").await;
    assert_eq!(words, ["~a", "-a", "+marker-0"]);
    assert_eq!(observed.errors(), [""; 0]);
}
