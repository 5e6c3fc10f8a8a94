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
    let version = json!({
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
    });
    define_version(server, &version).await
}

/// Returns the definition of a kind with one version, in a group that is unique to the test.
fn definition(server: &TestServer, version: &Value) -> Value {
    let group = format!("{}.example.com", server.namespace);
    json!({
        "metadata": { "name": format!("widgets.{group}") },
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": { "plural": "widgets", "singular": "widget", "kind": "Widget", "shortNames": ["wd"] },
            "versions": [version],
        },
    })
}

/// As [`define`], with a version of the test's own.
async fn define_version(server: &TestServer, version: &Value) -> Custom {
    let raw = server.raw();
    let group = format!("{}.example.com", server.namespace);
    let definition = definition(server, version);
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

/// A version whose `spec` has the given schema, with a status.
fn version_with(spec: &Value) -> Value {
    json!({
        "name": "v1",
        "served": true,
        "storage": true,
        "subresources": { "status": {} },
        "schema": { "openAPIV3Schema": { "type": "object", "properties": {
            "spec": spec,
            "status": {
                "type": "object",
                "properties": { "ready": { "type": "integer" } },
                "x-kubernetes-validations": [{ "rule": "self.ready >= 0", "message": "ready must not be negative" }],
            },
        } } },
    })
}

/// The spec of kinds with rules: limits, a list by name, and a mode that cannot change.
fn spec_with_rules() -> Value {
    json!({
        "type": "object",
        "properties": {
            "min": { "type": "integer" },
            "max": { "type": "integer" },
            "note": { "type": "string", "maxLength": 20 },
            "mode": {
                "type": "string",
                "maxLength": 20,
                "x-kubernetes-validations": [{ "rule": "self == oldSelf", "message": "mode is immutable" }],
            },
            "size": {
                "type": "integer",
                "x-kubernetes-validations": [{
                    "rule": "oldSelf.hasValue() ? self >= oldSelf.value() : self == 1",
                    "message": "size begins with 1 and only grows",
                    "optionalOldSelf": true,
                }],
            },
            "ports": {
                "type": "array",
                "maxItems": 8,
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["name"],
                "items": {
                    "type": "object",
                    "required": ["name", "port"],
                    "properties": { "name": { "type": "string", "maxLength": 20 }, "port": { "type": "integer" } },
                    "x-kubernetes-validations": [{
                        "rule": "self.port >= oldSelf.port",
                        "messageExpression": "'port of %s was %d'.format([self.name, oldSelf.port])",
                        "fieldPath": ".port",
                        "reason": "FieldValueForbidden",
                    }],
                },
            },
        },
        "x-kubernetes-validations": [{
            "rule": "!has(self.min) || !has(self.max) || self.min <= self.max",
            "messageExpression": "'min %d is above max %d'.format([self.min, self.max])",
        }],
    })
}

/// A widget of the group that is unique to the test.
fn widget(server: &TestServer, name: &str, spec: &Value) -> Value {
    json!({
        "apiVersion": format!("{}.example.com/v1", server.namespace),
        "kind": "Widget",
        "metadata": { "name": name },
        "spec": spec,
    })
}

/// The causes of a refusal, as reason, field and message.
fn causes(body: &Value) -> Vec<[String; 3]> {
    let causes = body["details"]["causes"].as_array().cloned().unwrap_or_default();
    let text = |cause: &Value, key: &str| cause[key].as_str().unwrap_or_default().to_owned();
    causes
        .iter()
        .map(|cause| ["reason", "field", "message"].map(|key| text(cause, key)))
        .collect()
}

fn cause(reason: &str, field: &str, message: &str) -> [String; 3] {
    [reason, field, message].map(str::to_owned)
}

#[tokio::test]
async fn objects_that_break_a_rule_are_refused() {
    let server = TestServer::start().await;
    let Custom { raw, objects, .. } = define_version(&server, &version_with(&spec_with_rules())).await;
    let refused = raw
        .post(
            &objects,
            &widget(&server, "a", &json!({ "min": 5, "max": 3, "size": 2 })),
        )
        .await;
    assert_eq!(refused.code, 422, "{}", refused.body);
    let mut found = causes(&refused.body);
    found.sort();
    assert_eq!(
        found,
        [
            cause("FieldValueInvalid", "spec", "Invalid value: min 5 is above max 3"),
            cause(
                "FieldValueInvalid",
                "spec.size",
                "Invalid value: 2: size begins with 1 and only grows"
            ),
        ]
    );
    // A rule about a change says nothing about a new object.
    let good =
        json!({ "min": 1, "max": 3, "size": 1, "mode": "fast", "ports": [{ "name": "http", "port": 80 }] });
    let made = raw.post(&objects, &widget(&server, "a", &good)).await;
    assert_eq!(made.code, 201, "{}", made.body);
}

#[tokio::test]
async fn rules_about_changes_compare_with_the_old_object() {
    let server = TestServer::start().await;
    let Custom { raw, objects, .. } = define_version(&server, &version_with(&spec_with_rules())).await;
    let spec = json!({
        "mode": "fast",
        "size": 1,
        "ports": [{ "name": "http", "port": 80 }, { "name": "dns", "port": 53 }],
    });
    let made = raw.post(&objects, &widget(&server, "a", &spec)).await;
    assert_eq!(made.code, 201, "{}", made.body);
    let path = format!("{objects}/a");
    // Items are found by their keys, wherever they are.
    let ports =
        json!([{ "name": "new", "port": 1 }, { "name": "dns", "port": 54 }, { "name": "http", "port": 79 }]);
    let change = json!({ "spec": { "mode": "slow", "size": 0, "ports": ports } });
    let refused = raw.patch(&path, "merge", &change).await;
    assert_eq!(refused.code, 422, "{}", refused.body);
    let mut found = causes(&refused.body);
    found.sort();
    assert_eq!(
        found,
        [
            cause(
                "FieldValueForbidden",
                "spec.ports[2].port",
                "Forbidden: port of http was 80"
            ),
            cause(
                "FieldValueInvalid",
                "spec.mode",
                "Invalid value: \"slow\": mode is immutable"
            ),
            cause(
                "FieldValueInvalid",
                "spec.size",
                "Invalid value: 0: size begins with 1 and only grows"
            ),
        ]
    );
    let ports = json!([{ "name": "dns", "port": 54 }, { "name": "http", "port": 80 }]);
    let changed = raw
        .patch(
            &path,
            "merge",
            &json!({ "spec": { "mode": "fast", "size": 4, "ports": ports } }),
        )
        .await;
    assert_eq!(changed.code, 200, "{}", changed.body);
    let applied = widget(&server, "a", &json!({ "mode": "slow" }));
    let refused = raw
        .patch(&format!("{path}?fieldManager=test&force=true"), "apply", &applied)
        .await;
    assert_eq!(
        causes(&refused.body),
        [cause(
            "FieldValueInvalid",
            "spec.mode",
            "Invalid value: \"slow\": mode is immutable"
        )]
    );
    let mut object = changed.body;
    object["status"] = json!({ "ready": -1 });
    let refused = raw.put(&format!("{path}/status"), &object).await;
    assert_eq!(
        causes(&refused.body),
        [cause(
            "FieldValueInvalid",
            "status",
            "Invalid value: ready must not be negative"
        )]
    );
}

#[tokio::test]
async fn objects_older_than_a_rule_may_break_it_until_they_change() {
    let server = TestServer::start().await;
    let mut spec = spec_with_rules();
    let rules = spec["x-kubernetes-validations"].take();
    if let Some(fields) = spec.as_object_mut() {
        fields.remove("x-kubernetes-validations");
    }
    let Custom { raw, name, objects } = define_version(&server, &version_with(&spec)).await;
    let made = raw
        .post(&objects, &widget(&server, "old", &json!({ "min": 5, "max": 3 })))
        .await;
    assert_eq!(made.code, 201, "{}", made.body);
    spec["x-kubernetes-validations"] = rules;
    let versions = json!({ "spec": { "versions": [version_with(&spec)] } });
    let changed = raw
        .patch(&format!("{DEFINITIONS}/{name}"), "merge", &versions)
        .await;
    assert_eq!(changed.code, 200, "{}", changed.body);
    // The real server applies the new schema shortly after.
    let probe = widget(&server, "probe", &json!({ "min": 5, "max": 3 }));
    while raw.post(&format!("{objects}?dryRun=All"), &probe).await.code != 422 {
        tokio::task::yield_now().await;
    }
    let path = format!("{objects}/old");
    let labelled = raw
        .patch(&path, "merge", &json!({ "metadata": { "labels": { "a": "b" } } }))
        .await;
    assert_eq!(labelled.code, 200, "{}", labelled.body);
    let refused = raw
        .patch(&path, "merge", &json!({ "spec": { "note": "x" } }))
        .await;
    assert_eq!(
        causes(&refused.body),
        [cause(
            "FieldValueInvalid",
            "spec",
            "Invalid value: min 5 is above max 3"
        )]
    );
    let repaired = raw.patch(&path, "merge", &json!({ "spec": { "min": 2 } })).await;
    assert_eq!(repaired.code, 200, "{}", repaired.body);
}

#[tokio::test]
async fn definition_with_a_rule_that_does_not_compile_is_refused() {
    let server = TestServer::start().await;
    let raw = server.raw();
    let mut spec = spec_with_rules();
    spec["properties"]["min"]["x-kubernetes-validations"] = json!([{ "rule": "self + 1" }]);
    spec["x-kubernetes-validations"] = json!([{ "rule": "self.minimum > 1" }]);
    let refused = raw
        .post(DEFINITIONS, &definition(&server, &version_with(&spec)))
        .await;
    assert_eq!(refused.code, 422, "{}", refused.body);
    let path = "spec.validation.openAPIV3Schema.properties[spec]";
    let shown = |rule: &str| {
        format!(
            "{{\"Rule\":\"{rule}\",\"Message\":\"\",\"MessageExpression\":\"\",\"Reason\":null,\"FieldPath\":\"\",\
             \"OptionalOldSelf\":null}}"
        )
    };
    assert_eq!(
        causes(&refused.body),
        [
            cause(
                "FieldValueInvalid",
                &format!("{path}.properties[min].x-kubernetes-validations[0].rule"),
                &format!(
                    "Invalid value: {}: cel expression must evaluate to a bool",
                    shown("self + 1")
                ),
            ),
            cause(
                "FieldValueInvalid",
                &format!("{path}.x-kubernetes-validations[0].rule"),
                &format!(
                    "Invalid value: {}: compilation failed: ERROR: <input>:1:5: undefined field 'minimum'\n | self.minimum > 1\n \
                     | ....^",
                    shown("self.minimum \\u003e 1")
                ),
            ),
        ]
    );
}
