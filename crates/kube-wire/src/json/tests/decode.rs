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

fn mask_of(paths: &[&str]) -> FieldMask {
    paths.iter().fold(FieldMask::none(), |mask, path| {
        mask.path(path).expect("the field can be masked")
    })
}

#[test]
fn decodes_random_objects_like_serde_json() {
    let mut rng = Rng::with_seed(1);
    let mut changed = 0;
    for round in 0..5_000 {
        let value = generator::object(&mut rng, 4);
        let (mask, paths) = generator::mask(&mut rng);
        let text = generator::serialize(&mut rng, &value);
        let expected = generator::remove_paths(value.clone(), &paths);
        changed += usize::from(expected != value);
        let decoded: Value = decode(&text, &mask).expect("valid JSON");
        assert_eq!(decoded, expected, "{round}: {paths:?}");
        if value["metadata"].is_object() {
            let decoded: Value = metadata(&text, &mask).expect("metadata is present");
            assert_eq!(decoded, expected["metadata"], "{round}: {paths:?}");
        }
    }
    assert!(changed > 200, "too few values have masked fields: {changed}");
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
fn applies_the_mask_to_every_serde_type() {
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
        let expected = generator::remove_paths(wide(), &steps);
        let mask = mask_of(paths);
        let text = wide().to_string();
        let decoded = decode::<AllTypes>(text.as_bytes(), &mask);
        let expected = serde_json::from_value::<AllTypes>(expected);
        assert_eq!(
            expected.is_ok(),
            !paths.contains(&"any") && !paths.contains(&"untagged.a")
        );
        assert_eq!(decoded.ok(), expected.ok(), "{paths:?}");
    }
}

#[test]
fn rejects_variants_with_masked_values() {
    let error =
        decode::<BTreeMap<String, AllVariants>>(br#"{"w":{"Newtype":{"a":1}}}"#, &mask_of(&["w.Newtype"]))
            .unwrap_err();
    assert!(
        error
            .source()
            .expect("error of serde_json")
            .to_string()
            .contains("masked")
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
fn borrows_text_and_raw_values() {
    let text = br#"{"text":"here","raw":{"a": 1,"b":2},"map":{"k":"v","gone":"x"}}"#;
    for mask in [FieldMask::managed_fields(), mask_of(&["map.gone", "raw.a"])] {
        let borrowing: BorrowedFields<'_> = decode(text, &mask).expect("matches the type");
        assert!(text.as_ptr_range().contains(&borrowing.text.as_ptr()));
        assert_eq!(
            borrowing.raw.get(),
            r#"{"a": 1,"b":2}"#,
            "raw values contain masked fields"
        );
        assert_eq!(borrowing.map["k"], "v");
        assert_eq!(
            borrowing.map.contains_key("gone"),
            mask == FieldMask::managed_fields()
        );
    }
}

#[test]
fn decodes_numeric_keys_like_serde_json() {
    fn check<T: DeserializeOwned + PartialEq + std::fmt::Debug>() {
        for key in [
            "1", "-1", "01", " 1", "1 ", "", "1.5", "1e2", "300", "x", "true", "true ", "\\u0031", "1\\n",
        ] {
            let inner = format!("{{\"{key}\":1}}");
            let text = format!("{{\"in\":{inner}}}");
            let decoded = decode::<BTreeMap<String, T>>(text.as_bytes(), &mask_of(&["in.gone"]));
            let expected = serde_json::from_str::<T>(&inner);
            assert_eq!(
                decoded
                    .ok()
                    .map(|mut map| map.remove("in").expect("the entry is present")),
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
fn errors_contain_path_and_offset() {
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
            mask_of(&["option.b", "numbers.x", "floats.x", "any.x"]),
        ] {
            let error = decode::<AllTypes>(text.as_bytes(), &mask).unwrap_err();
            assert_eq!(error.path(), path, "{error}");
            let inner = error.source().expect("error of serde_json").to_string();
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
fn rejects_trailing_characters() {
    for text in ["{} x", "{}{}", "{},", "1 2"] {
        decode::<Value>(text.as_bytes(), &FieldMask::none()).unwrap_err();
        decode::<Value>(text.as_bytes(), &mask_of(&["spec"])).unwrap_err();
    }
}

/// The depth is limited for masked and unmasked fields.
#[test]
fn limits_depth_of_unmasked_fields() {
    let deep = |depth: usize| format!("{{\"a\":{}{}}}", "[".repeat(depth), "]".repeat(depth));
    for mask in [FieldMask::none(), mask_of(&["a.b"])] {
        assert!(decode::<Value>(deep(126).as_bytes(), &mask).is_ok());
        assert!(decode::<Value>(deep(127).as_bytes(), &mask).is_err());
    }
    let gone: Value = decode(deep(100_000).as_bytes(), &mask_of(&["a"])).expect("masked values are skipped");
    assert_eq!(gone, json!({}));
}
