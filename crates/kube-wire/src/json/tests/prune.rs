use fastrand::Rng;
use serde_json::Value;

use super::generator;
use crate::FieldMask;
use crate::json::prune;

fn pruned(text: &str, paths: &[&str]) -> Result<String, String> {
    let mask = paths.iter().fold(FieldMask::none(), |mask, path| {
        mask.path(path).expect("the field can be masked")
    });
    let mut out = Vec::new();
    prune(text.as_bytes(), &mask, &mut out).map_err(|error| error.to_string())?;
    Ok(String::from_utf8(out).expect("valid UTF-8"))
}

#[test]
fn prunes_random_values() {
    let mut rng = Rng::with_seed(3);
    for round in 0..5_000 {
        let value = generator::value(&mut rng, 4);
        let (mask, paths) = generator::mask(&mut rng);
        let text = generator::serialize(&mut rng, &value);
        let mut out = Vec::new();
        prune(&text, &mask, &mut out).expect("valid JSON");
        let read: Value = serde_json::from_slice(&out).expect("complete value");
        assert_eq!(
            read,
            generator::remove_paths(value.clone(), &paths),
            "{round}: {paths:?}"
        );

        let compact = value.to_string();
        out.clear();
        prune(compact.as_bytes(), &FieldMask::none(), &mut out).expect("valid JSON");
        assert_eq!(out, compact.as_bytes(), "{round}");
    }
}

#[test]
fn writes_commas_between_kept_fields() {
    let text = r#"{"a":1,"b":[{"c":1,"d":2},{"d":3}],"e":{}}"#;
    let rows: [(&[&str], &str); 6] = [
        (&["a"], r#"{"b":[{"c":1,"d":2},{"d":3}],"e":{}}"#),
        (&["e"], r#"{"a":1,"b":[{"c":1,"d":2},{"d":3}]}"#),
        (&["b"], r#"{"a":1,"e":{}}"#),
        (&["a", "b", "e"], "{}"),
        (&["b.d"], r#"{"a":1,"b":[{"c":1},{}],"e":{}}"#),
        (&["b.c", "e.x"], r#"{"a":1,"b":[{"d":2},{"d":3}],"e":{}}"#),
    ];
    for (paths, expected) in rows {
        assert_eq!(pruned(text, paths).as_deref(), Ok(expected));
        let wide: String = text
            .replace(',', " ,\n")
            .replace(':', "\t: ")
            .replace('{', "{ ")
            .replace(']', " ]\r");
        assert_eq!(pruned(&wide, paths).as_deref(), Ok(expected));
    }
}

#[test]
fn keeps_white_space_in_strings() {
    let text = "{ \"a b\" : \" \\n\\u0009 \\\" \" }";
    assert_eq!(
        pruned(text, &[]).as_deref(),
        Ok("{\"a b\":\" \\n\\u0009 \\\" \"}")
    );
}

#[test]
fn rejects_invalid_json() {
    let wrong = [
        "",
        " ",
        "{",
        "}",
        "[1,]",
        "[,1]",
        "[1 2]",
        "{\"a\"}",
        "{\"a\":}",
        "{\"a\":1,}",
        "{,}",
        "{a:1}",
        "01",
        "-",
        "1.",
        ".5",
        "1e",
        "+1",
        "tru",
        "nul",
        "truex",
        "\"",
        "\"\\x\"",
        "\"\\u12g4\"",
        "\"\\u12",
        "\"a\nb\"",
        "[}",
        "{]",
        "1 1",
        "NaN",
        "{\"a\":1]",
        "[1}",
        "\u{feff}1",
    ];
    for text in wrong {
        assert!(serde_json::from_str::<Value>(text).is_err(), "{text:?}");
        // Without paths the value is copied as a whole; with paths it is traversed.
        for paths in [&[][..], &["x", "a.x"]] {
            assert!(pruned(text, paths).is_err(), "{text:?}");
            let nested = format!("{{\"a\":{text}}}");
            assert!(
                pruned(&nested, paths).is_err() || serde_json::from_str::<Value>(&nested).is_ok(),
                "{nested:?}"
            );
        }
    }
    let mut out = Vec::new();
    let error = prune(b"{\"a\":[1,\"\xff\"]}", &FieldMask::none(), &mut out).unwrap_err();
    assert_eq!(error.to_string(), "a[1]: expected valid UTF-8, at byte 9");
    assert!(out.is_empty());
    assert!(
        pruned(r#"{"a":{"b":[}}"#, &[])
            .unwrap_err()
            .starts_with("a.b[0]: expected a value")
    );
}

#[test]
fn limits_depth_like_serde_json() {
    for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
        let deep = |depth: usize| open.repeat(depth) + "1" + &close.repeat(depth);
        for paths in [&[][..], &["a.a.a.a.x"]] {
            assert!(pruned(&deep(127), paths).is_ok());
            assert!(serde_json::from_str::<Value>(&deep(127)).is_ok());
            assert!(
                pruned(&deep(128), paths)
                    .unwrap_err()
                    .contains("nested too deeply")
            );
            assert!(serde_json::from_str::<Value>(&deep(128)).is_err());
        }
        assert!(pruned(&deep(100_000), &["a.a"]).is_err() || open == "{\"a\":");
    }
}
