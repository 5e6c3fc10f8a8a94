//! Lists: pagination and resource versions.

use conformance::{Raw, TestServer};
use serde_json::json;

const MAPS: &str = "/api/v1/namespaces/{ns}/configmaps";

async fn make(raw: &Raw, names: &[&str]) -> Vec<u64> {
    let mut versions = Vec::new();
    for name in names {
        let made = raw.post(MAPS, &json!({ "metadata": { "name": name } })).await;
        assert_eq!(made.code, 201, "{:?}", made.body);
        versions.push(made.version());
    }
    versions
}

#[tokio::test]
async fn paginated_list_stays_at_the_version_of_its_first_page() {
    let raw = TestServer::start().await.raw();
    make(&raw, &["a", "b", "c", "d", "e"]).await;
    let first = raw.get(&format!("{MAPS}?limit=2")).await;
    assert_eq!(first.names(), ["a", "b"]);
    assert_eq!(first.body["metadata"]["remainingItemCount"], 3);
    make(&raw, &["bb", "f"]).await;
    raw.delete(&format!("{MAPS}/d"), &json!(null)).await;

    let token = first.body["metadata"]["continue"]
        .as_str()
        .expect("a continue token");
    let second = raw.get(&format!("{MAPS}?limit=2&continue={token}")).await;
    assert_eq!(second.names(), ["c", "d"]);
    assert_eq!(second.version(), first.version());
    assert_eq!(second.body["metadata"]["remainingItemCount"], 1);
    let token = second.body["metadata"]["continue"]
        .as_str()
        .expect("a continue token");
    let third = raw.get(&format!("{MAPS}?limit=2&continue={token}")).await;
    assert_eq!(third.names(), ["e"]);
    assert_eq!(third.version(), first.version());
    assert!(third.body["metadata"].get("continue").is_none());
    assert!(third.body["metadata"].get("remainingItemCount").is_none());

    let wrong = raw
        .get(&format!("{MAPS}?limit=2&continue={token}&resourceVersion=1"))
        .await;
    assert_eq!(
        (wrong.code, wrong.body["reason"].as_str()),
        (400, Some("BadRequest")),
        "{}",
        wrong.body
    );
}

#[tokio::test]
async fn selector_hides_the_remaining_item_count() {
    let raw = TestServer::start().await.raw();
    for name in ["a", "b", "c"] {
        raw.post(
            MAPS,
            &json!({ "metadata": { "name": name, "labels": { "x": "1" } } }),
        )
        .await;
    }
    let page = raw.get(&format!("{MAPS}?limit=1&labelSelector=x%3D1")).await;
    assert_eq!(page.names(), ["a"]);
    assert!(page.body["metadata"].get("continue").is_some());
    assert!(page.body["metadata"].get("remainingItemCount").is_none());
}

#[tokio::test]
async fn exact_version_returns_the_objects_of_that_version() {
    let raw = TestServer::start().await.raw();
    let versions = make(&raw, &["a", "b", "c"]).await;
    raw.delete(&format!("{MAPS}/a"), &json!(null)).await;
    let at = |query: String| {
        let raw = raw.clone();
        async move { raw.get(&format!("{MAPS}?{query}")).await }
    };
    let then = at(format!(
        "resourceVersion={}&resourceVersionMatch=Exact",
        versions[1]
    ))
    .await;
    assert_eq!((then.names(), then.version()), (vec!["a", "b"], versions[1]));
    // A version with a limit and no match is exact, too.
    let then = at(format!("resourceVersion={}&limit=1", versions[1])).await;
    assert_eq!((then.names(), then.version()), (vec!["a"], versions[1]));
    // Without a limit it is a lower bound.
    let now = at(format!("resourceVersion={}", versions[1])).await;
    assert_eq!(now.names(), ["b", "c"]);
    assert!(now.version() > versions[2]);
    let now = at(format!(
        "resourceVersion={}&resourceVersionMatch=NotOlderThan&limit=1",
        versions[1]
    ))
    .await;
    assert_eq!(now.names(), ["b"]);
    assert!(now.version() > versions[2]);
}

#[tokio::test]
async fn version_zero_ignores_the_limit() {
    let raw = TestServer::start().await.raw();
    let versions = make(&raw, &["a", "b", "c"]).await;
    // Version 0 may be stale on a real server: wait until the last write is visible.
    raw.get(&format!("{MAPS}?resourceVersion={}", versions[2])).await;
    let all = raw.get(&format!("{MAPS}?resourceVersion=0&limit=1")).await;
    assert_eq!(all.names(), ["a", "b", "c"]);
    assert!(all.body["metadata"].get("continue").is_none());
}

#[tokio::test]
async fn future_version_is_a_timeout_with_its_cause() {
    let raw = TestServer::start().await.raw();
    for query in [
        "resourceVersion=999999999",
        "resourceVersion=999999999&resourceVersionMatch=Exact",
    ] {
        let answer = raw.get(&format!("{MAPS}?{query}")).await;
        assert_eq!(answer.code, 504, "{query}: {}", answer.body);
        assert_eq!(answer.body["reason"], "Timeout");
        assert!(
            answer
                .message()
                .starts_with("Timeout: Too large resource version: 999999999, current: ")
        );
        let cause = &answer.body["details"]["causes"][0];
        assert_eq!(cause["reason"], "ResourceVersionTooLarge");
        assert_eq!(answer.body["details"]["retryAfterSeconds"], 1);
    }
    make(&raw, &["a"]).await;
    let answer = raw.get(&format!("{MAPS}/a?resourceVersion=999999999")).await;
    assert_eq!(answer.code, 504, "{}", answer.body);
}

#[tokio::test]
async fn conflicting_list_options_are_rejected() {
    let raw = TestServer::start().await.raw();
    let forbidden = |why: &str| format!("ListOptions.meta.k8s.io \"\" is invalid: {why}");
    for (query, code, message) in [
        (
            "resourceVersion=0&resourceVersionMatch=Exact",
            422,
            forbidden("resourceVersionMatch: Forbidden: resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\""),
        ),
        (
            "resourceVersionMatch=Exact",
            422,
            forbidden("resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden unless resourceVersion is provided"),
        ),
        (
            "resourceVersion=10&resourceVersionMatch=Foo",
            422,
            forbidden("resourceVersionMatch: Unsupported value: \"Foo\": supported values: \"Exact\", \"NotOlderThan\", \"\""),
        ),
        (
            "sendInitialEvents=true",
            422,
            forbidden("sendInitialEvents: Forbidden: sendInitialEvents is forbidden for list"),
        ),
        (
            "resourceVersion=abc",
            400,
            "invalid resource version: resourceVersion: Invalid value: \"abc\": strconv.ParseUint: parsing \"abc\": \
             invalid syntax"
                .to_owned(),
        ),
        ("limit=abc", 400, "strconv.ParseInt: parsing \"abc\": invalid syntax".to_owned()),
        ("timeoutSeconds=abc", 400, "strconv.ParseInt: parsing \"abc\": invalid syntax".to_owned()),
        ("labelSelector=x+in", 400, "unable to parse requirement: found '' expected: '('".to_owned()),
        (
            "fieldSelector=spec.foo%3D1",
            400,
            "\"spec.foo\" is not a known field selector: only \"metadata.name\", \"metadata.namespace\"".to_owned(),
        ),
    ] {
        let answer = raw.get(&format!("{MAPS}?{query}")).await;
        assert_eq!((answer.code, answer.message()), (code, message.as_str()), "{query}");
        assert_eq!(answer.body["kind"], "Status");
    }
    let broken = raw.get(&format!("{MAPS}?continue=abc")).await;
    assert_eq!(broken.code, 400);
    assert!(
        broken
            .message()
            .starts_with("invalid continue token: continue key is not valid: "),
        "{}",
        broken.message()
    );
}

#[tokio::test]
async fn compacted_history_expires_versions_and_pages() {
    let server = TestServer::alone().await;
    let raw = server.raw();
    let versions = make(&raw, &["a", "b", "c"]).await;
    let first = raw.get(&format!("{MAPS}?limit=1")).await;
    let token = first.body["metadata"]["continue"]
        .as_str()
        .expect("a continue token")
        .to_owned();
    make(&raw, &["d"]).await;
    server.forget_history().await;

    let then = raw
        .get(&format!(
            "{MAPS}?resourceVersion={}&resourceVersionMatch=Exact",
            versions[0]
        ))
        .await;
    assert_eq!(
        (then.code, then.body["reason"].as_str()),
        (410, Some("Expired")),
        "{}",
        then.body
    );
    let next = raw.get(&format!("{MAPS}?limit=1&continue={token}")).await;
    assert_eq!(
        (next.code, next.body["reason"].as_str()),
        (410, Some("Expired")),
        "{}",
        next.body
    );
    assert!(
        next.message()
            .starts_with("The provided continue parameter is too old"),
        "{}",
        next.message()
    );
    // The response contains a token that continues at the current version.
    let token = next.body["metadata"]["continue"]
        .as_str()
        .expect("an inconsistent token");
    let rest = raw.get(&format!("{MAPS}?limit=5&continue={token}")).await;
    assert_eq!(rest.names(), ["b", "c", "d"]);
    assert!(rest.version() > versions[2]);
}

#[tokio::test]
async fn all_namespaces_are_listed_in_key_order() {
    let server = TestServer::start().await;
    let raw = server.raw();
    make(&raw, &["a", "b"]).await;
    let all = raw.get("/api/v1/configmaps").await;
    let keys: Vec<String> = all.body["items"]
        .as_array()
        .expect("items")
        .iter()
        .map(|i| {
            format!(
                "{}/{}",
                i["metadata"]["namespace"].as_str().unwrap_or(""),
                i["metadata"]["name"].as_str().unwrap_or("")
            )
        })
        .collect();
    let mut sorted = keys.clone();
    sorted.sort();
    assert_eq!(keys, sorted);
    assert!(keys.contains(&format!("{}/a", server.namespace)));
    // Items of a built-in kind omit `kind` and `apiVersion`.
    assert_eq!(all.body["kind"], "ConfigMapList");
    assert!(all.body["items"][0].get("kind").is_none());
    let nowhere = raw.get("/api/v1/namespaces/no-such-namespace/configmaps").await;
    assert_eq!((nowhere.code, nowhere.names().len()), (200, 0));
}
