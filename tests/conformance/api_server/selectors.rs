//! Label and field selectors.

use conformance::TestServer;
use serde_json::json;

const PODS: &str = "/api/v1/namespaces/{ns}/pods";

#[tokio::test]
async fn label_selectors_support_the_whole_grammar() {
    let raw = TestServer::start().await.raw();
    for (name, labels) in [
        ("a", json!({ "app": "web", "gen": "1" })),
        ("b", json!({ "app": "web", "gen": "5", "old": "" })),
        ("c", json!({ "app": "db" })),
        ("d", json!({})),
    ] {
        let made = raw
            .post(
                "/api/v1/namespaces/{ns}/configmaps",
                &json!({ "metadata": { "name": name, "labels": labels } }),
            )
            .await;
        assert_eq!(made.code, 201);
    }
    for (selector, names) in [
        ("app", &["a", "b", "c"][..]),
        ("!app", &["d"]),
        ("app=web", &["a", "b"]),
        ("app==web,gen=1", &["a"]),
        ("app!=web", &["c", "d"]),
        ("app in (web, db)", &["a", "b", "c"]),
        ("app notin (web)", &["c", "d"]),
        ("app,app notin (web)", &["c"]),
        ("gen>2", &["b"]),
        ("gen<2", &["a"]),
        ("old=", &["b"]),
        ("!old,app", &["a", "c"]),
    ] {
        let query = selector
            .replace(' ', "+")
            .replace('=', "%3D")
            .replace('>', "%3E")
            .replace('<', "%3C")
            .replace('!', "%21");
        let answer = raw
            .get(&format!(
                "/api/v1/namespaces/{{ns}}/configmaps?labelSelector={query}"
            ))
            .await;
        assert_eq!(answer.names(), names, "{selector}");
    }
}

#[tokio::test]
async fn field_selectors_are_those_of_the_kind() {
    let raw = TestServer::start().await.raw();
    for (name, node) in [("a", "n1"), ("b", "n2"), ("c", "")] {
        let mut pod = json!({ "metadata": { "name": name }, "spec": { "containers": [{ "name": "x", "image": "y" }] } });
        if !node.is_empty() {
            pod["spec"]["nodeName"] = node.into();
        }
        let made = raw.post(PODS, &pod).await;
        assert_eq!(made.code, 201, "{}", made.body);
    }
    for (selector, names) in [
        ("spec.nodeName%3Dn1", &["a"][..]),
        ("spec.nodeName%3D", &["c"]),
        ("spec.nodeName!%3D", &["a", "b"]),
        ("status.phase%3DPending,metadata.name!%3Db", &["a", "c"]),
        ("spec.restartPolicy%3DAlways", &["a", "b", "c"]),
        ("spec.hostNetwork%3Dtrue", &[]),
    ] {
        let answer = raw.get(&format!("{PODS}?fieldSelector={selector}")).await;
        assert_eq!(answer.names(), names, "{selector}: {}", answer.body);
    }
    let unknown = raw.get(&format!("{PODS}?fieldSelector=spec.foo%3D1")).await;
    assert_eq!(
        (unknown.code, unknown.message()),
        (400, "field label not supported: spec.foo")
    );
    let other = raw
        .get("/api/v1/namespaces?fieldSelector=status.phase%3DActive")
        .await;
    assert!(other.names().contains(&"default"));
    let secret = json!({ "metadata": { "name": "s" }, "type": "example.com/t", "stringData": { "a": "b" } });
    assert_eq!(
        raw.post("/api/v1/namespaces/{ns}/secrets", &secret).await.code,
        201
    );
    let found = raw
        .get("/api/v1/namespaces/{ns}/secrets?fieldSelector=type%3Dexample.com/t")
        .await;
    assert_eq!(found.names(), ["s"]);
    assert_eq!(found.body["items"][0]["data"]["a"], "Yg==");
}
