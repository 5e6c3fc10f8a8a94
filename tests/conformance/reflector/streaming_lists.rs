//! Streaming lists, and the fallback where the server does not support them well.

use conformance::TestServer;

use crate::scene::Scene;
use crate::tap::failure;

#[tokio::test]
async fn streaming_list_ends_at_its_bookmark_and_continues_as_the_watch() {
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
async fn later_streaming_list_is_not_older_than_the_cache() {
    let server = TestServer::start().await;
    let (proxy, scene) = Scene::proxied(&server, |informer| informer).await;
    scene.make("a").await;
    scene.start().await;
    let seen = scene.change("a", "2").await;
    scene.reach(seen).await;
    scene
        .tap
        .answer([("watch last", failure(410, "Expired", "too old"))]);
    proxy.cut();
    scene.requests(3).await;
    let all = scene.tap.all();
    assert_eq!(scene.tap.words(), ["stream newest", "watch last", "stream last"]);
    assert_eq!(all[2].version(), Some(seen));
    scene.catches_up().await;
}

#[tokio::test]
async fn rejected_streaming_list_falls_back_to_a_list() {
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
