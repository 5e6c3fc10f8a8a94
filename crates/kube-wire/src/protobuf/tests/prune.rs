//! Messages without masked fields.

use serde_json::{Value, json};

use super::super::Schema;
use super::decode_types::schemas;
use super::generator::MessageGenerator;
use crate::FieldMask;
use crate::test_util::remove_field;

/// Collects random paths of a value.
fn paths(value: &Value, path: &str, random: &mut fastrand::Rng, found: &mut Vec<String>) {
    match value {
        Value::Array(values) => values.iter().for_each(|value| paths(value, path, random, found)),
        Value::Object(members) => {
            for (key, value) in members.iter().filter(|(key, _)| !key.is_empty()) {
                let path = format!("{path}[{key}]");
                if random.u8(..) < 25 {
                    found.push(path);
                } else {
                    paths(value, &path, random, found);
                }
            }
        }
        _ => {}
    }
}

/// Removes empty objects and null: a map without entries is empty, null or absent.
fn without_empty(value: &mut Value) {
    match value {
        Value::Array(values) => values.iter_mut().for_each(without_empty),
        Value::Object(members) => {
            members.values_mut().for_each(without_empty);
            members.retain(|_, value| *value != json!({}) && !value.is_null());
        }
        _ => {}
    }
}

#[test]
fn prune_and_decode_apply_the_same_mask() {
    for messy in [false, true] {
        let mut generator = MessageGenerator::new(13, messy);
        let mut random = fastrand::Rng::with_seed(14);
        for schema in schemas() {
            for _ in 0..8 {
                let message = generator.message(schema.id, 0);
                let mut expected: Value = schema.decode(&message, &FieldMask::none()).unwrap();
                let mut found = Vec::new();
                paths(&expected, "", &mut random, &mut found);
                let mut mask = FieldMask::none();
                for path in found {
                    let Ok(more) = mask.clone().path(&path) else {
                        continue;
                    };
                    mask = more;
                    let steps: Vec<&str> = path.split(['[', ']']).filter(|step| !step.is_empty()).collect();
                    remove_field(&mut expected, &steps);
                }
                let skipped: Value = schema.decode(&message, &mask).unwrap();
                assert_eq!(skipped, expected, "{schema:?} {mask:?} {message:?}");

                let mut pruned = b"before".to_vec();
                schema.prune(&message, &mask, &mut pruned).unwrap();
                assert!(pruned.starts_with(b"before"));
                let mut left: Value = schema.decode(&pruned[6..], &mask).unwrap();
                without_empty(&mut left);
                without_empty(&mut expected);
                assert_eq!(left, expected, "{schema:?} {mask:?} {message:?}");
                if mask.is_empty() {
                    assert_eq!(&pruned[6..], message);
                }
            }
        }
    }
}

#[test]
fn pruned_messages_equal_output_of_kubernetes() {
    let name = "k8s.io.api.core.v1.Pod";
    let fields = json!([{"manager": "m", "fieldsV1": {"f:a": "x".repeat(300)}}]);
    let pod =
        json!({"metadata": {"name": "a", "managedFields": fields}, "spec": {"containers": [{"name": "c"}]}});
    let mut without = pod.clone();
    without["metadata"]
        .as_object_mut()
        .unwrap()
        .remove("managedFields");
    let mut pruned = Vec::new();
    let message = super::encode_message(name, &pod).unwrap();
    let schema = Schema::of("v1", "Pod").unwrap();
    schema
        .prune(&message, &FieldMask::managed_fields(), &mut pruned)
        .unwrap();
    assert_eq!(pruned, super::encode_message(name, &without).unwrap());
}

#[test]
fn keeps_unknown_fields() {
    // 100 in the object and in its metadata, around managedFields (17)
    let message = b"\xa0\x06\x01\x0a\x09\xa0\x06\x01\x8a\x01\x00\xa0\x06\x02";
    let mut pruned = Vec::new();
    let schema = Schema::of("v1", "Pod").unwrap();
    schema
        .prune(message, &FieldMask::managed_fields(), &mut pruned)
        .unwrap();
    assert_eq!(pruned, b"\xa0\x06\x01\x0a\x06\xa0\x06\x01\xa0\x06\x02");
}

#[test]
fn failed_prune_leaves_output_unchanged() {
    let mut out = b"before".to_vec();
    let schema = Schema::of("v1", "Pod").unwrap();
    for message in [&b"\x0a\x03\x8a\x01\x05"[..], b"\x12\x00\x0a\x09", b"\x08\x01"] {
        assert!(
            schema
                .prune(message, &FieldMask::managed_fields(), &mut out)
                .is_err()
        );
        assert_eq!(out, b"before");
    }
}
