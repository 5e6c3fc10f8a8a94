//! Type, identity and labels of objects.

use serde_json::Value;

use crate::json::{Head, decode, head, identity, matches, prune};
use crate::{FieldMask, Identity};

fn identity_of<'a>(
    namespace: &'a str,
    name: &'a str,
    resource_version: &'a str,
    uid: &'a str,
) -> Identity<'a> {
    Identity {
        name: name.into(),
        namespace: namespace.into(),
        resource_version: resource_version.into(),
        uid: uid.into(),
    }
}

/// An object of a built-in kind as Go writes it, with the identity first.
const TYPED: &str = r#"{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a","namespace":"shop","uid":"3","resourceVersion":"7","labels":{"app":"we"#;

/// A custom resource as Go writes it.
const SORTED: &str = r#"{"apiVersion":"e.com/v1","kind":"W","metadata":{"annotations":{"name":"no"},"labels":{"uid":"no"},"name":"a","namespace":"shop","resourceVersion":"7","uid":"3"},"spec":{"#;

#[test]
fn stops_reading_after_the_identity() {
    for text in [TYPED, SORTED] {
        assert_eq!(
            identity(text.as_bytes()).expect("the field is present"),
            identity_of("shop", "a", "7", "3")
        );
        let head = head(text.as_bytes()).expect("the field is present");
        assert_eq!(head.identity, Some(identity_of("shop", "a", "7", "3")));
        let kind = head.kind.as_deref();
        assert!(matches!(
            (head.api_version.as_deref(), kind),
            (Some("v1"), Some("Pod")) | (Some("e.com/v1"), Some("W"))
        ));
    }
    let item = r#"{"metadata":{"name":"a","namespace":"shop","uid":"3","resourceVersion":"7", rubbish"#;
    assert_eq!(
        identity(item.as_bytes()).expect("the field is present"),
        identity_of("shop", "a", "7", "3")
    );
    head(item.as_bytes()).expect_err("the type is missing");
}

#[test]
fn reads_fields_in_any_order() {
    let text = br#" { "spec" : {"kind":"no","metadata":{"name":"no"}} , "metadata":{"uid":null,"name":"a"},"status":[1,"}"],"apiVersion":"v1","kind":"Pod"} "#;
    let expected = Head {
        api_version: Some("v1".into()),
        kind: Some("Pod".into()),
        identity: Some(identity_of("", "a", "", "")),
    };
    assert_eq!(head(text).expect("the field is present"), expected);
}

#[test]
fn missing_and_null_fields_are_none() {
    assert_eq!(head(b"{}").expect("an object"), Head::default());
    let nulls = br#"{"kind":null,"apiVersion":null,"metadata":null}"#;
    assert_eq!(head(nulls).expect("an object"), Head::default());
    for text in [&b"{}"[..], nulls] {
        assert!(
            identity(text)
                .unwrap_err()
                .to_string()
                .contains("expected metadata")
        );
    }
    assert_eq!(
        identity(br#"{"metadata":{}}"#).expect("metadata"),
        Identity::default()
    );
}

#[test]
fn decodes_escapes_in_names_and_values() {
    let text = br#"{"m\u0065tadata":{"n\u0061me":"\u0061\ud83d\ude00","uid":"\"","namespace":"","resourceVersion":"1"}}"#;
    let identity = identity(text).expect("the field is present");
    assert_eq!((&*identity.name, &*identity.uid), ("a\u{1f600}", "\""));
}

#[test]
fn rejects_values_that_are_not_strings() {
    let rows: [(&[u8], &str); 8] = [
        (
            br#"{"metadata":{"name":5}}"#,
            "metadata.name: expected a string, at byte 20",
        ),
        (
            br#"{"metadata":{"name":["a"]}}"#,
            "metadata.name: expected a string, at byte 20",
        ),
        (br#"{"metadata":[]}"#, "metadata: expected an object, at byte 12"),
        (
            b"{\"metadata\":{\"name\":\"\xff\"}}",
            "metadata.name: expected valid UTF-8",
        ),
        (
            b"{\"metadata\":{\"name\":\"\n\"}}",
            "metadata.name: expected a string without control characters, at byte 21",
        ),
        (br#"{"metadata":{"uid":"\ud800"}}"#, "metadata.uid: "),
        (
            br#"{"metadata":{"uid":"x"#,
            "metadata.uid: unexpected end of input",
        ),
        (br"[]", "expected an object, at byte 0"),
    ];
    for (text, expected) in rows {
        let error = identity(text).unwrap_err().to_string();
        assert!(error.starts_with(expected), "{error}");
        head(text).unwrap_err();
    }
    head(br#"{"kind":{}}"#).unwrap_err();
}

/// Readers that use the first and readers that use the last duplicate must not store one object under two names.
#[test]
fn rejects_duplicate_identifying_fields() {
    let rows = [
        r#"{"metadata":{"name":"a","name":"b"}}"#,
        r#"{"metadata":{"name":"a"},"metadata":{"name":"b"}}"#,
        r#"{"metadata":{"name":"a","uid":"1","namespace":"n","resourceVersion":"1","n\u0061me":"b"}}"#,
        r#"{"metadata":{"name":"a","uid":"1","namespace":"n","resourceVersion":"1"},"spec":{},"metadata":null}"#,
        r#"{"kind":"Pod","metadata":{},"apiVersion":"v1","kind":"Service"}"#,
        r#"{"metadata":{"labels":{},"labels":{"app":"web"}}}"#,
    ];
    for text in rows {
        let text = text.as_bytes();
        for mask in [
            FieldMask::none(),
            FieldMask::managed_fields().path("spec").unwrap(),
        ] {
            let error = decode::<Value>(text, &mask).unwrap_err();
            assert!(error.is_data(), "{error}");
            let mut out = b"before".to_vec();
            let error = prune(text, &mask, &mut out).unwrap_err();
            assert!(
                error.is_data() && error.to_string().contains("duplicate field"),
                "{error}"
            );
            assert_eq!(out, b"before");
        }
    }
    assert!(
        identity(rows[0].as_bytes()).unwrap_err().is_data(),
        "it is seen where it is read"
    );
    let elsewhere =
        br#"{"spec":{"name":1,"name":2,"metadata":{"name":1,"name":2}},"items":[{"kind":1,"kind":2}]}"#;
    decode::<Value>(elsewhere, &FieldMask::none()).expect("nested duplicates are allowed");
    prune(elsewhere, &FieldMask::none(), &mut Vec::new()).expect("nested duplicates are allowed");
}

#[test]
fn matches_labels_without_decoding() {
    let selector = |text: &str| text.parse().expect("a selector");
    let pod =
        br#"{"spec":{},"metadata":{"name":"a","labels":{"app":"web","tier":"front","n":"5"}},"status":"#;
    for (text, expected) in [
        ("", true),
        ("app=web", true),
        ("app=web,tier in (front,back),n>4", true),
        ("app!=web", false),
        ("!legacy,app", true),
        ("legacy", false),
    ] {
        assert_eq!(matches(pod, &selector(text)).expect("labels"), expected, "{text}");
    }
    for none in [
        &br#"{"metadata":{"labels":null}}"#[..],
        br#"{"metadata":null}"#,
        b"{}",
        br#"{"metadata":{}}"#,
    ] {
        assert!(!matches(none, &selector("app")).expect("no labels"));
        assert!(matches(none, &selector("!app")).expect("no labels"));
    }
    let escaped = br#"{"metadata":{"labels":{"\u0061pp":"w\u0065b","app":"last"}}}"#;
    assert!(matches(escaped, &selector("app=last")).expect("labels"));
    let duplicate = br#"{"metadata":{"labels":{"app":"first","app":"last"}}}"#;
    assert!(matches(duplicate, &selector("app=last")).expect("labels"));
    for wrong in [r#"{"a":5}"#, "[]", "\"a\"", r#"{"a":"b""#, r#"{"a":null}"#] {
        let text = format!(r#"{{"metadata":{{"labels":{wrong}"#);
        matches(text.as_bytes(), &selector("a")).unwrap_err();
    }
}

/// Would not finish if the path were found in quadratic time.
#[test]
fn locates_errors_after_long_names_in_linear_time() {
    let (name, colons) = ("\u{e4}".repeat(200_000), ":".repeat(400_000));
    let text = format!(r#"{{"spec":{{"{name}"{colons}}},"metadata":5}}"#);
    let error = head(text.as_bytes()).unwrap_err().to_string();
    assert!(error.starts_with("metadata: expected an object"), "{error}");
}
