//! Deletion: finalizers, preconditions, grace periods and garbage collection.

use conformance::{Raw, TestServer};
use serde_json::{Value, json};

const MAPS: &str = "/api/v1/namespaces/{ns}/configmaps";

async fn make(raw: &Raw, name: &str, metadata: Value) -> Value {
    let mut object = json!({ "metadata": metadata });
    object["metadata"]["name"] = name.into();
    let made = raw.post(MAPS, &object).await;
    assert_eq!(made.code, 201, "{}", made.body);
    made.body
}

#[tokio::test]
async fn finalizers_delay_deletion() {
    let raw = TestServer::start().await.raw();
    make(&raw, "a", json!({ "finalizers": ["example.com/x"] })).await;
    let path = format!("{MAPS}/a");
    let marked = raw.delete(&path, &Value::Null).await;
    assert_eq!(marked.code, 200);
    assert!(marked.body["metadata"]["deletionTimestamp"].is_string());
    assert_eq!(marked.body["metadata"]["deletionGracePeriodSeconds"], 0);
    let again = raw.delete(&path, &Value::Null).await;
    assert_eq!(again.version(), marked.version());
    let more = json!({ "metadata": { "finalizers": ["example.com/x", "example.com/y"] } });
    let refused = raw.patch(&path, "merge", &more).await;
    assert_eq!(refused.code, 422);
    assert!(
        refused
            .message()
            .contains("no new finalizers can be added if the object is being deleted"),
        "{}",
        refused.message()
    );
    let mut events = raw
        .watch(&format!(
            "{MAPS}?watch=1&timeoutSeconds=60&resourceVersion={}",
            marked.version()
        ))
        .await;
    let freed = raw
        .patch(&path, "merge", &json!({ "metadata": { "finalizers": null } }))
        .await;
    assert_eq!((freed.code, freed.version()), (200, marked.version()));
    let gone = events.next().await.expect("an event");
    assert_eq!(gone["type"], "DELETED");
    assert_eq!(raw.get(&path).await.code, 404);
}

#[tokio::test]
async fn deletion_preconditions_are_checked() {
    let raw = TestServer::start().await.raw();
    let made = make(&raw, "a", json!({})).await;
    let path = format!("{MAPS}/a");
    let wrong = raw
        .delete(&path, &json!({ "preconditions": { "uid": "123" } }))
        .await;
    assert_eq!(
        (wrong.code, wrong.body["reason"].as_str()),
        (409, Some("Conflict"))
    );
    assert!(
        wrong.message().starts_with(
            "Operation cannot be fulfilled on ConfigMap \"a\": the UID in the precondition (123)"
        ),
        "{}",
        wrong.message()
    );
    let wrong = raw
        .delete(&path, &json!({ "preconditions": { "resourceVersion": "1" } }))
        .await;
    assert_eq!(wrong.code, 409);
    let right = json!({ "preconditions": { "uid": made["metadata"]["uid"], "resourceVersion": made["metadata"]["resourceVersion"] } });
    let gone = raw.delete(&path, &right).await;
    assert_eq!(gone.code, 200);
    assert_eq!(gone.body["status"], "Success");
    assert_eq!(
        gone.body["details"],
        json!({ "name": "a", "kind": "configmaps", "uid": made["metadata"]["uid"] })
    );
}

#[tokio::test]
async fn collection_is_deleted_by_selector() {
    let raw = TestServer::start().await.raw();
    make(&raw, "a", json!({ "labels": { "x": "1" } })).await;
    make(&raw, "b", json!({ "labels": { "x": "2" } })).await;
    make(&raw, "c", json!({ "labels": { "x": "1" } })).await;
    let answer = raw
        .delete(&format!("{MAPS}?labelSelector=x%3D1"), &Value::Null)
        .await;
    assert_eq!(
        (answer.code, answer.body["kind"].as_str()),
        (200, Some("ConfigMapList"))
    );
    assert_eq!(answer.names(), ["a", "c"]);
    assert_eq!(raw.get(&format!("{MAPS}?labelSelector=x")).await.names(), ["b"]);
}

#[tokio::test]
async fn running_pod_has_its_grace_period() {
    let raw = TestServer::start().await.raw();
    let pods = "/api/v1/namespaces/{ns}/pods";
    for (name, node) in [("running", "n"), ("waiting", "")] {
        let pod = json!({ "metadata": { "name": name }, "spec": { "nodeName": node, "containers": [{ "name": "c", "image": "i" }] } });
        assert_eq!(raw.post(pods, &pod).await.code, 201);
    }
    let marked = raw.delete(&format!("{pods}/running"), &Value::Null).await;
    assert_eq!(marked.body["metadata"]["deletionGracePeriodSeconds"], 30);
    assert_eq!(raw.get(&format!("{pods}/running")).await.code, 200);
    assert_eq!(
        raw.delete(&format!("{pods}/running"), &json!({ "gracePeriodSeconds": 0 }))
            .await
            .code,
        200
    );
    assert_eq!(raw.get(&format!("{pods}/running")).await.code, 404);
    let gone = raw.delete(&format!("{pods}/waiting"), &Value::Null).await;
    assert_eq!(gone.body["kind"], "Pod");
    assert_eq!(raw.get(&format!("{pods}/waiting")).await.code, 404);
}

/// Waits until an object is deleted, with a watch.
async fn wait_gone(raw: &Raw, collection: &str, name: &str) {
    let list = raw
        .get(&format!("{collection}?fieldSelector=metadata.name%3D{name}"))
        .await;
    if list.names().is_empty() {
        return;
    }
    let path = format!(
        "{collection}?watch=1&timeoutSeconds=60&fieldSelector=metadata.name%3D{name}&resourceVersion={}",
        list.version()
    );
    let mut events = raw.watch(&path).await;
    while let Some(event) = events.next().await {
        if event["type"] == "DELETED" {
            return;
        }
    }
    panic!("{name} still exists");
}

fn owned_by(owner: &Value, blocking: bool) -> Value {
    json!({ "ownerReferences": [{
        "apiVersion": "v1", "kind": "ConfigMap", "name": owner["metadata"]["name"], "uid": owner["metadata"]["uid"],
        "blockOwnerDeletion": blocking,
    }] })
}

#[tokio::test]
async fn dependents_are_deleted_with_their_owner() {
    let server = TestServer::start().await;
    server.require_controllers();
    let raw = server.raw();
    let owner = make(&raw, "owner", json!({})).await;
    let child = make(&raw, "child", owned_by(&owner, false)).await;
    make(&raw, "grandchild", owned_by(&child, false)).await;
    make(&raw, "bystander", json!({})).await;
    raw.delete(
        &format!("{MAPS}/owner"),
        &json!({ "propagationPolicy": "Background" }),
    )
    .await;
    assert_eq!(raw.get(&format!("{MAPS}/owner")).await.code, 404);
    wait_gone(&raw, MAPS, "child").await;
    wait_gone(&raw, MAPS, "grandchild").await;
    assert_eq!(raw.get(&format!("{MAPS}/bystander")).await.code, 200);
}

#[tokio::test]
async fn foreground_deletion_deletes_dependents_first() {
    let server = TestServer::start().await;
    server.require_controllers();
    let raw = server.raw();
    let owner = make(&raw, "owner", json!({})).await;
    let mut held = owned_by(&owner, true);
    held["finalizers"] = json!(["example.com/hold"]);
    make(&raw, "child", held).await;
    let marked = raw
        .delete(
            &format!("{MAPS}/owner"),
            &json!({ "propagationPolicy": "Foreground" }),
        )
        .await;
    assert_eq!(
        marked.body["metadata"]["finalizers"],
        json!(["foregroundDeletion"])
    );
    // The child is terminating but has a finalizer, so the owner waits.
    let path = format!(
        "{MAPS}?watch=1&timeoutSeconds=60&resourceVersion={}&fieldSelector=metadata.name%3Dchild",
        marked.version()
    );
    let mut events = raw.watch(&path).await;
    let event = events.next().await.expect("an event");
    assert!(
        event["object"]["metadata"]["deletionTimestamp"].is_string(),
        "{event}"
    );
    assert_eq!(raw.get(&format!("{MAPS}/owner")).await.code, 200);
    raw.patch(
        &format!("{MAPS}/child"),
        "json",
        &json!([{ "op": "remove", "path": "/metadata/finalizers/0" }]),
    )
    .await;
    wait_gone(&raw, MAPS, "child").await;
    wait_gone(&raw, MAPS, "owner").await;
}

#[tokio::test]
async fn circle_of_owners_is_deleted_in_the_foreground() {
    let server = TestServer::start().await;
    server.require_controllers();
    let raw = server.raw();
    let mut objects = Vec::new();
    for name in ["a", "b", "c"] {
        objects.push(make(&raw, name, json!({})).await);
    }
    for (name, owner) in [("a", &objects[2]), ("b", &objects[0]), ("c", &objects[1])] {
        let owned = raw
            .patch(
                &format!("{MAPS}/{name}"),
                "merge",
                &json!({ "metadata": owned_by(owner, true) }),
            )
            .await;
        assert_eq!(owned.code, 200, "{}", owned.body);
    }
    raw.delete(
        &format!("{MAPS}/a"),
        &json!({ "propagationPolicy": "Foreground" }),
    )
    .await;
    for name in ["a", "b", "c"] {
        wait_gone(&raw, MAPS, name).await;
    }
}

#[tokio::test]
async fn orphaned_dependents_remain() {
    let server = TestServer::start().await;
    server.require_controllers();
    let raw = server.raw();
    let owner = make(&raw, "owner", json!({})).await;
    let child = make(&raw, "child", owned_by(&owner, false)).await;
    raw.delete(
        &format!("{MAPS}/owner"),
        &json!({ "propagationPolicy": "Orphan" }),
    )
    .await;
    wait_gone(&raw, MAPS, "owner").await;
    let left = raw.get(&format!("{MAPS}/child")).await.body;
    assert_eq!(left["metadata"]["uid"], child["metadata"]["uid"]);
    assert_eq!(left["metadata"].get("ownerReferences"), None);
}

#[tokio::test]
async fn namespace_deletion_deletes_its_objects() {
    let server = TestServer::start().await;
    server.require_controllers();
    let raw = server.raw();
    make(&raw, "plain", json!({})).await;
    make(&raw, "held", json!({ "finalizers": ["example.com/hold"] })).await;
    let marked = raw.delete("/api/v1/namespaces/{ns}", &Value::Null).await;
    assert_eq!(marked.body["status"]["phase"], "Terminating", "{}", marked.body);
    let refused = raw.post(MAPS, &json!({ "metadata": { "name": "late" } })).await;
    assert_eq!(
        (refused.code, refused.body["reason"].as_str()),
        (403, Some("Forbidden"))
    );
    assert_eq!(
        refused.body["details"]["causes"][0]["reason"],
        "NamespaceTerminating"
    );
    wait_gone(&raw, MAPS, "plain").await;
    assert_eq!(raw.get("/api/v1/namespaces/{ns}").await.code, 200);
    raw.patch(
        &format!("{MAPS}/held"),
        "merge",
        &json!({ "metadata": { "finalizers": null } }),
    )
    .await;
    wait_gone(&raw, "/api/v1/namespaces", &server.namespace).await;
}
