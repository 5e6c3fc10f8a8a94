use serde_json::{Value, json};

use super::{FieldSet, PathElement, path_text};

fn set(json: &Value) -> FieldSet {
    FieldSet::from_json(json).expect("a set")
}

#[test]
fn sets_are_encoded_as_they_were_decoded() {
    for json in [
        json!({}),
        json!({"f:a": {}, "f:b": {".": {}, "f:c": {}}}),
        json!({"f:ports": {"k:{\"port\":80,\"protocol\":\"TCP\"}": {".": {}, "f:port": {}}}}),
        json!({"f:finalizers": {".": {}, "v:\"x\"": {}, "v:1": {}, "v:true": {}}}),
        json!({"f:list": {"i:0": {}, "i:12": {"f:x": {}}}}),
        json!({"f:a\u{e9}/<&>": {}, "v:\"\\u003c\\u0026\"": {}}),
    ] {
        assert_eq!(set(&json).to_json(), json);
    }
}

#[test]
fn invalid_elements_are_errors_or_dropped() {
    assert!(set(&json!({"z:future": {}})).is_empty());
    assert!(set(&Value::Null).is_empty());
    for json in [
        json!([]),
        json!({"f": {}}),
        json!({"fx": {}}),
        json!({"f:a": 1}),
        json!({"k:[]": {}}),
        json!({"i:x": {}}),
    ] {
        assert!(FieldSet::from_json(&json).is_err(), "{json}");
    }
}

#[test]
fn members_and_nested_fields_are_independent() {
    let parent = set(&json!({"f:a": {}}));
    let child = set(&json!({"f:a": {"f:b": {}}}));
    let both = set(&json!({"f:a": {".": {}, "f:b": {}}}));
    assert_eq!(both.clone().difference(&parent), child);
    assert_eq!(both.clone().difference(&child), parent);
    assert_eq!(both.intersection(&child), child);
    assert!(both.clone().recursive_difference(&parent).is_empty());
    assert!(parent.intersection(&child).is_empty());
    assert_eq!(parent.union(child), both);
}

#[test]
fn elements_are_ordered_and_equal_numbers_are_equal() {
    let key = |port: Value| PathElement::Key(vec![("port".into(), port)]);
    assert_eq!(key(json!(1)), key(json!(1.0)));
    let large = 9_007_199_254_740_993_i64;
    assert!(key(json!(9_007_199_254_740_992.0)) < key(json!(large)));
    let mut elements = [
        PathElement::Index(0),
        PathElement::Value(json!("a")),
        key(json!(443)),
        PathElement::Value(json!(1)),
        key(json!(80)),
        PathElement::Field("z".into()),
    ];
    elements.sort();
    let shown: Vec<String> = elements.iter().map(ToString::to_string).collect();
    assert_eq!(
        shown,
        [".z", "[port=80]", "[port=443]", "[=1]", "[=\"a\"]", "[0]"]
    );
}

#[test]
fn paths_are_formatted_for_messages() {
    let set =
        set(&json!({"f:spec": {"f:containers": {"k:{\"name\":\"a\\\"b\"}": {"f:image": {}}}, "f:x": {}}}));
    let shown: Vec<String> = set.paths().iter().map(|p| path_text(p)).collect();
    assert_eq!(shown, [".spec.x", ".spec.containers[name=\"a\\\"b\"].image"]);
}
