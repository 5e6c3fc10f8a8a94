//! Representations: JSON, YAML, protobuf, metadata only, tables, compression.

use conformance::{Raw, TestServer};
use kube_wire::protobuf;
use serde_json::{Value, json};

const MAPS: &str = "/api/v1/namespaces/{ns}/configmaps";
const METADATA: &str = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io";
const METADATA_LIST: &str = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io";
const TABLE: &str = "application/json;as=Table;v=v1;g=meta.k8s.io";

async fn make(raw: &Raw) -> Value {
    let made = raw
        .post(
            MAPS,
            &json!({ "metadata": { "name": "a", "labels": { "x": "1" } }, "data": { "k": "v", "l": "w" } }),
        )
        .await;
    assert_eq!(made.code, 201, "{}", made.body);
    made.body
}

#[tokio::test]
async fn only_metadata_is_served_on_request() {
    let raw = TestServer::start().await.raw();
    let object = make(&raw).await;
    let alone = raw.get_as(&format!("{MAPS}/a"), METADATA).await.body;
    assert_eq!(
        (&alone["kind"], &alone["apiVersion"]),
        (&json!("PartialObjectMetadata"), &json!("meta.k8s.io/v1"))
    );
    assert_eq!(alone["metadata"], object["metadata"]);
    assert_eq!(alone.as_object().map(serde_json::Map::len), Some(3));
    let list = raw.get_as(MAPS, METADATA_LIST).await.body;
    assert_eq!(list["kind"], "PartialObjectMetadataList");
    let item = list["items"]
        .as_array()
        .and_then(|i| i.iter().find(|i| i["metadata"]["name"] == "a"))
        .expect("the object");
    assert_eq!(*item, alone);
    let mut events = raw
        .watch_as(
            &format!("{MAPS}?watch=1&timeoutSeconds=60&fieldSelector=metadata.name%3Da"),
            METADATA,
        )
        .await;
    let event = events.next().await.expect("an event");
    assert_eq!((&event["type"], &event["object"]), (&json!("ADDED"), &alone));
}

#[tokio::test]
async fn table_has_the_columns_of_its_kind() {
    let raw = TestServer::start().await.raw();
    make(&raw).await;
    let table = raw.get_as(&format!("{MAPS}/a"), TABLE).await.body;
    assert_eq!(
        (&table["kind"], &table["apiVersion"]),
        (&json!("Table"), &json!("meta.k8s.io/v1"))
    );
    let columns: Vec<&str> = table["columnDefinitions"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|c| c["name"].as_str())
        .collect();
    assert_eq!(columns, ["Name", "Data", "Age"]);
    let row = &table["rows"][0];
    assert_eq!((&row["cells"][0], &row["cells"][1]), (&json!("a"), &json!(2)));
    assert_eq!(row["object"]["kind"], "PartialObjectMetadata");
    let bare = raw
        .get_as(
            &format!("{MAPS}?includeObject=None&fieldSelector=metadata.name%3Da"),
            TABLE,
        )
        .await
        .body;
    assert_eq!(bare["rows"][0]["object"], Value::Null);
    let mut events = raw
        .watch_as(
            &format!("{MAPS}?watch=1&timeoutSeconds=60&fieldSelector=metadata.name%3Da"),
            TABLE,
        )
        .await;
    let first = events.next().await.expect("an event");
    assert_eq!(
        first["object"]["columnDefinitions"].as_array().map(Vec::len),
        Some(3)
    );
    raw.patch(&format!("{MAPS}/a"), "merge", &json!({ "data": { "m": "x" } }))
        .await;
    let second = events.next().await.expect("an event");
    assert_eq!(second["object"]["columnDefinitions"], Value::Null);
    assert_eq!(second["object"]["rows"][0]["cells"][1], 3);
}

#[tokio::test]
async fn table_has_the_requested_version() {
    let raw = TestServer::start().await.raw();
    for name in ["a", "b", "c"] {
        raw.post(
            MAPS,
            &json!({ "metadata": { "name": name, "labels": { "x": "1" } } }),
        )
        .await;
    }
    let beta = "application/json;as=Table;v=v1beta1;g=meta.k8s.io";
    let page = raw
        .get_as(&format!("{MAPS}?labelSelector=x&limit=2"), beta)
        .await
        .body;
    assert_eq!(
        (&page["kind"], &page["apiVersion"]),
        (&json!("Table"), &json!("meta.k8s.io/v1beta1"))
    );
    assert_eq!(page["rows"].as_array().map(Vec::len), Some(2));
    assert_eq!(page["rows"][0]["object"]["apiVersion"], "meta.k8s.io/v1beta1");
    let more = page["metadata"]["continue"].as_str().expect("another page");
    let page = raw
        .get_as(&format!("{MAPS}?labelSelector=x&limit=2&continue={more}"), beta)
        .await
        .body;
    assert_eq!(page["rows"][0]["cells"][0], "c");
    let unknown = raw
        .get_as(MAPS, "application/json;as=Table;v=v2;g=meta.k8s.io")
        .await;
    assert_eq!(unknown.code, 406);
}

#[tokio::test]
async fn protobuf_and_json_have_the_same_content() {
    let server = TestServer::start().await;
    let raw = server.raw();
    let object = make(&raw).await;
    let bytes = raw.bytes(&format!("{MAPS}/a"), protobuf::MEDIA_TYPE).await;
    assert_eq!(protobuf::decode(&bytes).expect("protobuf"), object);
    let bytes = raw
        .bytes(MAPS, "application/vnd.kubernetes.protobuf,application/json")
        .await;
    let list = protobuf::decode(&bytes).expect("protobuf");
    assert_eq!(list["kind"], "ConfigMapList");
    let item = list["items"]
        .as_array()
        .and_then(|i| i.iter().find(|i| i["metadata"]["name"] == "a"))
        .expect("the object");
    assert_eq!(
        (&item["data"], &item["metadata"]),
        (&object["data"], &object["metadata"])
    );
    // It is accepted in protobuf, too.
    let body = protobuf::encode(
        &json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "b" }, "data": { "k": "v" } }),
    );
    let made = raw
        .ask(
            http::Method::POST,
            MAPS,
            &[("content-type", protobuf::MEDIA_TYPE)],
            body.expect("protobuf"),
        )
        .await;
    assert_eq!((made.code, &made.body["data"]["k"]), (201, &json!("v")));
}

#[tokio::test]
async fn unsupported_representation_is_not_acceptable() {
    let raw = TestServer::start().await.raw();
    make(&raw).await;
    let refused = raw.get_as(&format!("{MAPS}/a"), "text/html").await;
    assert_eq!(
        (refused.code, refused.body["reason"].as_str()),
        (406, Some("NotAcceptable"))
    );
    let yaml = raw.get_as(&format!("{MAPS}/a"), "application/yaml").await;
    let text = yaml.body.as_str().expect("text");
    assert!(
        text.contains("kind: ConfigMap") && text.contains("\n  k: v"),
        "{text}"
    );
    let body = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: yaml\ndata:\n  k: v\n";
    let made = raw
        .ask(
            http::Method::POST,
            MAPS,
            &[("content-type", "application/yaml")],
            body,
        )
        .await;
    assert_eq!(made.code, 201, "{}", made.body);
    // In YAML 1.1, `y` is a boolean, not a name.
    let old = raw
        .ask(
            http::Method::POST,
            MAPS,
            &[("content-type", "application/yaml")],
            "metadata:\n  name: y\n",
        )
        .await;
    assert_eq!(old.code, 400, "{}", old.body);
    let wrong = raw
        .ask(http::Method::POST, MAPS, &[("content-type", "text/plain")], "{}")
        .await;
    assert_eq!(
        (wrong.code, wrong.body["reason"].as_str()),
        (415, Some("UnsupportedMediaType"))
    );
}

#[tokio::test]
async fn large_responses_are_compressed_on_request() {
    let raw = TestServer::start().await.raw();
    for n in 0..4 {
        let large =
            json!({ "metadata": { "name": format!("large-{n}") }, "data": { "k": "v".repeat(100_000) } });
        assert_eq!(raw.post(MAPS, &large).await.code, 201);
    }
    let plain = raw
        .ask(http::Method::GET, MAPS, &[("accept-encoding", "identity")], "")
        .await;
    assert!(plain.headers.get("content-encoding").is_none());
    let packed = raw.packed(MAPS).await;
    assert_eq!(
        packed.0.get("content-encoding").and_then(|v| v.to_str().ok()),
        Some("gzip")
    );
    assert!(packed.1.starts_with(&[0x1f, 0x8b]) && packed.1.len() < 100_000);
    let small = raw.packed(&format!("{MAPS}?limit=1&labelSelector=none")).await;
    assert!(small.0.get("content-encoding").is_none());
}
