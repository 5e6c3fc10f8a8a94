//! Compares tables with recorded responses of kube-apiserver v1.36.3 (`tests/recorded/` of `kube-table`).

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use kube_table::Columns;
use serde_json::{Value, json};

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

fn cell_cases() -> Vec<Value> {
    let cases = captured(include_str!("../../../kube-table/tests/recorded/cells.json"));
    cases.as_array().expect("cases").clone()
}

/// Every kind that can be listed has columns and an object in the corpus; other kinds have neither.
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
        assert_eq!(
            Columns::built_in(group, "v1", kind).is_some(),
            listed,
            "columns of {line}"
        );
        let known = corpus.contains(&(group.to_owned(), kind.to_owned()));
        assert_eq!(known, listed, "corpus for {line}");
    }
}

#[test]
fn rows_contain_the_conditions_and_metadata_of_the_real_server() {
    for case in cell_cases() {
        let printer = Printer::built_in(
            field(&case, "group"),
            field(&case, "version"),
            field(&case, "kind"),
        )
        .expect("a printer");
        let sheet = TableBuilder {
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

fn config_map(name: &str) -> Value {
    json!({
        "kind": "ConfigMap", "apiVersion": "v1",
        "metadata": { "name": name, "resourceVersion": "7", "creationTimestamp": "2026-01-01T00:00:00Z" },
        "data": { "a": "1" },
    })
}

fn sheet<'a>(group: &'a str, kind: &'a str, include: IncludeObject) -> TableBuilder<'a> {
    TableBuilder {
        printer: Printer::built_in(group, "v1", kind).expect("a printer"),
        include,
        meta_version: "v1",
        now: time("2026-01-01T00:00:09Z"),
    }
}

#[test]
fn rows_contain_the_requested_objects() {
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
    let table = wanted.list(&metadata, objects);
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
    let printer = Printer::custom(Columns::custom(&Value::Null));
    let custom = TableBuilder {
        printer,
        ..sheet("", "Pod", IncludeObject::None)
    };
    assert_eq!(custom.list(&json!({}), [])["rows"], json!([]));
}

#[test]
fn only_the_first_event_has_columns() {
    let columns = |group, kind, first| {
        let table = sheet(group, kind, IncludeObject::None).event(&config_map("a"), first);
        !table["columnDefinitions"].is_null()
    };
    assert!(columns("", "ConfigMap", true));
    assert!(!columns("", "ConfigMap", false));
    assert!(columns("apiregistration.k8s.io", "APIService", false));
}

#[test]
fn the_bookmark_that_ends_a_list_keeps_its_annotation() {
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
        sheet("flowcontrol.apiserver.k8s.io", "FlowSchema", IncludeObject::None).list(&json!({}), objects);
    let names: Vec<&Value> = (0..3).map(|row| &table["rows"][row]["cells"][0]).collect();
    assert_eq!(names, ["c", "a", "b"]);
}

#[test]
fn include_object_is_parsed_from_the_query() {
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
