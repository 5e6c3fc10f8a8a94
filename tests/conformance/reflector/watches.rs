//! Watches: where they resume, and what causes a relist.

use conformance::TestServer;

use crate::observed_informer::ObservedInformer;
use crate::tap::{answer, failure};

#[tokio::test]
async fn watch_resumes_at_the_last_version_with_bookmarks_and_a_random_timeout() {
    let server = TestServer::start().await;
    let observed = ObservedInformer::on(&server, |informer| informer.streaming_list(false));
    observed.create("a").await;
    let mut watches = 0;
    observed.tap.proxy(move |asked, _| {
        watches += usize::from(asked.is_plain_watch());
        (asked.is_plain_watch() && watches < 5).then(|| failure(429, "TooManyRequests", "later"))
    });
    observed.start().await;
    observed.catches_up().await;
    let all = observed.tap.all();
    let mut times = Vec::new();
    for asked in &all[1..] {
        assert!(asked.is_plain_watch(), "{asked}");
        assert_eq!(asked.version(), all[1].version());
        assert_eq!(asked.parameter("allowWatchBookmarks"), Some("true"));
        let seconds = asked
            .parameter("timeoutSeconds")
            .and_then(|text| text.parse().ok());
        times.push(seconds.unwrap_or(0_u64));
    }
    assert!(times.iter().all(|time| (300..=600).contains(time)), "{times:?}");
    times.sort_unstable();
    times.dedup();
    assert!(times.len() > 1, "always the same time: {times:?}");
}

/// A real server may have lost its watch cache in the restart, so there may be a list.
#[tokio::test]
async fn watch_resumes_after_a_server_restart() {
    let server = TestServer::alone().await;
    let mut observed = ObservedInformer::on(&server, |informer| informer);
    observed.create("a").await;
    observed.start().await;
    server.go_down().await;
    observed.error_that(kube_informer::Error::is_connection).await;
    server.restart().await;
    observed.catches_up().await;
}

#[tokio::test]
async fn too_many_requests_cause_no_relist() {
    let server = TestServer::start().await;
    let mut observed = ObservedInformer::on(&server, |informer| informer.streaming_list(false));
    observed.create("a").await;
    let busy = || ("watch last", failure(429, "TooManyRequests", "later"));
    observed.tap.answer([busy(), busy(), busy()]);
    observed.start().await;
    observed.catches_up().await;
    let words = observed.tap.words();
    assert_eq!(
        words,
        [
            "list any 500",
            "watch last",
            "watch last",
            "watch last",
            "watch last"
        ]
    );
    for _ in 0..3 {
        assert!(observed.error().await.is_too_many_requests());
    }
}

#[tokio::test]
async fn expired_watch_request_causes_a_relist() {
    let server = TestServer::start().await;
    let mut observed = ObservedInformer::on(&server, |informer| informer.streaming_list(false));
    observed.create("a").await;
    observed
        .tap
        .answer([("watch last", failure(410, "Expired", "too old resource version"))]);
    observed.start().await;
    observed.catches_up().await;
    let words = observed.tap.words();
    assert_eq!(words, ["list any 500", "watch last", "list last", "watch last"]);
    assert!(observed.error().await.is_expired());
}

/// The history is compacted while no watch is open; the resumed watch is too old.
#[tokio::test]
async fn relist_after_compaction_delivers_missed_changes() {
    let server = TestServer::alone().await;
    let mut observed = ObservedInformer::on(&server, |informer| informer);
    for name in ["kept", "changed", "gone"] {
        observed.create(name).await;
    }
    observed.start().await;
    let mut events = observed.events();
    assert_eq!(events.sorted(3).await, ["+changed", "+gone", "+kept"]);
    // Requests of the informer are blocked until the history is compacted.
    observed
        .tap
        .proxy(|_, _| Some(failure(429, "TooManyRequests", "not now")));
    match (server.embedded(), server.real()) {
        (Some(embedded), _) => embedded.cut_connections(),
        (_, Some(real)) => real.apiserver().restart().await.expect("the same address"),
        _ => unreachable!("a server is embedded or real"),
    }
    observed
        .error_that(kube_informer::Error::is_too_many_requests)
        .await;
    observed.change("changed", "2").await;
    observed.delete("gone").await;
    observed.create("new").await;
    server.forget_history().await;
    observed.tap.proxy(|_, _| None);
    observed.error_that(kube_informer::Error::is_expired).await;
    assert_eq!(events.sorted(3).await, ["+new", "-gone?", "~changed"]);
    observed.catches_up().await;
}

#[tokio::test]
async fn watch_truncated_within_an_event_resumes_without_a_relist() {
    let server = TestServer::start().await;
    let mut observed = ObservedInformer::on(&server, |informer| informer.streaming_list(false));
    observed.create("a").await;
    let half = answer(
        200,
        "application/json",
        r#"{"type":"ADDED","object":{"kind":"Conf"#,
    );
    observed.tap.answer([("watch last", half)]);
    observed.start().await;
    observed.catches_up().await;
    assert_eq!(observed.tap.words(), ["list any 500", "watch last", "watch last"]);
    let error = observed.error().await;
    assert!(
        error.is_connection()
            && error
                .to_string()
                .contains("connection lost while reading a watch event"),
        "{error}"
    );
}

#[tokio::test]
async fn very_short_watch_is_reported_and_resumes_without_a_relist() {
    let server = TestServer::start().await;
    let mut observed = ObservedInformer::on(&server, |informer| informer.streaming_list(false));
    observed.create("a").await;
    let short = || ("watch last", answer(200, "application/json", ""));
    observed.tap.answer([short(), short()]);
    observed.start().await;
    observed.catches_up().await;
    let words = observed.tap.words();
    assert_eq!(words, ["list any 500", "watch last", "watch last", "watch last"]);
    for _ in 0..2 {
        let error = observed.error().await.to_string();
        assert!(
            error.contains("configmaps") && error.contains("within a second"),
            "{error}"
        );
    }
}
