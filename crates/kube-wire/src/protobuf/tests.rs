mod convert;
mod coverage;
mod custom_types;
mod decode_types;
mod generator;
mod kubernetes_types;
mod list_encoder;
mod list_reader;
mod malformed_input;
mod metadata;
mod prune;

use bytes::Bytes;
use serde_json::{Value, json};

use super::*;

const CORE: &str = "k8s.io.api.core.v1.";
const META: &str = "k8s.io.apimachinery.pkg.apis.meta.v1.";

/// A scale named `a` as Kubernetes encodes it, including zero values.
const SCALE: &[u8] = b"k8s\0\
    \x0a\x17\x0a\x0eautoscaling/v1\x12\x05Scale\
    \x12\x1d\
    \x0a\x11\x0a\x01a\x12\x00\x1a\x00\x22\x00\x2a\x00\x32\x00\x38\x00\x42\x00\
    \x12\x02\x08\x03\
    \x1a\x04\x08\x00\x12\x00\
    \x1a\x00\x22\x00";

fn scale() -> Value {
    json!({
        "apiVersion": "autoscaling/v1",
        "kind": "Scale",
        "metadata": {"name": "a"},
        "spec": {"replicas": 3},
        "status": {"replicas": 0},
    })
}

#[test]
fn decodes_and_encodes_an_object() {
    assert_eq!(decode(SCALE).unwrap(), scale());
    assert_eq!(encode(&scale()).unwrap(), SCALE);
}

#[test]
fn parses_and_encodes_an_envelope() {
    let envelope = Envelope::parse(SCALE).unwrap();
    assert_eq!((envelope.api_version, envelope.kind), ("autoscaling/v1", "Scale"));
    assert_eq!(envelope.to_bytes(), SCALE);
    let full = Envelope {
        content_encoding: "gzip",
        content_type: "application/json",
        ..envelope
    };
    assert_eq!(Envelope::parse(&full.to_bytes()).unwrap(), full);
}

#[test]
fn kind_of_an_envelope_can_be_set() {
    let raw = Envelope::parse(SCALE).unwrap().raw;
    let bytes = Envelope::new("", "", raw).to_bytes();
    assert!(decode(&bytes).unwrap_err().is_unknown_kind());
    let mut envelope = Envelope::parse(&bytes).unwrap();
    (envelope.api_version, envelope.kind) = ("autoscaling/v1", "Scale");
    assert_eq!(envelope.decode().unwrap(), scale());
}

#[test]
fn distinguishes_unknown_kinds_from_other_errors() {
    let widget = json!({"apiVersion": "example.org/v1", "kind": "Widget"});
    let unknown = [
        encode(&widget).unwrap_err(),
        encode(&json!([])).unwrap_err(),
        decode(&Envelope::new("example.org/v1", "Widget", b"").to_bytes()).unwrap_err(),
        decode_message("Widget", b"").unwrap_err(),
        ListEncoder::new("v1", "Pod").unwrap_err(),
    ];
    for error in unknown {
        assert!(error.is_unknown_kind(), "{error}");
    }
    let error = decode(b"{}").unwrap_err();
    assert!(error.is_not_protobuf() && !error.is_unknown_kind(), "{error}");
}

#[test]
fn errors_contain_the_path() {
    let cases = [
        (
            json!({"spec": {"containers": [{}, {"name": 1}]}}),
            "spec.containers[1].name: expected a string",
        ),
        (
            json!({"spec": {"nodeSelector": {"a.b": 1}}}),
            "spec.nodeSelector[\"a.b\"]: expected a string",
        ),
        (
            json!({"spec": {"volumes": [{"emptyDir": 1}]}}),
            "spec.volumes[0].emptyDir: expected an object",
        ),
        (json!({"metadata": 1}), "metadata: expected an object"),
        (
            json!({"metadata": {"labels": []}}),
            "metadata.labels: expected an object",
        ),
        (
            json!({"metadata": {"finalizers": {}}}),
            "metadata.finalizers: expected a list",
        ),
        (
            json!({"spec": {"priority": 2_147_483_648_i64}}),
            "spec.priority: expected a 32-bit integer",
        ),
        (
            json!({"metadata": {"generation": 1.5}}),
            "metadata.generation: expected a 64-bit integer",
        ),
        (
            json!({"spec": {"hostNetwork": "yes"}}),
            "spec.hostNetwork: expected a boolean",
        ),
        (
            json!({"metadata": {"creationTimestamp": "today"}}),
            "metadata.creationTimestamp: expected an RFC 3339 time",
        ),
    ];
    for (pod, expected) in cases {
        let error = encode_message("k8s.io.api.core.v1.Pod", &pod).unwrap_err();
        assert_eq!(error.to_string(), expected);
    }
    let labels_cut_off = b"\x0a\x04\x5a\x02\x0a\x05";
    let error = decode_message("k8s.io.api.core.v1.Pod", labels_cut_off).unwrap_err();
    assert_eq!(
        error.to_string(),
        "metadata.labels: malformed protobuf: truncated field"
    );
}

#[test]
fn prints_absent_values_that_go_does_not_hold_by_pointer() {
    let spec =
        json!({"selector": null, "template": {"metadata": {}, "spec": {"containers": null}}, "strategy": {}});
    let deployment = json!({"metadata": {}, "spec": spec, "status": {}});
    assert_eq!(
        decode_message("k8s.io.api.apps.v1.Deployment", b"").unwrap(),
        deployment
    );
    // Different JSON of the same object.
    let short = encode_message("k8s.io.api.apps.v1.Deployment", &json!({})).unwrap();
    let long = encode_message("k8s.io.api.apps.v1.Deployment", &deployment).unwrap();
    assert_eq!(short, long);
}

#[test]
fn accepts_fields_in_any_order_and_split_messages() {
    let name = &format!("{META}ObjectMeta");
    let cases: [(&[u8], Value); 6] = [
        // the last number counts
        (b"\x38\x01\x38\x02", json!({"generation": 2})),
        // the parts of a list are separated by another field
        (b"\x72\x01a\x38\x01\x72\x01b", json!({"finalizers": ["a", "b"], "generation": 1})),
        // the last entry counts; key or value may be missing
        (
            b"\x5a\x06\x0a\x01a\x12\x01b\x5a\x06\x12\x01c\x0a\x01a\x5a\x03\x0a\x01d\x5a\x00",
            json!({"labels": {"a": "c", "d": "", "": ""}}),
        ),
        // fields in descending order
        (b"\x1a\x01n\x0a\x01a", json!({"name": "a", "namespace": "n"})),
        // unknown fields of every wire type: 100 (varint, 64 bits, bytes, nested groups, 32 bits)
        (
            b"\xa0\x06\x01\xa1\x0612345678\xa2\x06\x01x\xa3\x06\xa3\x06\xa0\x06\x01\xa4\x06\xa4\x06\xa5\x061234\x0a\x01a",
            json!({"name": "a"}),
        ),
        (b"", json!({})),
    ];
    for (bytes, expected) in cases {
        assert_eq!(decode_message(name, bytes).unwrap(), expected);
    }
    let pieces = b"\x0a\x03\x0a\x01a\x0a\x03\x1a\x01n";
    assert_eq!(
        decode_message("k8s.io.api.core.v1.ConfigMap", pieces).unwrap(),
        json!({"metadata": {"name": "a", "namespace": "n"}})
    );
}

#[test]
fn ignores_unknown_fields() {
    let mut more = scale();
    more["spec"]["more"] = json!({"a": [1]});
    more["more"] = json!(1);
    assert_eq!(encode(&more).unwrap(), SCALE);
}

#[test]
fn debug_output_contains_no_data() {
    let secret = encode(&json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a", "labels": {"l": "hidden"}}, "stringData": {"k": "hidden"},
    }))
    .unwrap();
    let envelope = Envelope::parse(&secret).unwrap();
    let event = WatchEvent {
        event_type: "ADDED",
        object: &secret,
    };
    let mut frames = FrameReader::new(MAX_FRAME);
    let mut list = ListReader::new(MAX_FRAME);
    let items = ListEncoder::new("v1", "SecretList").unwrap();
    let body = items.head(&json!({}), 100).unwrap();
    for piece in [&event.to_frame()[..], &secret] {
        frames.push(Bytes::copy_from_slice(piece));
    }
    // Read the first frame, so that the rest stays in the buffer.
    frames.next().unwrap();
    list.push(Bytes::from([&body[..], &secret].concat()));
    let head = list.next().unwrap();
    let schema = Schema::of("v1", "Secret").unwrap();
    let printed = format!(
        "{envelope:?} {event:?} {frames:?} {list:?} {head:?} {:?} {:?}",
        ListEvent::Item(Bytes::copy_from_slice(&secret)),
        schema.labels(envelope.raw),
    );
    for hidden in ["hidden", "104, 105, 100, 100, 101, 110"] {
        assert!(!printed.contains(hidden), "{printed}");
    }
    // Types and lengths are shown.
    for text in ["Secret", "ADDED", &format!("{} bytes", secret.len())] {
        assert!(printed.contains(text), "missing {text} in {printed}");
    }
}
