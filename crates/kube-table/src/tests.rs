//! Compares columns and cells with recorded responses of kube-apiserver v1.36.3 (`tests/recorded/`).

use jiff::Timestamp;
use serde_json::{Value, json};

use super::*;
use crate::jsonpath::Path;
use crate::printers::cells;

fn captured(text: &str) -> Value {
    serde_json::from_str(text).expect("captured JSON")
}

fn time(text: &str) -> Timestamp {
    text.parse().expect("a timestamp")
}

fn field<'a>(case: &'a Value, name: &str) -> &'a str {
    case[name].as_str().expect("a text")
}

/// Numbers are equal by value, as `1e21` and `1e+21` are.
fn same(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => left == right || left.as_f64() == right.as_f64(),
        _ => left == right,
    }
}

fn all_same(left: &[Value], right: &Value) -> bool {
    let right = right.as_array().expect("cells");
    left.len() == right.len() && left.iter().zip(right).all(|(left, right)| same(left, right))
}

fn cell_cases() -> Vec<Value> {
    let cases = captured(include_str!("../tests/recorded/cells.json"));
    cases.as_array().expect("cases").clone()
}

#[test]
fn cells_match_recorded_responses() {
    let mut wrong = Vec::new();
    for case in cell_cases() {
        let (group, version, kind) = (
            field(&case, "group"),
            field(&case, "version"),
            field(&case, "kind"),
        );
        let cells = cells(group, version, kind, &case["object"], time(field(&case, "now")));
        if !all_same(&cells, &case["cells"]) {
            wrong.push(format!(
                "{group}/{version} {kind}\n  expected {}\n  actual   {}",
                case["cells"],
                json!(cells)
            ));
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn columns_match_recorded_responses() {
    let captured = captured(include_str!("../tests/recorded/columns.json"));
    for (kind, definitions) in captured.as_object().expect("kinds") {
        let (group_version, kind) = kind.split_once(' ').expect("a kind");
        let group = group_version.split_once('/').map_or("", |(group, _)| group);
        let have: Vec<Value> = Columns::built_in(group, "v1", kind)
            .unwrap_or_else(|| panic!("no columns for {group} {kind}"))
            .definitions()
            .iter()
            .map(Column::to_json)
            .collect();
        assert_eq!(json!(have), *definitions, "{group} {kind}");
    }
}

#[test]
fn custom_columns_and_cells_match_recorded_responses() {
    let suites = captured(include_str!("../tests/recorded/custom.json"));
    let mut wrong = Vec::new();
    for suite in suites["suites"].as_array().expect("suites") {
        let custom = CustomColumns::new(&suite["additionalPrinterColumns"]);
        let have: Vec<Value> = custom.columns().iter().map(Column::to_json).collect();
        assert_eq!(json!(have), suite["columnDefinitions"]);
        for row in suite["rows"].as_array().expect("rows") {
            let cells = custom.cells(&row["object"], time(field(row, "now")));
            let want = row["cells"].as_array().expect("cells");
            assert_eq!(cells.len(), want.len());
            for ((have, want), column) in cells.iter().zip(want).zip(custom.columns()) {
                if !same(have, want) {
                    wrong.push(format!("{}: expected {want}, actual {have}", column.description));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn columns_end_before_an_invalid_path() {
    let custom = CustomColumns::new(&json!([
        { "name": "A", "type": "string", "jsonPath": ".spec.a" },
        { "name": "B", "type": "string", "jsonPath": ".spec[" },
        { "name": "C", "type": "string", "jsonPath": ".spec.c" },
    ]));
    let names: Vec<&str> = custom.columns().iter().map(|column| &*column.name).collect();
    assert_eq!(names, ["Name", "A"]);
    let now = time("2026-01-01T00:00:00Z");
    let object = json!({ "metadata": { "name": "x" }, "spec": { "a": "1" } });
    assert_eq!(json!(custom.cells(&object, now)), json!(["x", "1"]));
}

#[test]
fn paths_match_recorded_responses() {
    let captured = captured(include_str!("../tests/recorded/custom.json"));
    for case in captured["paths"].as_array().expect("paths") {
        let written = field(case, "path");
        match Path::parse(written) {
            Err(_) => assert_eq!(case["malformed"], true, "{written} was not parsed"),
            Ok(path) => {
                assert!(case["malformed"].is_null(), "{written} was parsed");
                let found = path.first(&captured["object"]).map(|value| go::print(&value));
                assert_eq!(json!(found), case["cell"], "{written}");
            }
        }
    }
}

#[test]
fn odd_paths_do_not_panic() {
    let object = json!({ "a": { "b": [1, 2, "é", null, { "c": [] }] }, "é": "x" });
    for path in [
        "",
        ".",
        "..",
        "..*",
        ".a..",
        ".\\",
        ".\\é",
        "'é'",
        ".a.b[::9223372036854775807]",
        ".a}{.b[x]",
        "[?(\"é\")]",
    ] {
        if let Ok(path) = Path::parse(path) {
            path.first(&object);
        }
    }
    assert!(Path::parse(".a} and {.b[x]").is_err());
    assert!(Path::parse(&".a}{".repeat(100_000)).is_ok());
    assert!(Path::parse(&"[?(".repeat(100_000)).is_err());
}

#[test]
fn ages_without_recorded_responses() {
    let now = time("2026-01-01T00:00:00Z");
    for (when, shown) in [
        ("", "<unknown>"),
        ("0001-01-01T00:00:00Z", "<unknown>"),
        ("2025-12-31T23:59:59.500000Z", "0s"),
        ("2026-01-01T00:00:01.900000Z", "0s"),
        ("2026-01-01T00:00:02Z", "<invalid>"),
        ("2025-12-31T23:57:57Z", "2m3s"),
        ("2025-12-31T20:55:00Z", "3h5m"),
        ("2025-12-27T12:00:00Z", "4d12h"),
        ("2023-01-01T00:00:00Z", "3y1d"),
    ] {
        assert_eq!(age::since(when, now), shown, "{when}");
    }
}
