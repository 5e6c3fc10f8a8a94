//! What a real kube-apiserver v1.36.3 answered (`tests/table/`), against what comes out here.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use serde_json::{Value, json};

use super::jsonpath::Path;
use super::printers::cells;
use super::*;

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
    let cases = captured(include_str!("../../tests/table/cells.json"));
    cases.as_array().expect("cases").clone()
}

#[test]
fn cells_are_the_real_servers() {
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
                "{group}/{version} {kind}\n  want {}\n  have {}",
                case["cells"],
                json!(cells)
            ));
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn columns_are_the_real_servers() {
    let captured = captured(include_str!("../../tests/table/columns.json"));
    for (kind, definitions) in captured.as_object().expect("kinds") {
        let (group_version, kind) = kind.split_once(' ').expect("a kind");
        let group = group_version.split_once('/').map_or("", |(group, _)| group);
        let have: Vec<Value> = columns(group, kind)
            .unwrap_or_else(|| panic!("no columns for {group} {kind}"))
            .iter()
            .map(Column::to_json)
            .collect();
        assert_eq!(json!(have), *definitions, "{group} {kind}");
    }
}

/// Every kind that can be listed has columns and at least one object in the corpus; the others have neither.
#[test]
fn every_served_kind_is_covered() {
    let corpus: BTreeSet<(String, String)> = cell_cases()
        .iter()
        .filter(|case| case["object"]["kind"].is_string())
        .map(|case| (field(case, "group").to_owned(), field(case, "kind").to_owned()))
        .collect();
    let kinds = include_str!("../api/kinds.txt")
        .lines()
        .filter(|line| !line.starts_with(['#', ' ']));
    for line in kinds {
        let words: Vec<&str> = line.split(' ').collect();
        let [group, _, _, _, kind, _, verbs, ..] = words[..] else {
            panic!("{line}")
        };
        let group = if group == "-" { "" } else { group };
        let listed = verbs.split(',').any(|verb| verb == "list");
        assert_eq!(columns(group, kind).is_some(), listed, "columns of {line}");
        let known = corpus.contains(&(group.to_owned(), kind.to_owned()));
        assert_eq!(known, listed, "corpus for {line}");
    }
}

#[test]
fn rows_carry_the_real_servers_conditions_and_metadata() {
    for case in cell_cases() {
        let printer = Printer::built_in(
            field(&case, "group"),
            field(&case, "version"),
            field(&case, "kind"),
        )
        .expect("a printer");
        let sheet = Sheet {
            printer,
            include: IncludeObject::Metadata,
            meta_version: "v1",
            now: time(field(&case, "now")),
        };
        let table = sheet.single(&case["object"]);
        let row = &table["rows"][0];
        assert_eq!(row["conditions"], case["conditions"], "{case}");
        let mut metadata = case["object"]["metadata"].clone();
        if case.get("annotations").is_some_and(Value::is_null) {
            metadata.as_object_mut().expect("metadata").remove("annotations");
        }
        assert_eq!(row["object"]["metadata"], metadata);
        assert_eq!(
            table["metadata"]["resourceVersion"],
            case["object"]["metadata"]["resourceVersion"]
        );
    }
}

#[test]
fn custom_columns_and_cells_are_the_real_servers() {
    let suites = captured(include_str!("../../tests/table/custom.json"));
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
                    wrong.push(format!("{}: want {want}, have {have}", column.description));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn columns_end_before_a_path_that_cannot_be_read() {
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
fn paths_find_what_the_real_server_finds() {
    let captured = captured(include_str!("../../tests/table/custom.json"));
    for case in captured["paths"].as_array().expect("paths") {
        let written = field(case, "path");
        match Path::parse(written) {
            Err(_) => assert_eq!(case["malformed"], true, "{written} was not read"),
            Ok(path) => {
                assert!(case["malformed"].is_null(), "{written} was read");
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
fn ages_that_the_corpus_does_not_reach() {
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

fn config_map(name: &str) -> Value {
    json!({
        "kind": "ConfigMap", "apiVersion": "v1",
        "metadata": { "name": name, "resourceVersion": "7", "creationTimestamp": "2026-01-01T00:00:00Z" },
        "data": { "a": "1" },
    })
}

fn sheet<'a>(group: &'a str, kind: &'a str, include: IncludeObject) -> Sheet<'a> {
    Sheet {
        printer: Printer::built_in(group, "v1", kind).expect("a printer"),
        include,
        meta_version: "v1",
        now: time("2026-01-01T00:00:09Z"),
    }
}

#[test]
fn rows_carry_what_was_asked_for() {
    let object = config_map("a");
    let carried = |include| sheet("", "ConfigMap", include).single(&object)["rows"][0]["object"].clone();
    assert_eq!(carried(IncludeObject::None), Value::Null);
    assert_eq!(carried(IncludeObject::Object), object);
    assert_eq!(
        carried(IncludeObject::Metadata),
        json!({ "kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": object["metadata"] })
    );
}

#[test]
fn lists_have_columns_metadata_and_rows() {
    let objects = [config_map("a"), config_map("b")];
    let metadata = json!({ "resourceVersion": "9", "continue": "x", "remainingItemCount": 3 });
    let mut wanted = sheet("", "ConfigMap", IncludeObject::None);
    wanted.meta_version = "v1beta1";
    let table = wanted.list(&metadata, &objects);
    assert_eq!(table["kind"], "Table");
    assert_eq!(table["apiVersion"], "meta.k8s.io/v1beta1");
    assert_eq!(table["metadata"], metadata);
    assert_eq!(table["columnDefinitions"].as_array().map(Vec::len), Some(3));
    assert_eq!(
        table["rows"],
        json!([{ "cells": ["a", 1, "9s"], "object": null }, { "cells": ["b", 1, "9s"], "object": null }])
    );
}

#[test]
fn empty_lists_differ_by_printer() {
    let rows = |group, kind| sheet(group, kind, IncludeObject::None).list(&json!({}), [])["rows"].clone();
    assert_eq!(rows("", "ConfigMap"), json!([]));
    assert_eq!(rows("apiregistration.k8s.io", "APIService"), json!([]));
    assert_eq!(rows("", "LimitRange"), Value::Null);
    assert_eq!(rows("rbac.authorization.k8s.io", "Role"), Value::Null);
    let custom = CustomColumns::new(&Value::Null);
    let printer = Printer::Custom(&custom);
    let custom = Sheet {
        printer,
        ..sheet("", "Pod", IncludeObject::None)
    };
    assert_eq!(custom.list(&json!({}), [])["rows"], json!([]));
}

#[test]
fn watches_name_the_columns_once() {
    let columns = |group, kind, first| {
        let table = sheet(group, kind, IncludeObject::None).event(&config_map("a"), first);
        !table["columnDefinitions"].is_null()
    };
    assert!(columns("", "ConfigMap", true));
    assert!(!columns("", "ConfigMap", false));
    assert!(columns("apiregistration.k8s.io", "APIService", false));
}

#[test]
fn the_bookmark_that_ends_a_list_keeps_its_mark() {
    let bookmark = json!({ "kind": "ConfigMap", "apiVersion": "v1", "metadata": {
        "resourceVersion": "9", "annotations": { "k8s.io/initial-events-end": "true" } } });
    let table = sheet("", "ConfigMap", IncludeObject::None).event(&bookmark, false);
    assert_eq!(table["metadata"], json!({ "resourceVersion": "9" }));
    assert_eq!(
        table["rows"],
        json!([{ "cells": ["", 0, "<unknown>"], "object": {
            "kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": bookmark["metadata"] } }])
    );
}

#[test]
fn flow_schemas_are_listed_by_precedence() {
    let schema = |name: &str, precedence: i64| json!({ "metadata": { "name": name }, "spec": { "matchingPrecedence": precedence } });
    let objects = [schema("b", 5), schema("c", 1), schema("a", 5)];
    let table =
        sheet("flowcontrol.apiserver.k8s.io", "FlowSchema", IncludeObject::None).list(&json!({}), &objects);
    let names: Vec<&Value> = (0..3).map(|row| &table["rows"][row]["cells"][0]).collect();
    assert_eq!(names, ["c", "a", "b"]);
}

#[test]
fn include_object_is_read_from_the_query() {
    let known = BTreeMap::from([
        ("", IncludeObject::Metadata),
        ("Metadata", IncludeObject::Metadata),
        ("None", IncludeObject::None),
        ("Object", IncludeObject::Object),
    ]);
    for (text, include) in known {
        assert_eq!(IncludeObject::from_query(Some(text)).ok(), Some(include));
    }
    assert_eq!(
        IncludeObject::from_query(None).ok(),
        Some(IncludeObject::Metadata)
    );
    let refused = IncludeObject::from_query(Some("Foo")).expect_err("unknown value");
    assert_eq!(
        refused.to_json()["message"],
        "Unable to convert to Table as requested: includeObject: Invalid value: \"Foo\": must be 'Metadata', \
         'Object', 'None', or empty"
    );
}

#[test]
fn kinds_that_are_only_created_have_no_table() {
    for (group, kind) in [("", "Binding"), ("authentication.k8s.io", "TokenReview")] {
        assert!(Printer::built_in(group, "v1", kind).is_none(), "{kind}");
    }
}
