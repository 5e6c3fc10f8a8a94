//! Watches: where they start, what they deliver, how they end.

use conformance::{Raw, TestServer};
use serde_json::{Value, json};

const MAPS: &str = "/api/v1/namespaces/{ns}/configmaps";
const STREAM: &str = "watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan";

async fn make(raw: &Raw, name: &str, label: &str) -> u64 {
    let made = raw
        .post(
            MAPS,
            &json!({ "metadata": { "name": name, "labels": { "x": label } } }),
        )
        .await;
    assert_eq!(made.code, 201, "{:?}", made.body);
    made.version()
}

async fn relabel(raw: &Raw, name: &str, label: &str) -> u64 {
    let patch = json!({ "metadata": { "labels": { "x": label } } });
    let changed = raw.patch(&format!("{MAPS}/{name}"), "merge", &patch).await;
    assert_eq!(changed.code, 200, "{:?}", changed.body);
    changed.version()
}

#[tokio::test]
async fn watch_without_a_version_starts_with_existing_objects() {
    let raw = TestServer::start().await.raw();
    make(&raw, "a", "1").await;
    let last = relabel(&raw, "a", "2").await;
    let last = make(&raw, "b", "1").await.max(last);
    raw.get(&format!("{MAPS}?resourceVersion={last}")).await;
    for query in [
        "watch=1&timeoutSeconds=60",
        "watch=true&timeoutSeconds=60&resourceVersion=0",
    ] {
        let mut events = raw.watch(&format!("{MAPS}?{query}")).await;
        assert_eq!(events.expect().await, "ADDED a", "{query}");
        assert_eq!(events.expect().await, "ADDED b", "{query}");
    }
}

#[tokio::test]
async fn watch_from_a_version_delivers_later_changes() {
    let raw = TestServer::start().await.raw();
    let from = make(&raw, "a", "1").await;
    relabel(&raw, "a", "2").await;
    make(&raw, "b", "1").await;
    let deleted = raw.delete(&format!("{MAPS}/a"), &Value::Null).await;
    assert_eq!(deleted.body["status"], "Success");
    let mut events = raw
        .watch(&format!(
            "{MAPS}?watch=1&timeoutSeconds=60&resourceVersion={from}"
        ))
        .await;
    assert_eq!(events.expect().await, "MODIFIED a");
    let added = events.next().await.expect("an event");
    assert_eq!(
        (&added["type"], &added["object"]["kind"]),
        (&json!("ADDED"), &json!("ConfigMap"))
    );
    let gone = events.next().await.expect("an event");
    assert_eq!(gone["type"], "DELETED");
    // A deletion has its own version, and the content of the last state.
    let version: u64 = gone["object"]["metadata"]["resourceVersion"]
        .as_str()
        .and_then(|v| v.parse().ok())
        .expect("a version");
    assert!(version > from + 2);
    assert_eq!(gone["object"]["metadata"]["labels"]["x"], "2");
    make(&raw, "c", "1").await;
    assert_eq!(events.expect().await, "ADDED c");
}

#[tokio::test]
async fn watch_ends_cleanly_at_its_timeout() {
    let raw = TestServer::start().await.raw();
    let from = make(&raw, "a", "1").await;
    let mut events = raw
        .watch(&format!("{MAPS}?watch=1&timeoutSeconds=1&resourceVersion={from}"))
        .await;
    assert!(events.rest().await.is_empty());
    // A version in the future is valid.
    let mut events = raw
        .watch(&format!(
            "{MAPS}?watch=1&timeoutSeconds=1&resourceVersion=999999999"
        ))
        .await;
    assert!(events.rest().await.is_empty());
}

#[tokio::test]
async fn selector_turns_leaving_into_deletion_and_entering_into_addition() {
    let raw = TestServer::start().await.raw();
    let from = make(&raw, "a", "1").await;
    make(&raw, "other", "2").await;
    let path = format!("{MAPS}?watch=1&timeoutSeconds=60&resourceVersion={from}&labelSelector=x%3D1");
    let mut events = raw.watch(&path).await;
    let left = relabel(&raw, "a", "2").await;
    let gone = events.next().await.expect("an event");
    assert_eq!(gone["type"], "DELETED");
    // The event has the last matching state, at the version of the change that ended the match.
    assert_eq!(gone["object"]["metadata"]["labels"]["x"], "1");
    assert_eq!(gone["object"]["metadata"]["resourceVersion"], left.to_string());
    relabel(&raw, "other", "3").await;
    relabel(&raw, "a", "1").await;
    assert_eq!(events.expect().await, "ADDED a");
    raw.patch(&format!("{MAPS}/a"), "merge", &json!({ "data": { "k": "v" } }))
        .await;
    assert_eq!(events.expect().await, "MODIFIED a");
    relabel(&raw, "a", "4").await;
    assert_eq!(events.expect().await, "DELETED a");
    raw.delete(&format!("{MAPS}/a"), &Value::Null).await;
    make(&raw, "b", "1").await;
    assert_eq!(events.expect().await, "ADDED b");
}

#[tokio::test]
async fn streaming_list_ends_with_the_annotated_bookmark_and_continues() {
    let raw = TestServer::start().await.raw();
    make(&raw, "a", "1").await;
    let last = make(&raw, "b", "2").await;
    for version in ["", "&resourceVersion=0"] {
        let path = format!("{MAPS}?{STREAM}&allowWatchBookmarks=true&timeoutSeconds=60{version}");
        raw.get(&format!("{MAPS}?resourceVersion={last}")).await;
        let mut events = raw.watch(&path).await;
        assert_eq!(events.expect().await, "ADDED a");
        assert_eq!(events.expect().await, "ADDED b");
        let end = events.next().await.expect("a bookmark");
        assert_eq!(end["type"], "BOOKMARK");
        assert_eq!(end["object"]["kind"], "ConfigMap");
        assert_eq!(
            end["object"]["metadata"]["annotations"]["k8s.io/initial-events-end"],
            "true"
        );
        let at: u64 = end["object"]["metadata"]["resourceVersion"]
            .as_str()
            .and_then(|v| v.parse().ok())
            .expect("a version");
        assert!(at >= last);
        let name = format!("late{}", version.len());
        make(&raw, &name, "1").await;
        assert_eq!(events.expect_change().await, format!("ADDED {name}"));
        raw.delete(&format!("{MAPS}/{name}"), &Value::Null).await;
        assert_eq!(events.expect_change().await, format!("DELETED {name}"));
    }
    // With a selector there is a bookmark, too, even if nothing matches.
    let path = format!("{MAPS}?{STREAM}&allowWatchBookmarks=true&timeoutSeconds=60&labelSelector=x%3Dnone");
    assert_eq!(raw.watch(&path).await.expect().await, "BOOKMARK end");
    // Without `allowWatchBookmarks` there is none.
    let path = format!("{MAPS}?{STREAM}&timeoutSeconds=1");
    assert_eq!(raw.watch(&path).await.rest().await, ["ADDED a", "ADDED b"]);
    // A version ahead of the server is an error in the stream.
    let path =
        format!("{MAPS}?{STREAM}&allowWatchBookmarks=true&timeoutSeconds=60&resourceVersion=999999999");
    let error = raw.watch(&path).await.next().await.expect("an event");
    assert_eq!(
        (&error["type"], &error["object"]["code"]),
        (&json!("ERROR"), &json!(504))
    );
    assert_eq!(
        error["object"]["details"]["causes"][0]["reason"],
        "ResourceVersionTooLarge"
    );
}

#[tokio::test]
async fn conflicting_watch_options_are_rejected() {
    let raw = TestServer::start().await.raw();
    for (query, code, message) in [
        (
            "sendInitialEvents=true",
            422,
            "resourceVersionMatch: Forbidden: sendInitialEvents requires setting resourceVersionMatch to NotOlderThan",
        ),
        (
            "sendInitialEvents=true&resourceVersionMatch=Exact",
            422,
            "[resourceVersionMatch: Forbidden: sendInitialEvents requires setting resourceVersionMatch to NotOlderThan, \
             resourceVersionMatch: Unsupported value: \"Exact\": supported values: \"NotOlderThan\"]",
        ),
        (
            "resourceVersionMatch=NotOlderThan&resourceVersion=1",
            422,
            "resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided",
        ),
        (
            "continue=abc",
            422,
            "resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden when continue is provided",
        ),
    ] {
        let answer = raw.get(&format!("{MAPS}?watch=1&timeoutSeconds=1&{query}")).await;
        let message = format!("ListOptions.meta.k8s.io \"\" is invalid: {message}");
        assert_eq!(
            (answer.code, answer.message()),
            (code, message.as_str()),
            "{query}"
        );
    }
    let answer = raw
        .get(&format!("{MAPS}?watch=1&timeoutSeconds=1&resourceVersion=abc"))
        .await;
    assert_eq!(answer.code, 500, "{}", answer.body);
}

#[tokio::test]
async fn watch_from_compacted_history_receives_410_in_the_stream() {
    let server = TestServer::alone().await;
    let raw = server.raw();
    let from = make(&raw, "a", "1").await;
    make(&raw, "b", "1").await;
    server.forget_history().await;
    let mut events = raw
        .watch(&format!(
            "{MAPS}?watch=1&timeoutSeconds=60&resourceVersion={from}"
        ))
        .await;
    let error = events.next().await.expect("an event");
    assert_eq!(
        (&error["type"], &error["object"]["code"]),
        (&json!("ERROR"), &json!(410))
    );
    assert_eq!(error["object"]["reason"], "Expired");
    let message = error["object"]["message"].as_str().unwrap_or_default();
    assert!(message.starts_with("too old resource version: "), "{message}");
    assert_eq!(events.next().await, None);
}

#[tokio::test]
async fn single_object_is_watched_by_its_name() {
    let raw = TestServer::start().await.raw();
    let from = make(&raw, "a", "1").await;
    make(&raw, "b", "1").await;
    let path =
        format!("{MAPS}?watch=1&timeoutSeconds=60&resourceVersion={from}&fieldSelector=metadata.name%3Da");
    let mut events = raw.watch(&path).await;
    relabel(&raw, "b", "2").await;
    relabel(&raw, "a", "2").await;
    assert_eq!(events.expect().await, "MODIFIED a");
}
