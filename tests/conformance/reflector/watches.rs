//! Watches: where they resume, and what causes a relist.

use conformance::TestServer;

use crate::scene::Scene;
use crate::tap::{answer, failure};

#[tokio::test]
async fn watch_resumes_at_the_last_version_with_bookmarks_and_a_random_timeout() {
    let server = TestServer::start().await;
    let scene = Scene::live(&server, |informer| informer.streaming_list(false));
    scene.make("a").await;
    let mut watches = 0;
    scene.tap.proxy(move |asked, _| {
        watches += usize::from(asked.is_plain_watch());
        (asked.is_plain_watch() && watches < 5).then(|| failure(429, "TooManyRequests", "later"))
    });
    scene.start().await;
    scene.catches_up().await;
    let all = scene.tap.all();
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

/// What the restarted server still knows is its own affair, so on the real one there may be a list.
#[tokio::test]
async fn watch_resumes_after_a_server_restart() {
    let server = TestServer::alone().await;
    let mut scene = Scene::live(&server, |informer| informer);
    scene.make("a").await;
    scene.start().await;
    server.go_down().await;
    scene.error_that(kube_informer::Error::is_connection).await;
    server.come_back().await;
    scene.catches_up().await;
}

#[tokio::test]
async fn too_many_requests_cause_no_relist() {
    let server = TestServer::start().await;
    let mut scene = Scene::live(&server, |informer| informer.streaming_list(false));
    scene.make("a").await;
    let busy = || ("watch last", failure(429, "TooManyRequests", "later"));
    scene.tap.answer([busy(), busy(), busy()]);
    scene.start().await;
    scene.catches_up().await;
    let words = scene.tap.words();
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
        assert!(scene.error().await.is_too_many_requests());
    }
}

#[tokio::test]
async fn expired_watch_request_causes_a_relist() {
    let server = TestServer::start().await;
    let mut scene = Scene::live(&server, |informer| informer.streaming_list(false));
    scene.make("a").await;
    scene
        .tap
        .answer([("watch last", failure(410, "Expired", "too old resource version"))]);
    scene.start().await;
    scene.catches_up().await;
    let words = scene.tap.words();
    assert_eq!(words, ["list any 500", "watch last", "list last", "watch last"]);
    assert!(scene.error().await.is_expired());
}

/// The server forgets while nobody watches; the watch that comes back is too old.
#[tokio::test]
async fn relist_after_compaction_delivers_missed_changes() {
    let server = TestServer::alone().await;
    let mut scene = Scene::live(&server, |informer| informer);
    for name in ["kept", "changed", "gone"] {
        scene.make(name).await;
    }
    scene.start().await;
    let mut told = scene.events();
    assert_eq!(told.sorted(3).await, ["+changed", "+gone", "+kept"]);
    // From here until the server has forgotten, the informer's requests do not get through.
    scene
        .tap
        .proxy(|_, _| Some(failure(429, "TooManyRequests", "not now")));
    match (server.embedded(), server.real()) {
        (Some(embedded), _) => embedded.cut_connections(),
        (_, Some(real)) => real.apiserver().restart().await.expect("the same address"),
        _ => unreachable!("a server is embedded or real"),
    }
    scene.error_that(kube_informer::Error::is_too_many_requests).await;
    scene.change("changed", "2").await;
    scene.delete("gone").await;
    scene.make("new").await;
    server.forget_history().await;
    scene.tap.proxy(|_, _| None);
    scene.error_that(kube_informer::Error::is_expired).await;
    assert_eq!(told.sorted(3).await, ["+new", "-gone?", "~changed"]);
    scene.catches_up().await;
}

#[tokio::test]
async fn watch_truncated_within_an_event_resumes_without_a_relist() {
    let server = TestServer::start().await;
    let mut scene = Scene::live(&server, |informer| informer.streaming_list(false));
    scene.make("a").await;
    let half = answer(
        200,
        "application/json",
        r#"{"type":"ADDED","object":{"kind":"Conf"#,
    );
    scene.tap.answer([("watch last", half)]);
    scene.start().await;
    scene.catches_up().await;
    assert_eq!(scene.tap.words(), ["list any 500", "watch last", "watch last"]);
    let error = scene.error().await;
    assert!(
        error.is_connection() && error.to_string().contains("in the middle"),
        "{error}"
    );
}

#[tokio::test]
async fn very_short_watch_is_reported_and_resumes_without_a_relist() {
    let server = TestServer::start().await;
    let mut scene = Scene::live(&server, |informer| informer.streaming_list(false));
    scene.make("a").await;
    let short = || ("watch last", answer(200, "application/json", ""));
    scene.tap.answer([short(), short()]);
    scene.start().await;
    scene.catches_up().await;
    let words = scene.tap.words();
    assert_eq!(words, ["list any 500", "watch last", "watch last", "watch last"]);
    for _ in 0..2 {
        let error = scene.error().await.to_string();
        assert!(
            error.contains("configmaps") && error.contains("within a second"),
            "{error}"
        );
    }
}
