//! Metadata without the object.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use super::super::Schema;
use super::super::writer::Writer;
use super::decode_types::{reference, schemas};
use super::generator::MessageGenerator;
use crate::FieldMask;
use crate::selector::Selector;

#[test]
fn metadata_is_equal_to_that_of_the_object() {
    for messy in [false, true] {
        let mut generator = MessageGenerator::new(11, messy);
        for schema in schemas().filter(|schema| schema.metadata.is_some()) {
            for _ in 0..10 {
                let message = generator.message(schema.id, 0);
                let object = reference(schema, &message).unwrap();
                let metadata = &object["metadata"];
                let identity = schema.identity(&message).unwrap();
                for (name, found) in [
                    ("name", &identity.name),
                    ("namespace", &identity.namespace),
                    ("resourceVersion", &identity.resource_version),
                    ("uid", &identity.uid),
                ] {
                    assert_eq!(
                        metadata[name].as_str().unwrap_or_default(),
                        *found,
                        "{schema:?} {name}"
                    );
                }
                let labels: BTreeMap<String, String> = schema
                    .labels(&message)
                    .map(|label| label.map(|(key, value)| (key.into(), value.into())))
                    .collect::<Result<_, _>>()
                    .unwrap();
                let expected: Option<BTreeMap<String, String>> =
                    serde_json::from_value(metadata["labels"].clone()).unwrap();
                assert_eq!(labels, expected.unwrap_or_default());
                for (key, value) in &labels {
                    assert_eq!(schema.label(&message, key).unwrap().as_deref(), Some(&**value));
                }
                assert_eq!(schema.label(&message, "no label").unwrap(), None);
                for selector in ["", "a", "!a", "name=b", "a in (a, b)", "a.b/c!=a"] {
                    let selector: Selector = selector.parse().unwrap();
                    assert_eq!(
                        schema.matches(&message, &selector).unwrap(),
                        selector.matches(&labels)
                    );
                }
                let found: Value = schema.metadata(&message, &FieldMask::none()).unwrap();
                assert_eq!(found, *metadata);
            }
        }
    }
}

#[test]
fn matches_invalid_utf8_in_labels_as_printed() {
    let schema = Schema::of("v1", "Pod").unwrap();
    // a: \xff, then a: b
    let message = b"\x0a\x10\x5a\x06\x0a\x01a\x12\x01\xff\x5a\x06\x0a\x01a\x12\x01b";
    let selects = |text: &str| schema.matches(message, &text.parse().unwrap()).unwrap();
    assert!(selects("a=b") && selects("a") && !selects("a!=b"));
    let labels: Vec<_> = schema.labels(message).map(|label| label.unwrap().1).collect();
    assert_eq!(labels, ["\u{fffd}", "b"]);
    assert_eq!(schema.label(message, "a").unwrap().as_deref(), Some("b"));
    // \xff: b, then \xfe: \xff
    let message = b"\x0a\x10\x5a\x06\x0a\x01\xff\x12\x01b\x5a\x06\x0a\x01\xfe\x12\x01\xff";
    let label = schema.label(message, "\u{fffd}").unwrap();
    assert_eq!(label.as_deref(), Some("\u{fffd}"));
}

#[test]
fn matches_many_invalid_labels_in_linear_time() {
    let schema = Schema::of("v1", "Pod").unwrap();
    // a: b, many empty labels, \xff, a: c. A quadratic algorithm would take minutes.
    let metadata = [
        &b"\x5a\x06\x0a\x01a\x12\x01b"[..],
        &b"\x5a\x00".repeat(1_500_000),
        b"\x5a\x03\x0a\x01\xff\x5a\x06\x0a\x01a\x12\x01c",
    ]
    .concat();
    let mut writer = Writer::default();
    writer.bytes_field(1, &metadata);
    let message = writer.finish();
    let selector: Selector = "a=c".parse().unwrap();
    assert!(schema.matches(&message, &selector).unwrap());
}

#[test]
fn metadata_applies_the_mask() {
    #[derive(Deserialize)]
    struct NameOnly<'a> {
        name: &'a str,
    }
    let mut generator = MessageGenerator::new(12, false);
    let schema = Schema::of("v1", "Pod").unwrap();
    let mut had_some = false;
    for _ in 0..50 {
        let message = generator.message(schema.id, 0);
        let all: Value = schema.metadata(&message, &FieldMask::none()).unwrap();
        let pruned: Value = schema.metadata(&message, &FieldMask::managed_fields()).unwrap();
        had_some |= all.get("managedFields").is_some();
        assert_eq!(pruned.get("managedFields"), None);
        if let Ok(NameOnly { name }) = schema.metadata(&message, &FieldMask::none()) {
            assert_eq!(all["name"], name);
        }
    }
    assert!(had_some);
}

#[test]
fn messages_without_metadata_have_no_identity() {
    let schema = Schema::of("v1", "PodList").unwrap();
    assert_eq!(
        schema.identity(b"\x0a\x03\x12\x01\x37").unwrap(),
        crate::Identity::default()
    );
    assert_eq!(schema.labels(b"\x0a\x03\x12\x01\x37").count(), 0);
    assert!(
        Schema::of("v1", "Pod")
            .unwrap()
            .identity(b"\x0a\x05\x0a")
            .is_err()
    );
    let mut broken = Schema::of("v1", "Pod").unwrap().labels(b"\x0a\x02\x5a\x05");
    assert!(broken.next().unwrap().is_err());
    assert!(broken.next().is_none());
}
