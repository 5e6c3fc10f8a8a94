//! The response of a server to future versions, for example after a restore from a backup.

use conformance::TestServer;

const MAPS: &str = "/api/v1/namespaces/{ns}/configmaps";

/// A restored server has no events for versions after its backup.
#[tokio::test]
async fn watch_from_a_future_version_receives_no_events() {
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
async fn future_versions_are_rejected() {
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
