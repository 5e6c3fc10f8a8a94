//! G2. The cache never goes back in time by itself, and says so when the server does.

use mission::TestServer;

const MAPS: &str = "/api/v1/namespaces/{ns}/configmaps";

/// A server that was restored knows nothing of the versions after its backup, and has nothing to say about them.
#[tokio::test]
async fn g2_a_watch_from_the_future_is_answered_with_silence() {
    let raw = TestServer::start().await.raw();
    let now = raw.get(MAPS).await.version();
    let query = format!(
        "watch=1&allowWatchBookmarks=true&timeoutSeconds=3&resourceVersion={}",
        now + 100_000
    );
    let mut events = raw.watch(&format!("{MAPS}?{query}")).await;
    assert_eq!(events.rest().await, [""; 0]);
}

#[tokio::test]
async fn g2_objects_of_the_future_are_refused() {
    let raw = TestServer::start().await.raw();
    let future = raw.get(MAPS).await.version() + 100_000;
    let listed = raw.get(&format!("{MAPS}?resourceVersion={future}")).await;
    assert_eq!(listed.code, 504, "{:?}", listed.body);
    let query = format!(
        "watch=1&allowWatchBookmarks=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&resourceVersion={future}"
    );
    let mut events = raw.watch(&format!("{MAPS}?{query}")).await;
    assert_eq!(events.expect().await, "ERROR 504");
}
