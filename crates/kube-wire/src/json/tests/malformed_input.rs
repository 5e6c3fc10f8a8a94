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
fn read(text: &[u8]) {
    let mask = FieldMask::managed_fields().path("spec.n").unwrap();
    let selector = "app=web,n>4".parse().unwrap();
    let reference = serde_json::from_slice::<Value>(text);
    let decoded = decode::<Value>(text, &FieldMask::none());
    match (&reference, &decoded) {
        (Ok(reference), Ok(decoded)) => assert_eq!(reference, decoded),
        (Ok(_), Err(error)) => assert!(error.is_data(), "twice: {error}"),
        (Err(_), Err(_)) => {}
        (Err(error), Ok(_)) => panic!("{error}"),
    }
    let mut out = Vec::new();
    let pruned = prune(text, &FieldMask::none(), &mut out);
    if pruned.is_ok() {
        serde_json::from_slice::<IgnoredAny>(&out).expect("what is copied is JSON");
    }
    if let Ok(decoded) = &decoded {
        pruned.expect("what can be decoded can be copied");
        assert_eq!(
            serde_json::from_slice::<Value>(&out).expect("it is whole"),
            *decoded
        );
        fits(text, decoded, &selector);
    }
    let mut smaller = Vec::new();
    if prune(text, &mask, &mut smaller).is_ok()
        && let Ok(before) = head(text)
    {
        assert_eq!(head(&smaller).expect("it was there before"), before);
    }
    let _ = decode::<Value>(text, &mask);
    let _ = metadata::<Value>(text, &mask);
    let _ = identity(text);
    let _ = matches(text, &selector);
    let _ = watch_event(text);
}

/// Checks that the functions return the fields of the object.
fn fits(text: &[u8], object: &Value, selector: &crate::selector::Selector) {
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
            metadata::<Value>(text, &FieldMask::none()).expect("it was decoded"),
            *meta
        );
    }
}

#[test]
fn every_byte_may_be_any_other() {
    let mut text = POD.as_bytes().to_vec();
    read(&text);
    for at in 0..text.len() {
        let byte = text[at];
        for other in (0..8).map(|bit| byte ^ 1 << bit).chain(*b"\"\\{}[],:u0 \x00\xff") {
            text[at] = other;
            read(&text);
        }
        text[at] = byte;
        read(&text[..at]);
        read(&text[at..]);
        let mut shorter = text.clone();
        shorter.remove(at);
        read(&shorter);
    }
}

#[test]
fn parts_may_stand_anywhere() {
    let mut rng = Rng::with_seed(5);
    for _ in 0..3_000 {
        let mut text = POD.as_bytes().to_vec();
        for _ in 0..rng.usize(1..4) {
            let (from, to) = (rng.usize(..text.len()), rng.usize(..text.len()));
            let part = text[from.min(to)..from.max(to)].to_vec();
            let at = rng.usize(..text.len());
            text.splice(at..at, part);
        }
        read(&text);
    }
}

#[test]
fn random_objects_fit_in_every_way() {
    let mut rng = Rng::with_seed(6);
    for _ in 0..3_000 {
        let value = generator::object(&mut rng, 3);
        let mut text = generator::written(&mut rng, &value);
        read(&text);
        if !text.is_empty() {
            let at = rng.usize(..text.len());
            text[at] = rng.u8(..);
            read(&text);
        }
    }
}

#[test]
fn nothing_that_is_printed_for_debugging_shows_what_is_in_an_object() {
    let line = br#"{"type":"ADDED","object":{"k":"hidden"}}"#;
    let event = watch_event(line).expect("an event");
    let (mut lines, mut list) = (LineReader::new(1 << 20), ListReader::new(1 << 20));
    // Half of a line and half of an item were read; the rest was not.
    lines.push(Bytes::from_static(br#"{"k":"hidden"#));
    assert_eq!(lines.next_line().expect("it is below the limit"), None);
    lines.push(Bytes::from_static(b"hidden"));
    list.push(Bytes::from_static(br#"{"items":[{"k":"hidden"#));
    assert_eq!(list.next_item().expect("it is below the limit"), None);
    list.push(Bytes::from_static(b"hidden"));
    let printed = format!("{event:?} {lines:?} {list:?}");
    for shown in ["hidden", "104, 105, 100, 100, 101, 110"] {
        assert!(!printed.contains(shown), "{printed}");
    }
    for shown in ["ADDED", "14 bytes", "6 bytes"] {
        assert!(printed.contains(shown), "{shown} is not in {printed}");
    }
}
