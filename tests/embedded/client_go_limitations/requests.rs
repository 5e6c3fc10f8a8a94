//! Requests: no hot loop, no endless request, none after the stop.

use std::time::Duration;

use kube_embedded::{Fault, On};
use tokio::time::{Instant, timeout};

use crate::observed_informer::ObservedInformer;

/// Checks the maximum number of requests for a given time: with client-go's backoff, a few requests at first
/// and then two or three per minute.
fn assert_polite(observed: &ObservedInformer, begin: Instant, what: &str) {
    let (asked, minutes) = (observed.tap.all().len(), begin.elapsed().as_secs() / 60);
    let most = 12 + usize::try_from(minutes).unwrap_or(usize::MAX) * 4;
    assert!(asked <= most, "{what}: {asked} requests in {minutes} minutes");
    // A stream at the last version, one at the newest, the same two as lists, and a watch; then there is a
    // wait.
    for six in observed.tap.all().windows(6) {
        let time = six[5].at - six[0].at;
        assert!(
            time >= Duration::from_millis(800),
            "{what}: six requests within {time:?}"
        );
    }
}

/// 9. A server that never sends the bookmark after the objects blocks the informer forever. Here a timeout
/// leads to a list.
#[tokio::test(start_paused = true)]
async fn streaming_list_without_bookmark_falls_back_to_a_list() {
    let (server, observed) = ObservedInformer::paused(|informer| informer).await;
    observed.create("a").await;
    server
        .faults()
        .add(On::streaming_list("configmaps"), Fault::NoBookmarks);
    let begin = Instant::now();
    observed.start().await;
    assert!(
        begin.elapsed() <= Duration::from_secs(10),
        "{:?}",
        begin.elapsed()
    );
    observed.catches_up().await;
}

/// 20. A stream that closes before its bookmark is retried at once, without end. Here a list follows, and
/// after other early ends a wait.
#[tokio::test(start_paused = true)]
async fn early_close_causes_no_hot_loop() {
    let faults = [
        Fault::CloseAfterEvents(0),
        Fault::CloseAfterEvents(1),
        Fault::CutAfterEvents(0),
        Fault::CutAfterEvents(1),
        Fault::CutAfterBytes(0),
        Fault::ExpireAfterEvents(0),
        Fault::ExpireAfterEvents(1),
        Fault::ErrorAfterEvents(0),
        Fault::BrokenJson(0),
        Fault::BrokenJson(1),
        Fault::WrongKind,
        Fault::NoMetadata,
        Fault::UnwantedTable,
        Fault::TooLargeVersion,
        Fault::Drop,
        Fault::unauthorized(),
        Fault::not_found(),
        Fault::expired(),
        Fault::internal_error(),
        Fault::too_many_requests(0),
        Fault::Compact,
        Fault::StaleList(1),
    ];
    for fault in faults {
        for (what, on) in [
            ("watches", On::watch("configmaps")),
            ("both", On::list_or_watch("configmaps")),
        ] {
            for streaming in [true, false] {
                let (server, observed) =
                    ObservedInformer::paused(|informer| informer.streaming_list(streaming)).await;
                observed.create("a").await;
                observed.change("a", "2").await;
                server.faults().add(on.clone(), fault.clone());
                let begin = Instant::now();
                observed.informer.start().expect("a first start");
                for round in 0..20 {
                    tokio::time::sleep(Duration::from_mins(1)).await;
                    observed.change("a", &format!("round {round}")).await;
                }
                assert_polite(
                    &observed,
                    begin,
                    &format!("{fault:?} on {what}, streaming {streaming}"),
                );
                server.faults().clear();
                observed.synced().await;
                observed.catches_up().await;
            }
        }
    }
}

/// 30. A watch that gets 410 is retried with the same version. Here the informer lists.
#[tokio::test(start_paused = true)]
async fn watch_rejected_with_410_causes_a_relist() {
    let (server, observed) = ObservedInformer::paused(|informer| informer).await;
    observed.create("a").await;
    observed.start().await;
    let plain = On::watch("configmaps").when(|request| !request.is_streaming_list());
    server.faults().add(plain, Fault::expired());
    server.cut_connections();
    let begin = Instant::now();
    tokio::time::sleep(Duration::from_hours(1)).await;
    assert_polite(&observed, begin, "410");
    observed.catches_up().await;
    let words = observed.tap.words();
    assert!(
        words.len() > 2 && words.windows(2).all(|pair| pair != ["watch last", "watch last"]),
        "{words:?}"
    );
}

/// 31. In a long outage the backoff is reset every two minutes. Here only a healthy connection resets it.
#[tokio::test(start_paused = true)]
async fn backoff_does_not_restart_during_an_outage() {
    let (server, observed) = ObservedInformer::paused(|informer| informer).await;
    observed.start().await;
    server.go_down().await;
    tokio::time::sleep(Duration::from_mins(10)).await;
    let settled = observed.tap.all().len();
    tokio::time::sleep(Duration::from_hours(2)).await;
    for pair in observed.tap.all()[settled - 1..].windows(2) {
        let gap = pair[1].at - pair[0].at;
        assert!(gap >= Duration::from_secs(30), "{gap:?}");
    }
}

/// 19. A pending list or a wait continues after the informer has stopped. Here a stop ends every request.
#[tokio::test(start_paused = true)]
async fn cancellation_ends_a_pending_list() {
    let hour = || Fault::Delay(Duration::from_hours(1));
    for (what, on, fault) in [
        ("a list", On::list("configmaps"), hour()),
        ("a stream", On::streaming_list("configmaps"), hour()),
        (
            "a silent stream",
            On::streaming_list("configmaps"),
            Fault::SilenceAfterEvents(1),
        ),
        (
            "a wait",
            On::list_or_watch("configmaps"),
            Fault::too_many_requests(100),
        ),
    ] {
        let (server, observed) =
            ObservedInformer::paused(|informer| informer.streaming_list(what != "a list")).await;
        observed.create("a").await;
        server.faults().add(on, fault);
        observed.informer.start().expect("a first start");
        observed.requests(1).await;
        let begin = Instant::now();
        let ended = timeout(Duration::from_secs(1), observed.informer.shutdown()).await;
        assert!(ended.is_ok(), "{what} is not cancelled");
        assert_eq!(begin.elapsed(), Duration::ZERO, "{what}");
        let asked = observed.tap.all().len();
        tokio::time::sleep(Duration::from_hours(2)).await;
        assert_eq!(observed.tap.all().len(), asked, "requests after {what}");
        let error = observed.informer.synced().await.expect_err("it never synced");
        assert!(error.is_stopped(), "{error}");
    }
}
