//! Objects. An input is a byte that selects the kind, one that selects a field mask, and the message.

use std::collections::BTreeMap;

use kube_wire::FieldMask;
use kube_wire::protobuf::{Envelope, Error, Schema, decode, encode};
use serde_json::{Value, json};

use super::CUTTING;
use super::kinds::KINDS;
use crate::choices::Choices;
use crate::memory::Bound;
use crate::objects::{PATHS, assert_identity, labels, remove, skip_of, without_empty};

/// JSON has names instead of numbers, and contains empty values: there may be two values for each byte, and
/// each is an entry of a map.
const AS_JSON: Bound = Bound {
    base: 4 << 20,
    per_byte: 2 << 10,
};

/// All readers agree about an object.
pub(crate) fn object(data: &[u8]) {
    let mut choices = Choices::of(data);
    let kind = choices.pick(KINDS);
    let paths = choices.pick(&PATHS);
    let message = choices.rest();
    let schema = kind.schema();

    let printed = AS_JSON.keep(message.len(), || printed(schema, message));
    let value = AS_JSON.keep(message.len(), || {
        schema.decode::<Value>(message, &FieldMask::none())
    });
    match (&printed, &value) {
        (Ok(printed), Ok(value)) => assert_eq!(value, printed),
        (Err(error), _) if error.is_over_limit() => {}
        (Err(_), Err(_)) => {}
        (printed, value) => panic!("expected {printed:?}, found {value:?}"),
    }
    let checked = CUTTING.keep(message.len(), || schema.check(message));
    let read = kind.read(message);
    if kind.is_covered && checked.is_ok() {
        read.expect("a valid message can be decoded");
    }
    if let Ok(printed) = &printed {
        kind.assert_like_json(message, printed);
        let again = written_and_read(printed);
        assert_eq!(written_and_read(&again), again);
    }
    if let Ok(value) = &value {
        assert_metadata(schema, message, value);
        assert_pruned(schema, message, value, paths);
    } else {
        // These readers validate less, and may find no error.
        let _ = schema.identity(message);
        let _ = schema.prune(message, &skip_of(paths), &mut Vec::new());
    }
}

fn printed(schema: Schema, message: &[u8]) -> Result<Value, Error> {
    Envelope::new(schema.api_version(), schema.kind(), message).decode()
}

/// Encodes and decodes an object. Afterwards, values that Kubernetes does not distinguish are equal.
fn written_and_read(object: &Value) -> Value {
    let bytes = encode(object).expect("a decoded object can be encoded");
    decode(&bytes).expect("an encoded object can be decoded")
}

/// Readers of metadata return what the object contains.
fn assert_metadata(schema: Schema, message: &[u8], value: &Value) {
    let identity = schema.identity(message).expect("the object was decoded");
    assert_identity(&identity, value);
    let metadata: Value = schema
        .metadata(message, &FieldMask::none())
        .expect("the object was decoded");
    assert_eq!(metadata, value["metadata"]);

    let found: Result<BTreeMap<_, _>, _> = schema.labels(message).collect();
    let found = found.expect("the object was decoded");
    let wanted = labels(value).expect("labels are strings");
    assert!(
        found
            .iter()
            .map(|(k, v)| (&**k, &**v))
            .eq(wanted.iter().map(|(k, v)| (&**k, &**v)))
    );
    let mut outline = Vec::new();
    schema
        .outline(message, &mut outline)
        .expect("the object was decoded");
    for (key, label) in &wanted {
        for bytes in [message, &outline] {
            assert_eq!(
                schema.label(bytes, key).expect("a label").as_deref(),
                Some(&**label)
            );
        }
    }
    for text in ["app=web", "!app,a!=b", "a in (,b,c)", "n>3"] {
        let selector = text.parse().expect("a selector");
        for bytes in [message, &outline] {
            assert_eq!(
                schema.matches(bytes, &selector).expect("labels"),
                selector.matches(&wanted),
                "{text}"
            );
        }
    }
}

/// Removing fields while decoding, before decoding, and afterwards gives the same object.
fn assert_pruned(schema: Schema, message: &[u8], value: &Value, paths: &[&str]) {
    let mask = skip_of(paths);
    let mut wanted = value.clone();
    for path in paths {
        let steps: Vec<&str> = path.split_inclusive(']').flat_map(steps).collect();
        remove(&mut wanted, &steps);
    }
    let skipped: Value = schema.decode(message, &mask).expect("the object was decoded");
    assert_eq!(skipped, wanted);

    let mut pruned = b"before".to_vec();
    schema
        .prune(message, &mask, &mut pruned)
        .expect("the object was decoded");
    let pruned = pruned.strip_prefix(b"before").expect("the existing content");
    assert_identity(&schema.identity(pruned).expect("the object was decoded"), value);
    match schema.decode::<Value>(pruned, &mask) {
        Ok(left) => assert_eq!(without_empty(left), without_empty(wanted)),
        // The message may become shorter, but still contains the identity.
        Err(error) => assert!(error.is_over_limit(), "{error}: {}", json!(value)),
    }
}

/// Returns the steps of a path, or of a part of it that ends with a key in brackets.
fn steps(part: &str) -> Vec<&str> {
    let (names, key) = match part.strip_suffix(']').and_then(|part| part.split_once('[')) {
        Some((names, key)) => (names, Some(key)),
        None => (part, None),
    };
    names
        .split('.')
        .filter(|name| !name.is_empty())
        .chain(key)
        .collect()
}
