//! Decoding into types that programs define.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use serde::Deserialize;
use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::{Value, json};

use super::super::writer::Writer;
use super::super::{Envelope, MAX_DEPTH, Schema, encode};
use super::decode_types::reference;
use crate::FieldMask;

fn pod() -> Value {
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {
            "name": "a", "namespace": "n", "labels": {"1": "x", "2": "y"},
            "creationTimestamp": "2026-01-02T03:04:05Z",
            "managedFields": [{"fieldsV1": {"f:a": {"f:b": {}}, "n": 7}}],
        },
        "spec": {
            "containers": [
                {
                    "name": "c", "image": "i:1",
                    "resources": {"limits": {"cpu": "1"}},
                    "livenessProbe": {"httpGet": {"port": "web"}, "periodSeconds": 3},
                },
                {"name": "d", "imagePullPolicy": "Always", "resources": {}, "ports": [{"containerPort": 80}]},
            ],
            "priority": -5,
            "restartPolicy": "Never",
        },
        "status": {"phase": "Running", "containerStatuses": [{
            "name": "c", "state": {"running": {"startedAt": "2026-01-02T03:04:05Z"}}, "lastState": {},
            "ready": true, "restartCount": 2, "image": "", "imageID": "",
        }]},
    })
}

fn message(object: &Value) -> (Schema, Vec<u8>) {
    let (api_version, kind) = (
        object["apiVersion"].as_str().unwrap(),
        object["kind"].as_str().unwrap(),
    );
    let bytes = encode(object).unwrap();
    (
        Schema::of(api_version, kind).unwrap(),
        Envelope::parse(&bytes).unwrap().raw.to_vec(),
    )
}

/// Checks that the type is decoded to the same value from JSON and protobuf.
#[track_caller]
fn decode_both<T: DeserializeOwned + PartialEq + std::fmt::Debug>(object: &Value) -> T {
    let (schema, message) = message(object);
    let json = serde_json::to_string(&reference(schema, &message).unwrap()).unwrap();
    let expected: T = serde_json::from_str(&json).unwrap();
    let found: T = schema.decode(&message, &FieldMask::none()).unwrap();
    assert_eq!(found, expected);
    found
}

#[derive(Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Projection {
    metadata: Metadata,
    spec: Spec,
    status: Status,
}

#[derive(Debug, PartialEq, Deserialize)]
struct Metadata {
    name: Box<str>,
    #[serde(default)]
    labels: HashMap<u32, char>,
}

#[derive(Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Spec {
    containers: Vec<PodContainer>,
    priority: Option<i8>,
    restart_policy: RestartPolicy,
    node_name: Option<String>,
}

#[derive(Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
struct PodContainer {
    name: String,
    liveness_probe: Option<Probe>,
    image_pull_policy: Option<TextNewtype>,
    #[serde(default)]
    ports: Vec<BTreeMap<TextNewtype, u16>>,
}

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
struct TextNewtype(String);

#[derive(Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Probe {
    period_seconds: u64,
    http_get: HttpGet,
}

#[derive(Debug, PartialEq, Deserialize)]
struct HttpGet {
    port: Port,
}

#[derive(Debug, PartialEq, Deserialize)]
#[serde(untagged)]
enum Port {
    Number(i32),
    Name(String),
}

#[derive(Debug, PartialEq, Deserialize)]
enum RestartPolicy {
    Always,
    Never,
}

#[derive(Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Status {
    phase: String,
    container_statuses: Vec<ContainerStatus>,
}

#[derive(Debug, PartialEq, Deserialize)]
struct ContainerStatus {
    state: State,
    ready: bool,
}

#[derive(Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
enum State {
    Waiting {
        reason: String,
    },
    #[serde(rename_all = "camelCase")]
    Running {
        started_at: String,
    },
}

#[test]
fn decodes_structs_enums_newtypes_and_maps() {
    let found: Projection = decode_both(&pod());
    assert_eq!(found.metadata.labels, HashMap::from([(1, 'x'), (2, 'y')]));
    assert_eq!(found.spec.restart_policy, RestartPolicy::Never);
    let running = State::Running {
        started_at: "2026-01-02T03:04:05Z".into(),
    };
    assert_eq!(found.status.container_statuses[0].state, running);
    assert_eq!(
        found.spec.containers[0]
            .liveness_probe
            .as_ref()
            .unwrap()
            .http_get
            .port,
        Port::Name("web".into())
    );
}

#[test]
fn decodes_flattened_fields() {
    #[derive(Debug, PartialEq, Deserialize)]
    struct Dynamic {
        #[serde(flatten)]
        types: Option<TypeMeta>,
        metadata: Metadata,
        #[serde(flatten)]
        data: Value,
    }

    #[derive(Debug, PartialEq, Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct TypeMeta {
        api_version: String,
        kind: String,
    }

    let found: Dynamic = decode_both(&pod());
    assert_eq!(found.types.unwrap().kind, "Pod");
    assert_eq!(found.data["spec"]["priority"], -5);
}

#[test]
fn borrows_text() {
    #[derive(Deserialize)]
    struct BorrowedPod<'a> {
        kind: &'a str,
        #[serde(borrow)]
        metadata: BorrowedMetadata<'a>,
    }

    #[derive(Deserialize)]
    struct BorrowedMetadata<'a> {
        name: &'a str,
        #[serde(borrow)]
        namespace: Cow<'a, str>,
        #[serde(borrow)]
        labels: BTreeMap<&'a str, &'a str>,
    }

    let (schema, message) = message(&pod());
    // The second message needs the buffered pass.
    for message in [message.clone(), [message, b"\x0a\x03\x0a\x01b".to_vec()].concat()] {
        let found: BorrowedPod<'_> = schema.decode(&message, &FieldMask::none()).unwrap();
        assert_eq!((found.kind, &*found.metadata.namespace), ("Pod", "n"));
        assert!(found.metadata.name == "a" || found.metadata.name == "b");
        assert!(message.as_ptr_range().contains(&found.metadata.name.as_ptr()));
        assert_eq!(found.metadata.labels["1"], "x");
    }
}

#[test]
fn structs_receive_each_map_key_once() {
    #[derive(Debug, PartialEq, Deserialize)]
    struct LabelledMetadata {
        labels: LabelFields,
    }

    #[derive(Debug, PartialEq, Deserialize)]
    struct LabelFields {
        a: String,
    }

    let schema = Schema::of("v1", "Pod").unwrap();
    let message = b"\x0a\x10\x5a\x06\x0a\x01a\x12\x01x\x5a\x06\x0a\x01a\x12\x01y";
    let found: LabelledMetadata = schema.metadata(message, &FieldMask::none()).unwrap();
    assert_eq!(found.labels.a, "y");
}

#[test]
fn inlined_messages_cannot_be_masked() {
    let (schema, message) = message(&json!({
        "apiVersion": "v1", "kind": "Pod",
        "spec": {"containers": [{"name": "c", "livenessProbe": {"tcpSocket": {"port": 1}}}]},
    }));
    let probe_without = |name: &str| {
        let path = format!("spec.containers.livenessProbe.{name}");
        let mask = FieldMask::none().path(&path).unwrap();
        let pod: Value = schema.decode(&message, &mask).unwrap();
        pod["spec"]["containers"][0]["livenessProbe"].clone()
    };
    assert_eq!(probe_without("ProbeHandler"), json!({"tcpSocket": {"port": 1}}));
    assert_eq!(probe_without("tcpSocket"), json!({}));
}

#[test]
fn decodes_embedded_json() {
    #[derive(Debug, PartialEq, Deserialize)]
    struct Revision {
        data: Data,
        revision: i64,
    }

    #[derive(Debug, PartialEq, Deserialize)]
    struct Data {
        list: Vec<Option<u8>>,
        name: String,
        choice: Choice,
        number: f64,
        map: BTreeMap<String, i16>,
    }

    #[derive(Debug, PartialEq, Deserialize)]
    enum Choice {
        One(u8),
        Two,
    }

    for choice in [json!("Two"), json!({"One": 1})] {
        let object = json!({
            "apiVersion": "apps/v1", "kind": "ControllerRevision", "revision": 3,
            "data": {"list": [1, null], "name": "n", "choice": choice, "number": 1.5, "map": {"a": -1}},
        });
        assert_eq!(decode_both::<Revision>(&object).data.map["a"], -1);
    }
}

#[test]
fn does_not_read_masked_fields() {
    let schema = Schema::of("v1", "Pod").unwrap();
    // managedFields (17) are invalid.
    let message = b"\x0a\x08\x0a\x01a\x8a\x01\x02\xff\xff";
    assert!(schema.decode::<Value>(message, &FieldMask::none()).is_err());
    let found: Value = schema.decode(message, &FieldMask::managed_fields()).unwrap();
    assert_eq!(found["metadata"], json!({"name": "a"}));
    // Neither are fields that the type does not request.
    schema.decode::<IgnoredAny>(message, &FieldMask::none()).unwrap();
}

#[test]
fn type_mismatches_contain_the_path() {
    #[derive(Debug, Deserialize)]
    #[expect(dead_code, reason = "only deserialized")]
    struct MismatchedPod<T> {
        metadata: T,
    }

    #[derive(Debug, Deserialize)]
    #[serde(rename_all = "camelCase")]
    #[expect(dead_code, reason = "only deserialized")]
    struct LabelMap<T> {
        labels: BTreeMap<String, T>,
    }

    #[derive(Debug, Deserialize)]
    #[expect(dead_code, reason = "only deserialized")]
    struct RequiredExtra {
        extra: String,
    }

    let (schema, message) = message(&pod());
    let error = schema
        .decode::<MismatchedPod<LabelMap<i32>>>(&message, &FieldMask::none())
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "metadata.labels[\"1\"]: invalid type: string, expected i32"
    );
    let error = schema
        .decode::<MismatchedPod<Vec<u8>>>(&message, &FieldMask::none())
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "metadata: invalid type: map, expected a sequence"
    );
    let error = schema
        .decode::<MismatchedPod<bool>>(&message, &FieldMask::none())
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "metadata: invalid type: map, expected a boolean"
    );
    let error = schema
        .decode::<RequiredExtra>(&message, &FieldMask::none())
        .unwrap_err();
    assert_eq!(error.to_string(), "missing field `extra`");
    let cut_off = b"\x12\x07\x12\x05\x0a\x02ab\x05";
    let error = schema.decode::<Value>(cut_off, &FieldMask::none()).unwrap_err();
    assert!(
        error.to_string().starts_with("spec.containers[0]: malformed"),
        "{error}"
    );
}

#[test]
fn ignored_errors_do_not_prevent_the_buffered_pass() {
    // A list in two parts: finalizers (14), name, finalizers.
    let schema = Schema::of("v1", "Pod").unwrap();
    let message = b"\x0a\x09\x72\x01x\x0a\x01a\x72\x01y";
    let metadata: Lenient<Value> = schema.metadata(message, &FieldMask::none()).unwrap();
    assert_eq!(metadata.0, Some(json!({"name": "a", "finalizers": ["x", "y"]})));
}

/// A value, or `None` if it is invalid.
struct Lenient<T>(Option<T>);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Lenient<T> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self(T::deserialize(deserializer).ok()))
    }
}

#[test]
fn allocates_lists_with_exact_capacity() {
    #[derive(Deserialize)]
    struct List {
        items: Vec<Value>,
    }

    let items: Vec<Value> = (0..37)
        .map(|at| json!({"metadata": {"name": format!("{at}")}}))
        .collect();
    let (schema, message) = message(&json!({"apiVersion": "v1", "kind": "ConfigMapList", "items": items}));

    let list: List = schema.decode(&message, &FieldMask::none()).unwrap();
    assert_eq!((list.items.len(), list.items.capacity()), (37, 37));
}

#[test]
fn limits_nesting_of_types() {
    let schema = Schema::of("apiextensions.k8s.io/v1", "CustomResourceDefinition").unwrap();
    // A schema in a schema, in a version of a definition.
    let nested = |levels: usize| {
        let mut writer = Writer::default();
        for number in std::iter::repeat_n(28, levels).chain([1, 4, 7, 2]) {
            writer.close_since(number, 0);
        }
        schema.decode::<Value>(&writer.finish(), &FieldMask::none())
    };
    assert!(nested(MAX_DEPTH - 5).is_ok());
    assert!(nested(MAX_DEPTH - 4).unwrap_err().is_over_limit());
    assert!(nested(100_000).unwrap_err().is_over_limit());
}

#[test]
fn decodes_the_deepest_schema_on_a_small_stack() {
    let schema = Schema::of("apiextensions.k8s.io/v1", "CustomResourceDefinition").unwrap();
    // Paths from a schema to a nested one, the last segment first: 2 is the value of a map, or a list of
    // alternatives.
    let paths: [&[u16]; 6] = [&[28], &[25], &[2, 29], &[1, 24], &[2, 30], &[1, 2, 32]];
    for (path, is_split) in paths.into_iter().flat_map(|path| [(path, false), (path, true)]) {
        let nested = |levels: usize| {
            let mut writer = Writer::default();
            if is_split {
                // Metadata in two parts.
                writer.bytes_field(1, b"");
                writer.bytes_field(1, b"");
            }
            let end = writer.len();
            for number in std::iter::repeat_n(path, levels).flatten().chain(&[1, 4, 7, 2]) {
                writer.close_since(*number, end);
            }
            writer.finish()
        };
        let deepest = (0..MAX_DEPTH)
            .take_while(|levels| schema.check(&nested(*levels)).is_ok())
            .last();
        let message = nested(deepest.unwrap());
        // tokio threads have 2 MiB, a part of which is in use.
        let small = std::thread::Builder::new().stack_size(3 << 19);
        let read = move || {
            schema
                .decode::<CustomResourceDefinition>(&message, &FieldMask::none())
                .map(drop)
        };
        small.spawn(read).unwrap().join().unwrap().unwrap();
    }
}

#[test]
fn limits_the_number_of_values() {
    let schema = Schema::of("apps/v1", "DeploymentList").unwrap();
    let items = [0x12, 0x00].repeat(1_000_000);
    assert!(
        schema
            .decode::<Value>(&items, &FieldMask::none())
            .unwrap_err()
            .is_over_limit()
    );
}
