//! Lists: the requested version, and the pages.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use conformance::TestServer;
use futures::StreamExt;
use http::Uri;
use kube::client::Body;

use crate::observed_informer::ObservedInformer;
use crate::tap::{RecordedRequest, answer, failure};

fn expired() -> http::Response<Body> {
    failure(410, "Expired", "too old resource version")
}

#[tokio::test]
async fn first_list_accepts_any_version_and_later_lists_use_the_last_seen() {
    let server = TestServer::start().await;
    let observed = ObservedInformer::on(&server, |informer| informer.streaming_list(false));
    observed.create("a").await;
    observed.tap.answer([("watch last", expired())]);
    observed.start().await;
    observed.catches_up().await;
    assert_eq!(
        observed.tap.words(),
        ["list any 500", "watch last", "list last", "watch last"]
    );
    let versions: Vec<_> = observed
        .tap
        .all()
        .iter()
        .filter_map(RecordedRequest::version)
        .collect();
    assert_eq!(versions[0], 0);
    assert_eq!(versions[1], versions[2], "the version of the first list");
    assert!(versions[3] >= versions[2], "{versions:?}");
}

#[tokio::test]
async fn expired_list_version_falls_back_to_the_most_recent() {
    let server = TestServer::start().await;
    let mut observed = ObservedInformer::on(&server, |informer| informer.streaming_list(false));
    observed.create("a").await;
    observed
        .tap
        .answer([("watch last", expired()), ("list last", expired())]);
    observed.start().await;
    observed.catches_up().await;
    assert_eq!(
        observed.tap.words(),
        [
            "list any 500",
            "watch last",
            "list last",
            "list newest 500",
            "watch last"
        ]
    );
    assert!(observed.error().await.is_expired(), "the watch");
    assert!(observed.error().await.is_expired(), "the list");
    assert_eq!(observed.errors(), [""; 0]);
}

#[tokio::test]
async fn too_large_list_version_falls_back_to_the_most_recent() {
    // The messages of current servers, of those before causes existed, and of the oldest.
    let causes = r#"{"kind":"Status","code":504,"reason":"Timeout","message":"Too large","details":{"causes":[{"reason":"ResourceVersionTooLarge"}]}}"#;
    let text = "Too large resource version: 9, current: 8";
    let dialects = [
        answer(504, "application/json", causes),
        failure(504, "Timeout", text),
        failure(500, "", text),
    ];
    for too_large in dialects {
        let server = TestServer::start().await;
        let observed = ObservedInformer::on(&server, |informer| informer.streaming_list(false));
        observed
            .tap
            .answer([("watch last", expired()), ("list last", too_large)]);
        observed.start().await;
        observed.catches_up().await;
        assert_eq!(
            observed.tap.words(),
            [
                "list any 500",
                "watch last",
                "list last",
                "list newest 500",
                "watch last"
            ]
        );
    }
}

#[tokio::test]
async fn list_uses_the_requested_page_size() {
    let server = TestServer::start().await;
    let observed = ObservedInformer::on(&server, |informer| informer.streaming_list(false).page_size(2));
    for name in ["a", "b", "c", "d", "e"] {
        observed.create(name).await;
    }
    observed
        .tap
        .answer([("watch last", expired()), ("list last 2", expired())]);
    observed.start().await;
    observed.catches_up().await;
    assert_eq!(
        observed.tap.words(),
        [
            "list any 2",
            "watch last",
            "list last 2",
            "list newest 2",
            "page 2",
            "page 2",
            "watch last"
        ]
    );
}

/// A server treats the version of a paginated list as exact by default. A cache at a version that was
/// compacted for watches would never get past it.
#[tokio::test]
async fn paginated_list_moves_past_a_version_compacted_for_watches() {
    let server = TestServer::start().await;
    let observed = ObservedInformer::on(&server, |informer| informer.streaming_list(false).page_size(2));
    observed.create("a").await;
    let remembered = Arc::new(AtomicU64::new(u64::MAX));
    let oldest = Arc::clone(&remembered);
    observed.tap.proxy(move |asked, _| {
        let is_forgotten = asked.version() < Some(oldest.load(Ordering::Relaxed));
        (asked.is_plain_watch() && is_forgotten).then(expired)
    });
    observed.start().await;
    remembered.store(observed.create("b").await, Ordering::Relaxed);
    observed.catches_up().await;
}

/// If the server paginates a first list at any version, it has no watch cache, and every complete list would
/// load all objects at once. From then on, the informer requests pages.
#[tokio::test]
async fn server_without_a_watch_cache_is_always_listed_in_pages() {
    let server = TestServer::start().await;
    let observed = ObservedInformer::on(&server, |informer| informer.streaming_list(false));
    let names: Vec<_> = (0..501).map(|n| format!("map-{n}")).collect();
    futures::stream::iter(&names)
        .for_each_concurrent(32, async |name| {
            observed.create(name).await;
        })
        .await;
    let mut watches = 0;
    observed.tap.proxy(move |asked, request| {
        if asked.version() == Some(0) {
            *request.uri_mut() = without_version(request.uri());
        }
        watches += usize::from(asked.is_plain_watch());
        (asked.is_plain_watch() && watches == 1).then(expired)
    });
    observed.start().await;
    observed.catches_up().await;
    assert_eq!(
        observed.tap.words(),
        [
            "list any 500",
            "page 500",
            "watch last",
            "list last 500",
            "page 500",
            "watch last"
        ]
    );
}

fn without_version(uri: &Uri) -> Uri {
    let all = uri.to_string();
    all.replace("&resourceVersion=0", "")
        .parse()
        .expect("a URI as before")
}

#[tokio::test]
async fn expired_page_causes_one_full_list() {
    let server = TestServer::start().await;
    let mut observed = ObservedInformer::on(&server, |informer| informer.streaming_list(false).page_size(2));
    for name in ["a", "b", "c", "d", "e"] {
        observed.create(name).await;
    }
    let mut pages = 0;
    observed.tap.proxy(move |asked, request| {
        if asked.version() == Some(0) && asked.parameter("limit").is_some() {
            *request.uri_mut() = without_version(request.uri());
        }
        pages += usize::from(asked.parameter("continue").is_some());
        (asked.parameter("continue").is_some() && pages == 2).then(expired)
    });
    observed.start().await;
    observed.catches_up().await;
    assert_eq!(
        observed.tap.words(),
        ["list any 2", "page 2", "page 2", "list any", "watch last"]
    );
    assert!(observed.error().await.is_expired());
}
