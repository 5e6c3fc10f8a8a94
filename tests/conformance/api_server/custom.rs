//! Custom resources: served after their definition, validated, and deleted with it.

use conformance::{Raw, TestServer};
use http::Method;
use serde_json::{Value, json};

struct Custom {
    raw: Raw,
    name: String,
    objects: String,
}

const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

/// Defines a kind in a group that is unique to the test, and waits until it is served.
async fn define(server: &TestServer) -> Custom {
    let group = format!("{}.example.com", server.namespace);
    let raw = server.raw();
    let definition = json!({
        "metadata": { "name": format!("widgets.{group}") },
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": { "plural": "widgets", "singular": "widget", "kind": "Widget", "shortNames": ["wd"] },
            "versions": [{
                "name": "v1",
                "served": true,
                "storage": true,
                "subresources": {
                    "status": {},
                    "scale": { "specReplicasPath": ".spec.count", "statusReplicasPath": ".status.count" },
                },
                "selectableFields": [{ "jsonPath": ".spec.colour" }],
                "additionalPrinterColumns": [{ "name": "Colour", "type": "string", "jsonPath": ".spec.colour" }],
                "schema": { "openAPIV3Schema": {
                    "type": "object",
                    "required": ["spec"],
                    "properties": {
                        "spec": {
                            "type": "object",
                            "required": ["colour"],
                            "properties": {
                                "colour": { "type": "string", "enum": ["red", "blue"] },
                                "count": { "type": "integer", "minimum": 0, "default": 2 },
                            },
                        },
                        "status": { "type": "object", "properties": { "count": { "type": "integer" } } },
                    },
                } },
            }],
        },
    });
    let made = raw.post(DEFINITIONS, &definition).await;
    assert_eq!(made.code, 201, "{}", made.body);
    let name = format!("widgets.{group}");
    let mut events = raw
        .watch(&format!(
            "{DEFINITIONS}?watch=1&timeoutSeconds=60&fieldSelector=metadata.name%3D{name}"
        ))
        .await;
    while let Some(event) = events.next().await {
        let conditions = event["object"]["status"]["conditions"]
            .as_array()
            .cloned()
            .unwrap_or_default();
        if conditions
            .iter()
            .any(|c| c["type"] == "Established" && c["status"] == "True")
        {
            break;
        }
    }
    let objects = format!("/apis/{group}/v1/namespaces/{{ns}}/widgets");
    // The real server reports a kind as established shortly before it serves it.
    while raw.get(&objects).await.code == 404 {
        tokio::task::yield_now().await;
    }
    Custom { raw, name, objects }
}

#[tokio::test]
async fn custom_kind_is_served_once_it_is_defined() {
    let server = TestServer::start().await;
    let Custom { raw, name, objects } = define(&server).await;
    let group = name
        .split_once('.')
        .map(|(_, group)| group.to_owned())
        .expect("a group");
    let documents = raw.get(&format!("/apis/{group}/v1")).await.body;
    assert_eq!(documents["resources"][0]["name"], "widgets");
    assert_eq!(documents["resources"][0]["shortNames"], json!(["wd"]));
    let hash = documents["resources"][0]["storageVersionHash"].as_str();
    assert_eq!(hash.map(str::len), Some(12), "{documents}");

    let made = raw.post(&objects, &json!({ "apiVersion": format!("{group}/v1"), "kind": "Widget", "metadata": { "name": "a" }, "spec": { "colour": "red", "size": 3 } })).await;
    assert_eq!(made.code, 201, "{}", made.body);
    // Defaults are added, unknown fields are dropped with a warning.
    assert_eq!(made.body["spec"], json!({ "colour": "red", "count": 2 }));
    let warning = made
        .headers
        .get("warning")
        .and_then(|v| v.to_str().ok())
        .unwrap_or_default();
    assert!(warning.contains("unknown field \\\"spec.size\\\""), "{warning}");
    assert_eq!(made.body["metadata"]["generation"], 1);

    let listed = raw.get(&objects).await.body;
    assert_eq!(
        (&listed["kind"], &listed["items"][0]["kind"]),
        (&json!("WidgetList"), &json!("Widget"))
    );
    let selected = raw
        .get(&format!("{objects}?fieldSelector=spec.colour%3Dblue"))
        .await;
    assert!(selected.names().is_empty());
    let table = raw
        .get_as(&objects, "application/json;as=Table;v=v1;g=meta.k8s.io")
        .await
        .body;
    assert_eq!(table["rows"][0]["cells"], json!(["a", "red"]));

    let bad = json!({ "apiVersion": format!("{group}/v1"), "kind": "Widget", "metadata": { "name": "b" }, "spec": { "colour": "green" } });
    let refused = raw.post(&objects, &bad).await;
    assert_eq!(refused.code, 422, "{}", refused.body);
    assert!(
        refused
            .message()
            .contains("spec.colour: Unsupported value: \"green\": supported values: \"red\", \"blue\""),
        "{}",
        refused.message()
    );

    let path = format!("{objects}/a");
    let mut object = made.body;
    object["status"] = json!({ "count": 9 });
    object["spec"]["count"] = 3.into();
    let updated = raw.put(&path, &object).await.body;
    assert_eq!(
        (&updated["metadata"]["generation"], updated.get("status")),
        (&json!(2), None)
    );
    object["metadata"]["resourceVersion"] = updated["metadata"]["resourceVersion"].clone();
    object["spec"]["count"] = 7.into();
    let updated = raw.put(&format!("{path}/status"), &object).await.body;
    assert_eq!(
        (&updated["spec"]["count"], &updated["status"]["count"]),
        (&json!(3), &json!(9))
    );
    assert_eq!(updated["metadata"]["generation"], 2);
    let scale = raw.get(&format!("{path}/scale")).await.body;
    assert_eq!(
        (&scale["spec"]["replicas"], &scale["status"]["replicas"]),
        (&json!(3), &json!(9))
    );
    raw.patch(
        &format!("{path}/scale"),
        "merge",
        &json!({ "spec": { "replicas": 1 } }),
    )
    .await;
    assert_eq!(raw.get(&path).await.body["spec"]["count"], 1);
    let strategic = raw.patch(&path, "strategic-merge", &json!({})).await;
    assert_eq!(strategic.code, 415);
    let unconditional = json!({ "apiVersion": format!("{group}/v1"), "kind": "Widget", "metadata": { "name": "a" }, "spec": { "colour": "blue" } });
    let refused = raw.put(&path, &unconditional).await;
    assert_eq!(
        (refused.code, refused.body["reason"].as_str()),
        (422, Some("Invalid")),
        "{}",
        refused.body
    );
}

#[tokio::test]
async fn custom_objects_must_have_an_api_version_and_a_kind() {
    let server = TestServer::start().await;
    let Custom { raw, name, objects } = define(&server).await;
    let (_, group) = name.split_once('.').expect("plural and group");
    let nameless = json!({ "metadata": { "name": "x" }, "spec": {} });
    let refused = raw.post(&objects, &nameless).await;
    assert_eq!(
        (refused.code, refused.message()),
        (
            400,
            "the object provided is unrecognized (must be of type Widget): Object 'Kind' is missing in \
             '{\"metadata\":{\"name\":\"x\"},\"spec\":{}}' ({\"metadata\":{\"name\":\"x\"},\"spec ...)"
        )
    );
    for version in ["", "other.example.com/v1"] {
        let unknown = json!({ "apiVersion": version, "kind": "Widget", "metadata": { "name": "x" } });
        let refused = raw.post(&objects, &unknown).await;
        let expected = format!(
            "the API version in the data ({version}) does not match the expected API version ({group}/v1)"
        );
        assert_eq!((refused.code, refused.message()), (400, expected.as_str()));
    }
}

#[tokio::test]
async fn custom_objects_may_have_finalizers_without_a_domain() {
    let server = TestServer::start().await;
    let Custom { raw, name, objects } = define(&server).await;
    let (_, group) = name.split_once('.').expect("plural and group");
    let widget = |name: &str, finalizers: &[&str]| {
        json!({
            "apiVersion": format!("{group}/v1"),
            "kind": "Widget",
            "metadata": { "name": name, "finalizers": finalizers },
            "spec": { "colour": "red" },
        })
    };
    let made = raw
        .post(&format!("{objects}?dryRun=All"), &widget("a", &["hold"]))
        .await;
    assert_eq!(made.code, 201, "{}", made.body);
    for invalid in [&["no/such/name"][..], &["orphan", "foregroundDeletion"]] {
        let refused = raw.post(&objects, &widget("a", invalid)).await;
        assert_eq!(refused.code, 422, "{}", refused.body);
    }
}

#[tokio::test]
async fn duplicate_keys_in_yaml_are_reported_with_their_lines() {
    let server = TestServer::start().await;
    let Custom { raw, name, objects } = define(&server).await;
    let (_, group) = name.split_once('.').expect("plural and group");
    let text = format!(
        "apiVersion: {group}/v1\nkind: Widget\nmetadata:\n  name: a\nspec:\n  colour: red\n  colour: blue\n"
    );
    let line = "line 7: key \"colour\" already set in map";
    let create = format!("{objects}?dryRun=All");
    let yaml = [("content-type", "application/yaml")];
    let strict = raw
        .ask(
            Method::POST,
            &format!("{create}&fieldValidation=Strict"),
            &yaml,
            text.clone(),
        )
        .await;
    assert_eq!(strict.code, 400);
    let expected = format!(
        "Widget in version \"v1\" cannot be handled as a Widget: strict decoding error: yaml: unmarshal errors:\n  {line}"
    );
    assert_eq!(strict.message(), expected);
    let lenient = raw.ask(Method::POST, &create, &yaml, text.clone()).await;
    assert_eq!(
        (lenient.code, &lenient.body["spec"]["colour"]),
        (201, &json!("blue"))
    );
    let warning = format!("299 - \"{}\"", line.replace('"', "\\\""));
    assert_eq!(lenient.headers["warning"], warning.as_str());

    let apply = format!("{objects}/a?dryRun=All&fieldManager=test");
    let yaml = [("content-type", "application/apply-patch+yaml")];
    let strict = raw
        .ask(
            Method::PATCH,
            &format!("{apply}&fieldValidation=Strict"),
            &yaml,
            text.clone(),
        )
        .await;
    let expected = format!(
        "error strict decoding YAML: error converting YAML to JSON: yaml: unmarshal errors:\n  {line}"
    );
    assert_eq!((strict.code, strict.message()), (400, expected.as_str()));
    let lenient = raw.ask(Method::PATCH, &apply, &yaml, text).await;
    assert_eq!(
        (lenient.code, &lenient.body["spec"]["colour"]),
        (201, &json!("blue"))
    );
    assert_eq!(lenient.headers["warning"], warning.as_str());
}

#[tokio::test]
async fn custom_kind_is_deleted_with_its_definition() {
    let server = TestServer::start().await;
    let Custom { raw, name, objects } = define(&server).await;
    let group = name
        .split_once('.')
        .map(|(_, group)| group.to_owned())
        .expect("a group");
    let made = raw.post(&objects, &json!({ "apiVersion": format!("{group}/v1"), "kind": "Widget", "metadata": { "name": "a" }, "spec": { "colour": "red" } })).await;
    assert_eq!(made.code, 201, "{}", made.body);
    let version = made.version();
    let mut events = raw
        .watch(&format!(
            "{objects}?watch=1&timeoutSeconds=60&resourceVersion={version}"
        ))
        .await;
    let deleted = raw.delete(&format!("{DEFINITIONS}/{name}"), &Value::Null).await;
    assert_eq!(deleted.code, 200);
    assert_eq!(events.expect().await, "DELETED a");
    let list = raw
        .get(&format!("{DEFINITIONS}?fieldSelector=metadata.name%3D{name}"))
        .await;
    if !list.names().is_empty() {
        let path = format!(
            "{DEFINITIONS}?watch=1&timeoutSeconds=60&fieldSelector=metadata.name%3D{name}&resourceVersion={}",
            list.version()
        );
        let mut events = raw.watch(&path).await;
        while let Some(event) = events.next().await {
            if event["type"] == "DELETED" {
                break;
            }
        }
    }
    while raw.get(&objects).await.code != 404 {
        tokio::task::yield_now().await;
    }
    assert!(
        events.rest().await.is_empty(),
        "a watch ends when its kind is removed"
    );
}

#[tokio::test]
async fn invalid_definition_is_rejected() {
    let raw = TestServer::start().await.raw();
    let refused = raw
        .post(
            DEFINITIONS,
            &json!({
                "metadata": { "name": "wrong" },
                "spec": {
                    "group": "example.com",
                    "scope": "Namespaced",
                    "names": { "plural": "things", "kind": "Thing" },
                    "versions": [{ "name": "v1", "served": true, "storage": true }],
                },
            }),
        )
        .await;
    assert_eq!(refused.code, 422);
    assert!(
        refused
            .message()
            .contains("must be spec.names.plural+\".\"+spec.group"),
        "{}",
        refused.message()
    );
    assert!(
        refused
            .message()
            .contains("schema.openAPIV3Schema: Required value"),
        "{}",
        refused.message()
    );
}
