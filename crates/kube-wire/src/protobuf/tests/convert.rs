//! Values that JSON and protobuf represent differently.

use serde_json::{Value, json};

use super::super::{decode_message, encode_message, time};
use super::{CORE, META};

/// Checks that a value is encoded to these bytes and decoded from them.
#[track_caller]
fn check_round_trip(message: &str, value: &Value, bytes: &[u8]) {
    assert_eq!(
        encode_message(message, value).unwrap(),
        bytes,
        "{value} as {message}"
    );
    assert_eq!(
        decode_message(message, bytes).unwrap(),
        *value,
        "{bytes:?} as {message}"
    );
}

#[test]
fn encodes_small_messages_to_known_bytes() {
    let core = |name: &str| format!("{CORE}{name}");
    // int-or-string, inlined messages, a pointer to zero
    check_round_trip(
        &core("HTTPGetAction"),
        &json!({"port": -1}),
        b"\x0a\x00\x12\x0f\x08\x00\x10\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x1a\x00\x1a\x00\x22\x00",
    );
    check_round_trip(
        &core("TCPSocketAction"),
        &json!({"port": "web"}),
        b"\x0a\x09\x08\x01\x10\x00\x1a\x03web\x12\x00",
    );
    check_round_trip(
        &core("ConfigMapKeySelector"),
        &json!({"name": "a", "key": "k", "optional": false}),
        b"\x0a\x03\x0a\x01a\x12\x01k\x18\x00",
    );
    // base64, which is only omitted if it is nil
    check_round_trip(
        &core("Secret"),
        &json!({"metadata": {}, "data": {"a": "", "b": "AP8="}}),
        b"\x0a\x10\x0a\x00\x12\x00\x1a\x00\x22\x00\x2a\x00\x32\x00\x38\x00\x42\x00\
          \x12\x05\x0a\x01a\x12\x00\x12\x07\x0a\x01b\x12\x02\x00\xff\x1a\x00",
    );
    // quantities in a map, sorted by key
    check_round_trip(
        &core("ResourceQuotaStatus"),
        &json!({"hard": {"cpu": "500m", "memory": "1Gi"}}),
        b"\x0a\x0d\x0a\x03cpu\x12\x06\x0a\x04500m\x0a\x0f\x0a\x06memory\x12\x05\x0a\x031Gi",
    );
    // a list in its own message
    check_round_trip(
        "k8s.io.api.authentication.v1.UserInfo",
        &json!({"extra": {"a": ["x", "y"], "b": []}}),
        b"\x0a\x00\x12\x00\x22\x0b\x0a\x01a\x12\x06\x0a\x01x\x0a\x01y\x22\x05\x0a\x01b\x12\x00",
    );
    // any JSON
    check_round_trip(
        &format!("{META}ManagedFieldsEntry"),
        &json!({"fieldsV1": {"f:a": {}}}),
        b"\x0a\x00\x12\x00\x1a\x00\x32\x00\x3a\x0c\x0a\x0a{\"f:a\":{}}\x42\x00",
    );
    // an unpacked list of numbers
    check_round_trip(
        &core("PodSecurityContext"),
        &json!({"supplementalGroups": [1, 300]}),
        b"\x20\x01\x20\xac\x02",
    );
}

#[test]
fn decodes_packed_numbers() {
    assert_eq!(
        decode_message(
            "k8s.io.api.core.v1.PodSecurityContext",
            b"\x22\x03\x01\xac\x02\x20\x05"
        )
        .unwrap(),
        json!({"supplementalGroups": [1, 300, 5]})
    );
}

#[test]
fn converts_schema_alternatives() {
    let name = "k8s.io.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps";
    for schema in [
        json!({"additionalProperties": true}),
        json!({"additionalProperties": false}),
        json!({"additionalProperties": {"type": "string"}}),
        json!({"items": {"type": "string"}}),
        json!({"items": [{"type": "string"}, {}]}),
        json!({"items": null}),
        json!({"dependencies": {"a": ["b"], "c": {"type": "string"}, "d": null}}),
        json!({"default": {"a": [1, null, "x"]}, "enum": [1, "a", null], "example": false}),
        json!({"maximum": 1, "minimum": -0.5, "multipleOf": 1e300}),
        json!({"$ref": "x", "$schema": "y", "x-kubernetes-int-or-string": true}),
    ] {
        let bytes = encode_message(name, &schema).unwrap();
        let mut expected = schema;
        // JSON `null` is encoded as a pointer to an empty message.
        if expected == json!({"items": null}) {
            expected = json!({});
        }
        assert_eq!(decode_message(name, &bytes).unwrap(), expected);
    }
    assert!(encode_message(name, &json!({"additionalProperties": []})).is_err());
    assert!(encode_message(name, &json!({"additionalProperties": 1})).is_err());
}

#[test]
fn replaces_each_invalid_byte() {
    assert_eq!(
        decode_message(
            "k8s.io.api.core.v1.LocalObjectReference",
            b"\x0a\x06a\xff\xe2\x82b\xc3"
        )
        .unwrap(),
        json!({"name": "a\u{fffd}\u{fffd}\u{fffd}b\u{fffd}"})
    );
}

#[test]
fn decodes_objects_embedded_in_envelopes() {
    let bytes = super::encode(&super::scale()).unwrap();
    let event = super::WatchEvent {
        event_type: "ADDED",
        object: &bytes,
    };
    assert_eq!(
        decode_message(&format!("{META}WatchEvent"), &event.to_frame()[4..]).unwrap(),
        json!({"type": "ADDED", "object": super::scale()})
    );
}

#[test]
fn converts_times_in_both_directions() {
    for (text, seconds, nanos) in [
        ("1970-01-01T00:00:00Z", 0, 0),
        ("2026-02-28T23:59:59Z", 1_772_323_199, 0),
        ("2024-02-29T12:00:00Z", 1_709_208_000, 0),
        ("1969-12-31T23:59:59Z", -1, 0),
        ("0000-01-01T00:00:00Z", -62_167_219_200, 0),
        ("0001-01-01T00:00:00Z", time::ZERO, 0),
        ("9999-12-31T23:59:59Z", 253_402_300_799, 0),
    ] {
        assert_eq!(time::parse(text), Some((seconds, nanos)), "{text}");
        assert_eq!(time::format(seconds, None).unwrap().as_str(), text);
    }
    assert_eq!(
        time::format(1, Some(20)).unwrap().as_str(),
        "1970-01-01T00:00:01.000020Z"
    );
    for (text, expected) in [
        ("1970-01-01T01:00:00+01:00", (0, 0)),
        ("1969-12-31T19:30:00-04:30", (0, 0)),
        ("1970-01-01T00:00:00.5Z", (0, 500_000_000)),
        ("1970-01-01T00:00:00.1234567899Z", (0, 123_456_789)),
    ] {
        assert_eq!(time::parse(text), Some(expected), "{text}");
    }
    for text in [
        "",
        "now",
        "1970-01-01",
        "1970-01-01T00:00:00",
        "1970-01-01 00:00:00Z",
        "1970-13-01T00:00:00Z",
        "2025-02-29T00:00:00Z",
        "1970-01-00T00:00:00Z",
        "1970-01-01T24:00:00Z",
        "1970-01-01T00:60:00Z",
        "1970-01-01T00:00:60Z",
        "1970-01-01T00:00:00.Z",
        "1970-01-01T00:00:00+1:00",
        "1970-01-01T00:00:00Zz",
        "+970-01-01T00:00:00Z",
        "１970-01-01T00:00:00Z",
    ] {
        assert_eq!(time::parse(text), None, "{text:?}");
    }
    for seconds in [i64::MIN, i64::MAX, 253_402_300_800, -62_167_219_201] {
        assert!(time::format(seconds, None).is_none(), "{seconds}");
    }
}

#[test]
fn zero_time_is_null() {
    let status = format!("{META}Condition");
    let condition = decode_message(&status, b"").unwrap();
    assert_eq!(condition["lastTransitionTime"], Value::Null);
    let with = |time: &str| {
        let bytes = encode_message(&status, &json!({ "lastTransitionTime": time })).unwrap();
        decode_message(&status, &bytes).unwrap()["lastTransitionTime"].clone()
    };
    assert_eq!(with("0001-01-01T00:00:00Z"), Value::Null);
    assert_eq!(with("2026-01-02T03:04:05.678+01:00"), "2026-01-02T02:04:05Z");
    let lease = "k8s.io.api.coordination.v1.LeaseSpec";
    let bytes = encode_message(lease, &json!({"renewTime": "2026-01-02T03:04:05.678901Z"})).unwrap();
    assert_eq!(
        decode_message(lease, &bytes).unwrap(),
        json!({"renewTime": "2026-01-02T03:04:05.678901Z"})
    );
}
