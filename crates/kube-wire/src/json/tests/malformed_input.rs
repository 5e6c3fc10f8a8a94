//! Invalid objects, and objects that readers could interpret differently.

use bytes::Bytes;
use fastrand::Rng;
use serde::de::IgnoredAny;
use serde_json::Value;

use super::generator;
use crate::FieldMask;
use crate::json::{LineReader, ListReader, decode, head, identity, matches, metadata, prune, watch_event};

const POD: &str = r#"{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a\u0062","namespace":"shop","uid":"3",
  "resourceVersion":"7","labels":{"app":"web","n":"5"},"managedFields":[{"f":{"k:{\"a\":1}":{}}}]},
  "spec":{"n":[-1.5e3,0,true,null,""],"ä":{"x":{}}},"status":{}}"#;

/// Reads a text with all functions and checks that the results agree.
fn check_text(text: &[u8]) {
    let mask = FieldMask::managed_fields().path("spec.n").unwrap();
    let selector = "app=web,n>4".parse().unwrap();
    let reference = serde_json::from_slice::<Value>(text);
    let decoded = decode::<Value>(text, &FieldMask::none());
    match (&reference, &decoded) {
        (Ok(reference), Ok(decoded)) => assert_eq!(reference, decoded),
        (Ok(_), Err(error)) => assert!(error.is_data(), "unexpected error: {error}"),
        (Err(_), Err(_)) => {}
        (Err(error), Ok(_)) => panic!("{error}"),
    }
    let mut out = Vec::new();
    let pruned = prune(text, &FieldMask::none(), &mut out);
    if pruned.is_ok() {
        serde_json::from_slice::<IgnoredAny>(&out).expect("valid JSON");
    }
    if let Ok(decoded) = &decoded {
        pruned.expect("decodable objects can be pruned");
        assert_eq!(
            serde_json::from_slice::<Value>(&out).expect("complete value"),
            *decoded
        );
        check_fields(text, decoded, &selector);
    }
    let mut smaller = Vec::new();
    if prune(text, &mask, &mut smaller).is_ok()
        && let Ok(before) = head(text)
    {
        assert_eq!(head(&smaller).expect("present before pruning"), before);
    }
    let _ = decode::<Value>(text, &mask);
    let _ = metadata::<Value>(text, &mask);
    let _ = identity(text);
    let _ = matches(text, &selector);
    let _ = watch_event(text);
}

/// Checks that the functions return the fields of the object.
fn check_fields(text: &[u8], object: &Value, selector: &crate::selector::Selector) {
    let meta = &object["metadata"];
    if let Ok(identity) = identity(text) {
        let part = |name: &str| meta[name].as_str().unwrap_or_default();
        assert_eq!(identity.name, part("name"));
        assert_eq!(identity.namespace, part("namespace"));
        assert_eq!(identity.resource_version, part("resourceVersion"));
        assert_eq!(identity.uid, part("uid"));
    }
    if let Ok(head) = head(text) {
        assert_eq!(head.kind.as_deref(), object["kind"].as_str());
        assert_eq!(head.api_version.as_deref(), object["apiVersion"].as_str());
    }
    if let Ok(selected) = matches(text, selector) {
        let labels: std::collections::BTreeMap<String, String> =
            serde_json::from_value(meta["labels"].clone()).unwrap_or_default();
        assert_eq!(selected, selector.matches(&labels));
    }
    if meta.is_object() {
        assert_eq!(
            metadata::<Value>(text, &FieldMask::none()).expect("decodable metadata"),
            *meta
        );
    }
}

#[test]
fn functions_agree_on_mutated_bytes() {
    let mut text = POD.as_bytes().to_vec();
    check_text(&text);
    for at in 0..text.len() {
        let byte = text[at];
        for other in (0..8).map(|bit| byte ^ 1 << bit).chain(*b"\"\\{}[],:u0 \x00\xff") {
            text[at] = other;
            check_text(&text);
        }
        text[at] = byte;
        check_text(&text[..at]);
        check_text(&text[at..]);
        let mut shorter = text.clone();
        shorter.remove(at);
        check_text(&shorter);
    }
}

#[test]
fn functions_agree_on_rearranged_text() {
    let mut rng = Rng::with_seed(5);
    for _ in 0..3_000 {
        let mut text = POD.as_bytes().to_vec();
        for _ in 0..rng.usize(1..4) {
            let (from, to) = (rng.usize(..text.len()), rng.usize(..text.len()));
            let part = text[from.min(to)..from.max(to)].to_vec();
            let at = rng.usize(..text.len());
            text.splice(at..at, part);
        }
        check_text(&text);
    }
}

#[test]
fn functions_agree_on_random_objects() {
    let mut rng = Rng::with_seed(6);
    for _ in 0..3_000 {
        let value = generator::object(&mut rng, 3);
        let mut text = generator::serialize(&mut rng, &value);
        check_text(&text);
        if !text.is_empty() {
            let at = rng.usize(..text.len());
            text[at] = rng.u8(..);
            check_text(&text);
        }
    }
}

#[test]
fn debug_output_contains_no_data() {
    let line = br#"{"type":"ADDED","object":{"k":"hidden"}}"#;
    let event = watch_event(line).expect("an event");
    let (mut lines, mut list) = (LineReader::new(1 << 20), ListReader::new(1 << 20));
    // Half of a line and half of an item were read; the rest was not.
    lines.push(Bytes::from_static(br#"{"k":"hidden"#));
    assert_eq!(lines.next_line().expect("below the limit"), None);
    lines.push(Bytes::from_static(b"hidden"));
    list.push(Bytes::from_static(br#"{"items":[{"k":"hidden"#));
    assert_eq!(list.next_item().expect("below the limit"), None);
    list.push(Bytes::from_static(b"hidden"));
    let printed = format!("{event:?} {lines:?} {list:?}");
    for hidden in ["hidden", "104, 105, 100, 100, 101, 110"] {
        assert!(!printed.contains(hidden), "{printed}");
    }
    for text in ["ADDED", "14 bytes", "6 bytes"] {
        assert!(printed.contains(text), "missing {text} in {printed}");
    }
}
