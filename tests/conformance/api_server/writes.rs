//! Writes: validation, defaults, error messages, patches.

use conformance::{Raw, TestServer};
use serde_json::{Value, json};

const MAPS: &str = "/api/v1/namespaces/{ns}/configmaps";

#[tokio::test]
async fn created_object_gets_fields_set_by_the_server() {
    let server = TestServer::start().await;
    let raw = server.raw();
    let made = raw
        .post(
            MAPS,
            &json!({ "metadata": { "generateName": "x-" }, "data": { "k": "v" } }),
        )
        .await;
    assert_eq!(made.code, 201);
    let metadata = &made.body["metadata"];
    let name = metadata["name"].as_str().expect("a name");
    assert!(name.starts_with("x-") && name.len() == 7, "{name}");
    assert_eq!(metadata["namespace"], server.namespace.as_str());
    assert_eq!(metadata["uid"].as_str().map(str::len), Some(36));
    assert!(
        metadata["creationTimestamp"]
            .as_str()
            .is_some_and(|t| t.ends_with('Z'))
    );
    assert_eq!(made.body["kind"], "ConfigMap");
    let read = raw.get(&format!("{MAPS}/{name}")).await;
    assert_eq!(read.body, made.body);
}

#[tokio::test]
#[expect(clippy::too_many_lines, reason = "one table of failures")]
async fn failures_have_the_messages_of_kubernetes() {
    let raw = TestServer::start().await.raw();
    let made = raw.post(MAPS, &json!({ "metadata": { "name": "a" } })).await;
    assert_eq!(made.code, 201);
    let a = format!("{MAPS}/a");
    let maps = MAPS.to_owned();
    let missing = format!("{MAPS}/zz");
    for (method, path, body, code, reason, message) in [
        (
            "POST",
            &maps,
            json!({ "metadata": { "name": "a" } }),
            409,
            "AlreadyExists",
            "configmaps \"a\" already exists",
        ),
        (
            "POST",
            &maps,
            json!({ "metadata": {} }),
            422,
            "Invalid",
            "ConfigMap \"\" is invalid: metadata.name: Required value: name or generateName is required",
        ),
        (
            "POST",
            &maps,
            json!({ "metadata": { "name": "x", "namespace": "other" } }),
            400,
            "BadRequest",
            "the namespace of the provided object does not match the namespace sent on the request",
        ),
        (
            "POST",
            &maps,
            json!({ "metadata": { "name": "x", "resourceVersion": "5" } }),
            500,
            "",
            "resourceVersion should not be set on objects to be created",
        ),
        (
            "POST",
            &maps,
            json!({ "kind": "ConfigMap", "apiVersion": "v2", "metadata": { "name": "x" } }),
            400,
            "BadRequest",
            "ConfigMap in version \"v2\" cannot be handled as a ConfigMap: no kind \"ConfigMap\" is registered for version \"v2\" in scheme \"pkg/runtime/scheme.go:111\"",
        ),
        (
            "POST",
            &maps,
            json!({ "kind": "Pod", "apiVersion": "v1", "metadata": { "name": "x" } }),
            400,
            "BadRequest",
            "Pod in version \"v1\" cannot be handled as a ConfigMap: converting (v1.Pod) to (core.ConfigMap): unknown conversion",
        ),
        (
            "POST",
            &"/api/v1/namespaces/nope/configmaps".to_owned(),
            json!({ "metadata": { "name": "x" } }),
            404,
            "NotFound",
            "namespaces \"nope\" not found",
        ),
        (
            "PUT",
            &a,
            json!({ "metadata": { "name": "b" } }),
            400,
            "BadRequest",
            "the name of the object (b) does not match the name on the URL (a)",
        ),
        (
            "PUT",
            &a,
            json!({ "data": {} }),
            400,
            "BadRequest",
            "the name of the object (a based on URL) was undeterminable: name must be provided",
        ),
        (
            "PUT",
            &a,
            json!({ "metadata": { "name": "a", "resourceVersion": "5" } }),
            409,
            "Conflict",
            "Operation cannot be fulfilled on configmaps \"a\": the object has been modified; please apply your changes to the latest version and try again",
        ),
        (
            "PUT",
            &missing,
            json!({ "metadata": { "name": "zz" } }),
            404,
            "NotFound",
            "configmaps \"zz\" not found",
        ),
        (
            "PUT",
            &maps,
            json!({}),
            405,
            "MethodNotAllowed",
            "the server does not allow this method on the requested resource",
        ),
        (
            "GET",
            &missing,
            json!(null),
            404,
            "NotFound",
            "configmaps \"zz\" not found",
        ),
        (
            "GET",
            &"/api/v1/foos".to_owned(),
            json!(null),
            404,
            "NotFound",
            "the server could not find the requested resource",
        ),
        (
            "DELETE",
            &missing,
            json!(null),
            404,
            "NotFound",
            "configmaps \"zz\" not found",
        ),
        (
            "POST",
            &format!("{MAPS}?dryRun=Foo"),
            json!({ "metadata": { "name": "x" } }),
            422,
            "Invalid",
            "CreateOptions.meta.k8s.io \"\" is invalid: dryRun: Unsupported value: [\"Foo\"]: supported values: \"All\"",
        ),
        (
            "POST",
            &format!("{MAPS}?fieldValidation=Strict"),
            json!({ "metadata": { "name": "x" }, "foo": 1 }),
            400,
            "BadRequest",
            "ConfigMap in version \"v1\" cannot be handled as a ConfigMap: strict decoding error: unknown field \"foo\"",
        ),
        (
            "POST",
            &maps,
            json!({ "metadata": { "name": "x" }, "data": 5 }),
            400,
            "BadRequest",
            "ConfigMap in version \"v1\" cannot be handled as a ConfigMap: json: cannot unmarshal number into Go struct field ConfigMap.data of type map[string]string",
        ),
        (
            "POST",
            &maps,
            json!({ "metadata": { "name": "Bad_Name" } }),
            422,
            "Invalid",
            "ConfigMap \"Bad_Name\" is invalid: metadata.name: Invalid value: \"Bad_Name\": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
        ),
    ] {
        let answer = match method {
            "POST" => raw.post(path, &body).await,
            "PUT" => raw.put(path, &body).await,
            "DELETE" => raw.delete(path, &body).await,
            _ => raw.get(path).await,
        };
        let about = format!("{method} {path} {body}");
        assert_eq!((answer.code, answer.message()), (code, message), "{about}");
        assert_eq!(
            answer.body["reason"].as_str().unwrap_or_default(),
            reason,
            "{about}"
        );
        assert_eq!(answer.body["code"], code, "{about}");
    }
    // None of the above was written.
    assert_eq!(
        raw.get(MAPS)
            .await
            .names()
            .iter()
            .filter(|n| **n != "kube-root-ca.crt")
            .count(),
        1
    );
}

#[tokio::test]
async fn unchanged_write_is_a_no_op() {
    let raw = TestServer::start().await.raw();
    let made = raw
        .post(
            MAPS,
            &json!({ "metadata": { "name": "a" }, "data": { "k": "v" } }),
        )
        .await;
    let again = raw.put(&format!("{MAPS}/a"), &made.body).await;
    assert_eq!(
        again.body["metadata"]["resourceVersion"],
        made.body["metadata"]["resourceVersion"]
    );
    let patched = raw
        .patch(&format!("{MAPS}/a"), "merge", &json!({ "data": { "k": "v" } }))
        .await;
    assert_eq!(patched.version(), made.version());
    let changed = raw
        .patch(&format!("{MAPS}/a"), "merge", &json!({ "data": { "k": "w" } }))
        .await;
    assert!(changed.version() > made.version());
    let stale = raw.put(&format!("{MAPS}/a"), &made.body).await;
    assert_eq!(
        (stale.code, stale.body["reason"].as_str()),
        (409, Some("Conflict"))
    );
}

#[tokio::test]
async fn dry_run_writes_nothing() {
    let raw = TestServer::start().await.raw();
    let made = raw
        .post(
            &format!("{MAPS}?dryRun=All"),
            &json!({ "metadata": { "name": "a" } }),
        )
        .await;
    assert_eq!(made.code, 201);
    assert_eq!(raw.get(&format!("{MAPS}/a")).await.code, 404);
    raw.post(MAPS, &json!({ "metadata": { "name": "a" } })).await;
    raw.patch(
        &format!("{MAPS}/a?dryRun=All"),
        "merge",
        &json!({ "data": { "k": "v" } }),
    )
    .await;
    raw.delete(&format!("{MAPS}/a?dryRun=All"), &Value::Null).await;
    let read = raw.get(&format!("{MAPS}/a")).await;
    assert_eq!((read.code, read.body.get("data")), (200, None));
}

async fn deployment(raw: &Raw) -> Value {
    let made = raw
        .post(
            "/apis/apps/v1/namespaces/{ns}/deployments",
            &json!({
                "metadata": { "name": "d" },
                "spec": {
                    "selector": { "matchLabels": { "app": "d" } },
                    "template": {
                        "metadata": { "labels": { "app": "d" } },
                        "spec": { "containers": [{ "name": "c", "image": "i" }, { "name": "c2", "image": "i2" }] },
                    },
                },
            }),
        )
        .await;
    assert_eq!(made.code, 201, "{}", made.body);
    made.body
}

#[tokio::test]
async fn status_and_spec_are_written_separately() {
    let raw = TestServer::start().await.raw();
    let mut object = deployment(&raw).await;
    assert_eq!(
        (&object["spec"]["replicas"], &object["metadata"]["generation"]),
        (&json!(1), &json!(1))
    );
    let path = "/apis/apps/v1/namespaces/{ns}/deployments/d";
    object["spec"]["replicas"] = 3.into();
    object["status"] = json!({ "replicas": 7 });
    let through_main = raw.put(path, &object).await.body;
    assert_eq!(through_main["spec"]["replicas"], 3);
    assert_eq!(through_main["status"].get("replicas"), None);
    assert_eq!(through_main["metadata"]["generation"], 2);
    let mut object = through_main;
    object["spec"]["replicas"] = 9.into();
    object["status"] = json!({ "replicas": 7 });
    let through_status = raw.put(&format!("{path}/status"), &object).await.body;
    assert_eq!(through_status["spec"]["replicas"], 3);
    assert_eq!(through_status["status"]["replicas"], 7);
    assert_eq!(through_status["metadata"]["generation"], 2);
    let labelled = raw
        .patch(path, "merge", &json!({ "metadata": { "labels": { "a": "b" } } }))
        .await
        .body;
    assert_eq!(labelled["metadata"]["generation"], 2);
}

#[tokio::test]
async fn scale_is_a_view_of_replicas() {
    let raw = TestServer::start().await.raw();
    deployment(&raw).await;
    let path = "/apis/apps/v1/namespaces/{ns}/deployments/d";
    let scale = raw.get(&format!("{path}/scale")).await.body;
    assert_eq!(
        (&scale["kind"], &scale["apiVersion"]),
        (&json!("Scale"), &json!("autoscaling/v1"))
    );
    assert_eq!(
        (&scale["spec"]["replicas"], &scale["status"]["selector"]),
        (&json!(1), &json!("app=d"))
    );
    let scaled = raw
        .patch(
            &format!("{path}/scale"),
            "merge",
            &json!({ "spec": { "replicas": 5 } }),
        )
        .await;
    assert_eq!((scaled.code, &scaled.body["spec"]["replicas"]), (200, &json!(5)));
    let object = raw.get(path).await.body;
    assert_eq!(
        (&object["spec"]["replicas"], &object["metadata"]["generation"]),
        (&json!(5), &json!(2))
    );
}

#[tokio::test]
async fn every_patch_type_is_supported() {
    let raw = TestServer::start().await.raw();
    deployment(&raw).await;
    let path = "/apis/apps/v1/namespaces/{ns}/deployments/d";
    let containers = |object: &Value| {
        let list = object["spec"]["template"]["spec"]["containers"]
            .as_array()
            .cloned()
            .unwrap_or_default();
        list.iter()
            .map(|c| {
                format!(
                    "{}={}",
                    c["name"].as_str().unwrap_or(""),
                    c["image"].as_str().unwrap_or("")
                )
            })
            .collect::<Vec<_>>()
    };
    // Strategic: lists merge by their key.
    let patch =
        json!({ "spec": { "template": { "spec": { "containers": [{ "name": "c2", "image": "new" }] } } } });
    let answer = raw.patch(path, "strategic-merge", &patch).await;
    assert_eq!(containers(&answer.body), ["c=i", "c2=new"], "{}", answer.body);
    let patch = json!({ "spec": { "template": { "spec": { "containers": [{ "name": "c", "$patch": "delete" }] } } } });
    let answer = raw.patch(path, "strategic-merge", &patch).await;
    assert_eq!(containers(&answer.body), ["c2=new"], "{}", answer.body);
    // Merge: lists are replaced.
    let patch =
        json!({ "spec": { "template": { "spec": { "containers": [{ "name": "c3", "image": "x" }] } } } });
    assert_eq!(containers(&raw.patch(path, "merge", &patch).await.body), ["c3=x"]);
    // JSON: operations.
    let patch = json!([{ "op": "test", "path": "/spec/replicas", "value": 1 }, { "op": "replace", "path": "/spec/replicas", "value": 4 }]);
    assert_eq!(raw.patch(path, "json", &patch).await.body["spec"]["replicas"], 4);
    let failed = raw.patch(path, "json", &patch).await;
    assert_eq!(
        (failed.code, failed.body["reason"].as_str()),
        (422, Some("Invalid")),
        "{}",
        failed.body
    );
    let unknown = raw
        .ask(
            http::Method::PATCH,
            path,
            &[("content-type", "application/json")],
            "{}",
        )
        .await;
    assert_eq!(unknown.code, 415);
}

#[tokio::test]
async fn server_side_apply_owns_fields_and_finds_conflicts() {
    let raw = TestServer::start().await.raw();
    let path = format!("{MAPS}/a");
    let config = |data: Value| json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "a" }, "data": data });
    let made = raw
        .patch(
            &format!("{path}?fieldManager=one"),
            "apply",
            &config(json!({ "x": "1", "y": "1" })),
        )
        .await;
    assert_eq!(made.code, 201, "{}", made.body);
    let owner = &made.body["metadata"]["managedFields"][0];
    assert_eq!(
        (&owner["manager"], &owner["operation"]),
        (&json!("one"), &json!("Apply"))
    );
    assert_eq!(owner["fieldsV1"], json!({ "f:data": { "f:x": {}, "f:y": {} } }));
    let same = raw
        .patch(
            &format!("{path}?fieldManager=one"),
            "apply",
            &config(json!({ "x": "1", "y": "1" })),
        )
        .await;
    assert_eq!((same.code, same.version()), (200, made.version()));
    let conflict = raw
        .patch(
            &format!("{path}?fieldManager=two"),
            "apply",
            &config(json!({ "x": "2" })),
        )
        .await;
    assert_eq!(
        (conflict.code, conflict.message()),
        (
            409,
            "Apply failed with 1 conflict: conflict with \"one\": .data.x"
        )
    );
    assert_eq!(
        conflict.body["details"]["causes"][0]["reason"],
        "FieldManagerConflict"
    );
    let forced = raw
        .patch(
            &format!("{path}?fieldManager=two&force=true"),
            "apply",
            &config(json!({ "x": "2" })),
        )
        .await;
    assert_eq!(forced.body["data"], json!({ "x": "2", "y": "1" }));
    // Fields that one manager no longer applies are removed; those of other managers stay.
    let less = raw
        .patch(&format!("{path}?fieldManager=one"), "apply", &config(json!({})))
        .await;
    assert_eq!(less.body["data"], json!({ "x": "2" }));
    let without_manager = raw.patch(&path, "apply", &config(json!({}))).await;
    assert_eq!(without_manager.code, 422, "{}", without_manager.body);
}
