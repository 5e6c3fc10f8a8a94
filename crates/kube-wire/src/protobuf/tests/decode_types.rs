//! Decoding into types, compared with the reference.

use serde_json::Value;

use super::super::writer::Writer;
use super::super::{Envelope, Error, Schema};
use super::generator::MessageGenerator;
use crate::FieldMask;
use crate::table::table;

pub(super) fn schemas() -> impl Iterator<Item = Schema> {
    let kinds = table().kinds();
    kinds.filter_map(|(api_version, kind)| Schema::of(api_version, kind))
}

pub(super) fn reference(schema: Schema, message: &[u8]) -> Result<Value, Error> {
    Envelope::new(schema.api_version(), schema.kind(), message).decode()
}

/// Checks that types receive the values that the reference returns.
#[track_caller]
fn check_against_reference(schema: Schema, message: &[u8]) {
    let found = schema.decode::<Value>(message, &FieldMask::none());
    match (reference(schema, message), found) {
        (Ok(expected), Ok(found)) => assert_eq!(found, expected, "{schema:?} {message:?}"),
        // The reference counts more values.
        (Err(error), _) if error.is_over_limit() => {}
        (Err(_), Err(_)) => {}
        (expected, found) => panic!("{schema:?} {message:?}: {found:?} instead of {expected:?}"),
    }
}

#[test]
fn decodes_every_kind_like_the_reference() {
    let mut generator = MessageGenerator::new(7, false);
    for schema in schemas() {
        check_against_reference(schema, b"");
        for _ in 0..20 {
            let message = generator.message(schema.id, 0);
            assert!(reference(schema, &message).is_ok(), "{schema:?} {message:?}");
            check_against_reference(schema, &message);
        }
    }
}

#[test]
fn decodes_unusual_encodings_like_the_reference() {
    let mut generator = MessageGenerator::new(8, true);
    for schema in schemas() {
        for _ in 0..20 {
            let message = generator.message(schema.id, 0);
            assert!(reference(schema, &message).is_ok(), "{schema:?} {message:?}");
            check_against_reference(schema, &message);
        }
    }
}

#[test]
fn rejects_invalid_values_before_an_empty_one() {
    // A truncated time, then an empty one, which is omitted.
    let metadata = b"\x42\x02\x08\x80\x42\x00";
    let message = [&[0x0a, 0x06][..], metadata].concat();
    let schema = Schema::of("v1", "Pod").unwrap();
    assert!(schema.decode::<Value>(&message, &FieldMask::none()).is_err());
    check_against_reference(schema, &message);
}

/// Returns a message with these fields in this order.
fn message(fields: &[(u16, &[u8])]) -> Vec<u8> {
    let mut writer = Writer::default();
    // The writer works from the end.
    for (number, content) in fields.iter().rev() {
        writer.bytes_field(*number, content);
    }
    writer.finish()
}

#[test]
fn reads_list_messages_to_their_end() {
    let request = Schema::of("certificates.k8s.io/v1", "CertificateSigningRequest").unwrap();
    let signing = |extra: &[u8]| message(&[(2, &message(&[(6, &message(&[(1, b"k"), (2, extra)]))]))]);
    let newer_between = message(&[(1, b"a"), (9, b""), (1, b"b")]);
    let found: Value = request
        .decode(&signing(&newer_between), &FieldMask::none())
        .unwrap();
    assert_eq!(found["spec"]["extra"]["k"], serde_json::json!(["a", "b"]));
    let garbage_after = [&message(&[(1, b"a")])[..], b"\x0f\xff\xff"].concat();
    assert!(
        request
            .decode::<Value>(&signing(&garbage_after), &FieldMask::none())
            .is_err()
    );
    for extra in [newer_between, garbage_after] {
        check_against_reference(request, &signing(&extra));
    }

    let definition = Schema::of("apiextensions.k8s.io/v1", "CustomResourceDefinition").unwrap();
    let defining =
        |schema: &[u8]| message(&[(2, &message(&[(7, &message(&[(4, &message(&[(1, schema)]))]))]))]);
    let title = message(&[(5, b"t")]);
    for alternative in [
        message(&[(2, &title), (9, b""), (2, b"")]),
        message(&[(2, &title), (1, &title), (2, b"")]),
        message(&[(2, &title), (1, &title)]),
        message(&[(1, &title), (2, &title)]),
        // A number instead of a schema.
        [&message(&[(2, b"")])[..], b"\x08\x01"].concat(),
        [&message(&[(2, b"")])[..], b"\x0f"].concat(),
    ] {
        // 24 is `items`, 32 is `dependencies`, by name.
        check_against_reference(definition, &defining(&message(&[(24, &alternative)])));
        let dependency = message(&[(1, b"k"), (2, &alternative)]);
        check_against_reference(definition, &defining(&message(&[(32, &dependency)])));
    }
}

#[test]
fn decodes_mutated_messages_like_the_reference() {
    for messy in [false, true] {
        let mut generator = MessageGenerator::new(9, messy);
        for kind in ["Pod", "Service", "Secret", "Event", "List", "PodTemplate"] {
            let schema = Schema::of("v1", kind).unwrap();
            let message = generator.message(schema.id, 0);
            let mut changed = message.clone();
            for at in 0..message.len().min(3000) {
                check_against_reference(schema, &message[..at]);
                for change in [0x01, 0x08, 0x80, 0xff] {
                    changed[at] ^= change;
                    check_against_reference(schema, &changed);
                    changed[at] = message[at];
                }
            }
        }
    }
}
