//! Streaming lists, and the fallback where the server does not support them well.

use conformance::TestServer;

use crate::observed_informer::ObservedInformer;
use crate::tap::failure;

#[tokio::test]
async fn streaming_list_ends_at_its_bookmark_and_continues_as_the_watch() {
    let server = TestServer::start().await;
    let mut observed = ObservedInformer::on(&server, |informer| informer);
    for name in ["a", "b", "c"] {
        observed.create(name).await;
    }
    observed.start().await;
    observed.equals_server().await;
    let mut events = observed.events();
    assert_eq!(events.sorted(3).await, ["+a", "+b", "+c"]);
    observed.change("a", "2").await;
    assert_eq!(events.next().await, "~a");
    observed.catches_up().await;
    assert_eq!(
        observed.tap.words(),
        ["stream newest"],
        "one request for everything"
    );
    let all = observed.tap.all();
    for (parameter, value) in [
        ("sendInitialEvents", "true"),
        ("resourceVersionMatch", "NotOlderThan"),
        ("allowWatchBookmarks", "true"),
        ("watch", "true"),
    ] {
        assert_eq!(all[0].parameter(parameter), Some(value), "{parameter}");
    }
    assert_eq!(observed.errors(), [""; 0]);
}

#[tokio::test]
async fn later_streaming_list_is_not_older_than_the_cache() {
    let server = TestServer::start().await;
    let (proxy, observed) = ObservedInformer::behind_proxy(&server, |informer| informer).await;
    observed.create("a").await;
    observed.start().await;
    let seen = observed.change("a", "2").await;
    observed.reach(seen).await;
    observed
        .tap
        .answer([("watch last", failure(410, "Expired", "too old"))]);
    proxy.cut();
    observed.requests(3).await;
    let all = observed.tap.all();
    assert_eq!(
        observed.tap.words(),
        ["stream newest", "watch last", "stream last"]
    );
    assert_eq!(all[2].version(), Some(seen));
    observed.catches_up().await;
}

#[tokio::test]
async fn rejected_streaming_list_falls_back_to_a_list() {
    let server = TestServer::start().await;
    let mut observed = ObservedInformer::on(&server, |informer| informer);
    observed.create("a").await;
    let refusal = failure(422, "Invalid", "sendInitialEvents is forbidden for watch");
    observed.tap.answer([("stream newest", refusal)]);
    observed.start().await;
    observed.catches_up().await;
    assert_eq!(
        observed.tap.words(),
        ["stream newest", "list any 500", "watch last"]
    );
    let error = observed.error().await.to_string();
    assert!(error.contains("configmaps") && error.contains("422"), "{error}");
}
