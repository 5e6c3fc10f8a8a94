//! Malformed and malicious input.

use serde_json::{Value, json};

use super::super::decode::VALUES_PER_BYTE;
use super::super::writer::Writer;
use super::super::{Envelope, MAX_DEPTH, WatchEvent, decode, decode_message, encode, encode_message};
use super::SCALE;
use crate::table::table;

const SCHEMA: &str = "k8s.io.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps";

fn objects() -> Vec<Vec<u8>> {
    let pod = json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {
            "name": "a", "labels": {"a": "b", "c": "d"}, "creationTimestamp": "2026-01-02T03:04:05Z",
            "managedFields": [{"manager": "m", "fieldsV1": {"f:a": {"f:b": {}}}, "time": "2026-01-02T03:04:05Z"}],
        },
        "spec": {
            "containers": [{
                "name": "c",
                "ports": [{"containerPort": 80}],
                "resources": {"limits": {"cpu": "1", "memory": "1Gi"}},
                "livenessProbe": {"httpGet": {"port": "web"}},
                "env": [{"name": "A", "valueFrom": {"configMapKeyRef": {"name": "m", "key": "k"}}}],
            }],
            "volumes": [{"name": "v", "secret": {"secretName": "s", "defaultMode": 420}}],
            "securityContext": {"supplementalGroups": [1, 2]},
        },
    });
    let crd = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "spec": {"versions": [{"name": "v1", "schema": {"openAPIV3Schema": {
            "type": "object", "default": {"a": 1}, "maximum": 1.5,
            "properties": {"a": {"items": [{}, {"enum": ["x"]}], "additionalProperties": true}},
        }}}]},
    });
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "data": {"a": "AAEC"}, "immutable": true});
    let objects = [pod, crd, secret].map(|object| encode(&object).unwrap());
    objects.into_iter().chain([SCALE.to_vec()]).collect()
}

#[test]
fn truncated_objects_never_panic() {
    for bytes in objects() {
        for len in 0..bytes.len() {
            if let Ok(object) = decode(&bytes[..len]) {
                assert!(object.is_object());
            }
        }
    }
}

#[test]
fn mutated_objects_never_panic() {
    let mut random = fastrand::Rng::with_seed(36);
    let objects = objects();
    for round in 0..40_000 {
        let mut bytes = objects[round % objects.len()].clone();
        for _ in 0..random.usize(1..6) {
            let at = random.usize(0..bytes.len());
            match random.u8(0..6) {
                0 => bytes[at] = random.u8(..),
                1 => bytes[at] ^= 1 << random.u8(0..8),
                2 => bytes[at] = 0xff,
                3 => bytes.insert(at, random.u8(..)),
                4 => drop(bytes.drain(at..(at + random.usize(0..8)).min(bytes.len()))),
                _ => {
                    let piece: Vec<u8> = bytes[at..(at + random.usize(0..32)).min(bytes.len())].to_vec();
                    let to = random.usize(0..=bytes.len());
                    bytes.splice(to..to, piece);
                }
            }
            if bytes.is_empty() {
                bytes.push(0);
            }
        }
        if let Ok(object) = decode(&bytes) {
            // Decoded objects can be encoded. A second round trip changes nothing.
            let object = round_trip(&object);
            assert_eq!(round_trip(&object), object);
        }
        let _ = WatchEvent::parse(&bytes);
    }
}

fn round_trip(object: &Value) -> Value {
    decode(&encode(object).unwrap()).unwrap()
}

#[test]
fn random_bytes_never_panic() {
    let mut random = fastrand::Rng::with_seed(1);
    for name in table().names() {
        for len in 0..24 {
            let bytes: Vec<u8> = (0..len).map(|_| random.u8(0..0x40)).collect();
            let _ = decode_message(&name, &bytes);
        }
    }
}

#[test]
fn limits_nesting() {
    // 28 is `not`, a schema in a schema.
    let nested = |levels: usize| {
        let mut writer = Writer::default();
        for _ in 0..levels {
            writer.close_since(28, 0);
        }
        writer.finish()
    };
    assert!(decode_message(SCHEMA, &nested(MAX_DEPTH - 1)).is_ok());
    assert!(
        decode_message(SCHEMA, &nested(MAX_DEPTH))
            .unwrap_err()
            .is_over_limit()
    );
    assert!(
        decode_message(SCHEMA, &nested(100_000))
            .unwrap_err()
            .is_over_limit()
    );

    let mut schema = json!({});
    for _ in 0..MAX_DEPTH - 1 {
        schema = json!({ "not": schema });
    }
    assert_eq!(
        decode_message(SCHEMA, &encode_message(SCHEMA, &schema).unwrap()).unwrap(),
        schema
    );
    let deeper = json!({ "not": schema });
    assert!(encode_message(SCHEMA, &deeper).unwrap_err().is_over_limit());
}

#[test]
fn limits_nesting_of_envelopes() {
    let mut bytes = Envelope::new("v1", "List", b"").to_bytes();
    for _ in 0..1000 {
        let mut writer = Writer::default();
        writer.bytes_field(1, &bytes);
        writer.close_since(2, 0);
        bytes = Envelope::new("v1", "List", &writer.finish()).to_bytes();
    }
    assert!(decode(&bytes).unwrap_err().is_over_limit());
}

#[test]
fn skips_nested_groups_without_recursion() {
    let open = [0xa3, 0x06].repeat(1_000_000);
    let close = [0xa4, 0x06].repeat(1_000_000);
    let name = "k8s.io.api.core.v1.LocalObjectReference";
    assert!(decode_message(name, &open).is_err());
    assert_eq!(decode_message(name, &[open, close].concat()).unwrap(), json!({}));
}

#[test]
fn limits_the_number_of_values() {
    let items = [0x12, 0x00].repeat(1_000_000);
    let list = Envelope::new("apps/v1", "DeploymentList", &items).to_bytes();
    assert!(decode(&list).unwrap_err().is_over_limit());
}

#[test]
fn limit_allows_all_output_of_kubernetes() {
    for name in table().names() {
        let bytes = encode_message(&name, &Value::Null).unwrap();
        let values = count(&decode_message(&name, &bytes).unwrap());
        // In another message it has a header of two bytes.
        let len = bytes.len() + 2;
        assert!(
            values <= len * VALUES_PER_BYTE,
            "{name}: {values} values of {len} bytes"
        );
    }
}

fn count(value: &Value) -> usize {
    match value {
        Value::Array(values) => 1 + values.iter().map(count).sum::<usize>(),
        Value::Object(object) => 1 + object.values().map(count).sum::<usize>(),
        _ => 1,
    }
}
