//! Compares `decode` with serde_json on objects without the masked fields.

use std::collections::{BTreeMap, HashMap};
use std::error::Error as _;

use fastrand::Rng;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::generator;
use crate::FieldMask;
use crate::json::{decode, metadata};

fn skip(paths: &[&str]) -> FieldMask {
    paths.iter().fold(FieldMask::none(), |mask, path| {
        mask.path(path).expect("it can be left out")
    })
}

#[test]
fn any_value_without_any_fields_is_as_serde_json_has_it() {
    let mut rng = Rng::with_seed(1);
    let mut changed = 0;
    for round in 0..5_000 {
        let value = generator::object(&mut rng, 4);
        let (mask, paths) = generator::skip(&mut rng);
        let text = generator::written(&mut rng, &value);
        let expected = generator::without(value.clone(), &paths);
        changed += usize::from(expected != value);
        let decoded: Value = decode(&text, &mask).expect("it is JSON");
        assert_eq!(decoded, expected, "{round}: {paths:?}");
        if value["metadata"].is_object() {
            let decoded: Value = metadata(&text, &mask).expect("it has metadata");
            assert_eq!(decoded, expected["metadata"], "{round}: {paths:?}");
        }
    }
    assert!(changed > 200, "something is left out: {changed}");
}

#[derive(Debug, Deserialize, PartialEq)]
struct AllTypes {
    text: String,
    missing: Option<String>,
    option: Option<Inner>,
    newtype: Newtype,
    pair: (Inner, u8),
    numbers: BTreeMap<u32, Inner>,
    floats: Vec<f32>,
    truths: HashMap<bool, Inner>,
    signed: BTreeMap<i128, u128>,
    word: AllVariants,
    unit: AllVariants,
    tuple: AllVariants,
    fields: AllVariants,
    word_keys: BTreeMap<UnitVariants, char>,
    tagged: TaggedEnum,
    untagged: Vec<UntaggedEnum>,
    nothing: (),
    any: Value,
    #[serde(default)]
    gone: Option<Value>,
    #[serde(flatten)]
    rest: BTreeMap<String, Value>,
}

#[derive(Debug, Deserialize, PartialEq)]
struct Inner {
    a: Option<u8>,
    b: Option<u8>,
}

#[derive(Debug, Deserialize, PartialEq)]
struct Newtype(Inner);

#[derive(Debug, Deserialize, PartialEq)]
enum AllVariants {
    Unit,
    Newtype(Inner),
    Tuple(Inner, Inner),
    Fields { a: Option<u8>, b: Option<u8> },
}

#[derive(Debug, Deserialize, PartialEq, Eq, PartialOrd, Ord)]
enum UnitVariants {
    One,
    Two,
}

#[derive(Debug, Deserialize, PartialEq)]
#[serde(tag = "type")]
enum TaggedEnum {
    Here { inner: Inner },
}

#[derive(Debug, Deserialize, PartialEq)]
#[serde(untagged)]
enum UntaggedEnum {
    Number(i64),
    Inner { a: u8, b: Option<u8> },
}

fn wide() -> Value {
    let inner = json!({"a": 1, "b": 2});
    json!({
        "text": "t\u{e4}\n", "option": inner, "newtype": inner, "pair": [inner, 7],
        "numbers": {"1": inner, "20": inner}, "floats": [1, 0.5], "truths": {"true": inner, "false": inner},
        "signed": {"-170141183460469231731687303715884105728": 5}, "word": {"Newtype": inner}, "unit": "Unit",
        "tuple": {"Tuple": [inner, inner]}, "fields": {"Fields": inner}, "word_keys": {"One": "x", "Two": "\u{e4}"},
        "tagged": {"type": "Here", "inner": inner}, "untagged": [5, inner], "nothing": null,
        "any": {"deep": [[inner], {"b": inner}]}, "gone": {"x": 1}, "more": inner, "most": [inner],
    })
}

#[test]
fn every_way_into_a_type_leaves_the_same_out() {
    let paths: [&[&str]; 9] = [
        &[],
        &["any", "signed"],
        &["gone"],
        &[
            "option.b",
            "newtype.b",
            "pair.b",
            "numbers[1].b",
            "truths[true].b",
            "numbers[20]",
        ],
        &[
            "word.Newtype.b",
            "tuple.Tuple.a",
            "fields.Fields.b",
            "unit.Unit",
            "unit.Other",
        ],
        &["tagged.inner.a", "untagged.b", "any.deep.b", "more.a", "most.b"],
        &["word_keys.One", "text.x", "nothing.x", "floats.x"],
        &["more", "most", "missing"],
        &["untagged.a"],
    ];
    for paths in paths {
        let steps: Vec<Vec<&str>> = paths
            .iter()
            .map(|path| {
                path.split(['.', '[', ']'])
                    .filter(|step| !step.is_empty())
                    .collect()
            })
            .collect();
        let expected = generator::without(wide(), &steps);
        let skipped = skip(paths);
        let text = wide().to_string();
        let decoded = decode::<AllTypes>(text.as_bytes(), &skipped);
        let expected = serde_json::from_value::<AllTypes>(expected);
        assert_eq!(
            expected.is_ok(),
            !paths.contains(&"any") && !paths.contains(&"untagged.a")
        );
        assert_eq!(decoded.ok(), expected.ok(), "{paths:?}");
    }
}

#[test]
fn a_variant_whose_value_is_left_out_is_an_error() {
    let error =
        decode::<BTreeMap<String, AllVariants>>(br#"{"w":{"Newtype":{"a":1}}}"#, &skip(&["w.Newtype"]))
            .unwrap_err();
    assert!(
        error
            .source()
            .expect("serde_json's")
            .to_string()
            .contains("left out")
    );
}

#[derive(Debug, Deserialize)]
struct BorrowedFields<'a> {
    text: &'a str,
    #[serde(borrow)]
    raw: &'a RawValue,
    #[serde(borrow)]
    map: BTreeMap<&'a str, &'a str>,
}

#[test]
fn texts_and_raw_values_are_borrowed() {
    let text = br#"{"text":"here","raw":{"a": 1,"b":2},"map":{"k":"v","gone":"x"}}"#;
    for mask in [FieldMask::managed_fields(), skip(&["map.gone", "raw.a"])] {
        let borrowing: BorrowedFields<'_> = decode(text, &mask).expect("it fits");
        assert!(text.as_ptr_range().contains(&borrowing.text.as_ptr()));
        assert_eq!(
            borrowing.raw.get(),
            r#"{"a": 1,"b":2}"#,
            "raw is raw, whatever is left out"
        );
        assert_eq!(borrowing.map["k"], "v");
        assert_eq!(
            borrowing.map.contains_key("gone"),
            mask == FieldMask::managed_fields()
        );
    }
}

#[test]
fn numbers_in_keys_are_read_as_serde_json_reads_them() {
    fn check<T: DeserializeOwned + PartialEq + std::fmt::Debug>() {
        for key in [
            "1", "-1", "01", " 1", "1 ", "", "1.5", "1e2", "300", "x", "true", "true ", "\\u0031", "1\\n",
        ] {
            let inner = format!("{{\"{key}\":1}}");
            let text = format!("{{\"in\":{inner}}}");
            let decoded = decode::<BTreeMap<String, T>>(text.as_bytes(), &skip(&["in.gone"]));
            let expected = serde_json::from_str::<T>(&inner);
            assert_eq!(
                decoded.ok().map(|mut map| map.remove("in").expect("it is in")),
                expected.ok(),
                "{key:?}"
            );
        }
    }
    check::<BTreeMap<i64, u8>>();
    check::<BTreeMap<u8, u8>>();
    check::<BTreeMap<i128, u8>>();
    check::<BTreeMap<bool, u8>>();
    check::<BTreeMap<Option<u16>, u8>>();
    check::<BTreeMap<String, u8>>();
    check::<BTreeMap<UnitVariants, u8>>();
}

#[test]
fn an_error_says_where() {
    let rows: [(&str, &str, &str); 6] = [
        (r#"{"option":{"a":"x"}}"#, "option.a", "invalid type: string"),
        (
            "{\n \"numbers\": {\n  \"1\": {\"a\": 1},\n  \"2\": {\"b\": []}}}",
            "numbers.2.b",
            "invalid type: sequence",
        ),
        (r#"{"floats":[1,2,null]}"#, "floats[2]", "invalid type: null"),
        (
            r#"{"any":{"deep":[{"x.y":tru}]}}"#,
            "any.deep[0][x.y]",
            "expected ident",
        ),
        (r#"{"any":{"deep":[1,2"#, "any.deep[1]", "EOF"),
        (r#"{"text":"a"}"#, "", "missing field"),
    ];
    for (text, path, source) in rows {
        for mask in [
            FieldMask::managed_fields(),
            skip(&["option.b", "numbers.x", "floats.x", "any.x"]),
        ] {
            let error = decode::<AllTypes>(text.as_bytes(), &mask).unwrap_err();
            assert_eq!(error.path(), path, "{error}");
            let inner = error.source().expect("serde_json's").to_string();
            assert!(inner.contains(source), "{inner}");
            assert!(
                error
                    .to_string()
                    .ends_with(&format!("at byte {}", error.offset())),
                "{error}"
            );
            assert_eq!(error.is_eof(), source == "EOF");
        }
    }
    let error = decode::<AllTypes>(br#"{"text":"a","option":5}"#, &FieldMask::none()).unwrap_err();
    assert_eq!(error.offset(), 22);
    assert!(error.is_data());
}

#[test]
fn what_is_left_after_the_value_is_an_error() {
    for text in ["{} x", "{}{}", "{},", "1 2"] {
        decode::<Value>(text.as_bytes(), &FieldMask::none()).unwrap_err();
        decode::<Value>(text.as_bytes(), &skip(&["spec"])).unwrap_err();
    }
}

/// The depth is limited for masked and unmasked fields.
#[test]
fn deep_values_are_refused_or_passed_over() {
    let deep = |depth: usize| format!("{{\"a\":{}{}}}", "[".repeat(depth), "]".repeat(depth));
    for mask in [FieldMask::none(), skip(&["a.b"])] {
        assert!(decode::<Value>(deep(126).as_bytes(), &mask).is_ok());
        assert!(decode::<Value>(deep(127).as_bytes(), &mask).is_err());
    }
    let gone: Value = decode(deep(100_000).as_bytes(), &skip(&["a"])).expect("nobody looks into it");
    assert_eq!(gone, json!({}));
}
