//! Random objects, texts and masks.

use fastrand::Rng;
use serde_json::{Map, Value, json};

use crate::FieldMask;
use crate::test_util::remove_field;

const KEYS: [&str; 14] = [
    "metadata",
    "name",
    "uid",
    "labels",
    "managedFields",
    "spec",
    "a",
    "b",
    "c.d",
    "ü",
    "\"q\\",
    "kind",
    "list",
    "",
];

/// Returns a random value.
pub(super) fn value(rng: &mut Rng, depth: usize) -> Value {
    match rng.usize(if depth == 0 { 0..6 } else { 0..12 }) {
        0 => Value::Null,
        1 => json!(rng.bool()),
        2 => json!(rng.i64(-1000..1000)),
        3 => json!(f64::from(rng.i32(-1000..1000)) / 8.0),
        4 | 5 => Value::String(text(rng)),
        6..=8 => (0..rng.usize(0..5)).map(|_| value(rng, depth - 1)).collect(),
        _ => object(rng, depth - 1),
    }
}

/// Returns a random object. Its name is not always a string.
pub(super) fn object(rng: &mut Rng, depth: usize) -> Value {
    let mut fields = Map::new();
    for _ in 0..rng.usize(0..6) {
        let key = KEYS[rng.usize(..KEYS.len())];
        fields.insert(key.to_owned(), value(rng, depth));
    }
    Value::Object(fields)
}

fn text(rng: &mut Rng) -> String {
    const PARTS: [&str; 8] = [
        "a",
        "longer than a word of eight bytes",
        "\"",
        "\\",
        "\n",
        "ä",
        "😀",
        "{[]}",
    ];
    (0..rng.usize(0..4))
        .map(|_| PARTS[rng.usize(..PARTS.len())])
        .collect()
}

/// Returns a random mask and its paths.
pub(super) fn mask(rng: &mut Rng) -> (FieldMask, Vec<Vec<&'static str>>) {
    let mut mask = FieldMask::none();
    let mut paths = Vec::new();
    for _ in 0..rng.usize(0..4) {
        let steps: Vec<_> = (0..rng.usize(1..4))
            .map(|_| KEYS[rng.usize(..KEYS.len())])
            .collect();
        let path = format!("[{}]", steps.join("]["));
        if let Ok(more) = mask.clone().path(&path) {
            mask = more;
            paths.push(steps);
        }
    }
    (mask, paths)
}

/// Returns the value without the fields at these paths.
pub(super) fn remove_paths(mut value: Value, paths: &[Vec<&str>]) -> Value {
    for path in paths {
        remove_field(&mut value, path);
    }
    value
}

/// Serializes the value with random white space and escapes.
pub(super) fn serialize(rng: &mut Rng, value: &Value) -> Vec<u8> {
    let mut out = Vec::new();
    write(rng, value, &mut out);
    out
}

fn write(rng: &mut Rng, value: &Value, out: &mut Vec<u8>) {
    space(rng, out);
    match value {
        Value::Array(items) => {
            out.push(b'[');
            for (at, item) in items.iter().enumerate() {
                if at > 0 {
                    out.push(b',');
                }
                write(rng, item, out);
            }
            space(rng, out);
            out.push(b']');
        }
        Value::Object(fields) => {
            out.push(b'{');
            for (at, (key, field)) in fields.iter().enumerate() {
                if at > 0 {
                    out.push(b',');
                }
                space(rng, out);
                write_text(rng, key, out);
                space(rng, out);
                out.push(b':');
                write(rng, field, out);
            }
            space(rng, out);
            out.push(b'}');
        }
        Value::String(text) => write_text(rng, text, out),
        other => out.extend_from_slice(other.to_string().as_bytes()),
    }
    space(rng, out);
}

fn write_text(rng: &mut Rng, text: &str, out: &mut Vec<u8>) {
    if rng.u8(..4) > 0 {
        out.extend_from_slice(json!(text).to_string().as_bytes());
        return;
    }
    out.push(b'"');
    for unit in text.encode_utf16() {
        out.extend_from_slice(format!("\\u{unit:04x}").as_bytes());
    }
    out.push(b'"');
}

fn space(rng: &mut Rng, out: &mut Vec<u8>) {
    if rng.u8(..8) == 0 {
        out.extend_from_slice([" ", "\n", "\t\r ", "  "][rng.usize(..4)].as_bytes());
    }
}
