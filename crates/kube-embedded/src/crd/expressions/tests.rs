//! Answers of a real kube-apiserver 1.36 are in `testdata`: `rules.jsonl` has rules that a definition may or may not have,
//! `evaluations.jsonl` expressions with their values or errors.

use serde_json::{Value, json};

use super::super::{CustomKind, validate_crd};
use crate::status::FieldError;

fn lines(text: &str) -> impl Iterator<Item = Value> {
    text.lines()
        .map(|line| serde_json::from_str(line).expect("a line of JSON"))
}

/// A definition with one version.
fn definition(schema: &Value) -> Value {
    json!({
        "metadata": { "name": "gizmos.shop.test" },
        "spec": {
            "group": "shop.test",
            "scope": "Namespaced",
            "names": { "plural": "gizmos", "singular": "gizmo", "kind": "Gizmo", "listKind": "GizmoList" },
            "versions": [{ "name": "v1", "served": true, "storage": true, "schema": { "openAPIV3Schema": schema } }],
        },
    })
}

/// What is wrong with an error, without the path of the field.
fn body(error: &FieldError) -> String {
    let text = error.to_string();
    text.strip_prefix(&format!("{}: ", error.field))
        .map_or(text.clone(), str::to_owned)
}

/// A definition whose `spec` has fields of all types and one rule.
fn definition_with(rule: &str) -> Value {
    definition(&json!({ "type": "object", "properties": { "spec": {
        "type": "object",
        "properties": {
            "a": { "type": "integer" },
            "b": { "type": "integer" },
            "s": { "type": "string", "maxLength": 20 },
            "d": { "type": "number" },
            "o": { "type": "boolean" },
            "l": { "type": "array", "maxItems": 5, "items": { "type": "string", "maxLength": 10 } },
            "m": { "type": "object", "maxProperties": 5, "additionalProperties": { "type": "string", "maxLength": 10 } },
            "ios": { "x-kubernetes-int-or-string": true, "maxLength": 10 },
        },
        "x-kubernetes-validations": [{ "rule": rule, "message": "m" }],
    } } }))
}

#[test]
fn rules_compile_as_on_the_real_server() {
    let mut wrong = Vec::new();
    for case in lines(include_str!("../testdata/rules.jsonl")) {
        let rule = case["rule"].as_str().expect("a rule");
        let found: Vec<String> = validate_crd(&definition_with(rule), None)
            .iter()
            .map(body)
            .collect();
        let is_syntax = |text: &str| text.contains("Syntax error");
        let same = match &case["messages"] {
            Value::Null => found.is_empty(),
            expected if is_syntax(&expected.to_string()) => {
                // Which tokens could follow is said only roughly, but the first place is the same.
                let first = |text: &str| {
                    let at = text.find("ERROR: ").unwrap_or_default();
                    text[at..].split(": Syntax").next().unwrap_or_default().to_owned()
                };
                found.len() == 1 && first(&found[0]) == first(expected[0].as_str().unwrap_or_default())
            }
            expected => *expected == json!(found),
        };
        if !same {
            wrong.push(format!(
                "{rule}\n  found    {found:?}\n  expected {}",
                case["messages"]
            ));
        }
    }
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn expressions_have_the_values_that_the_real_server_finds() {
    let text = include_str!("../testdata/evaluations.jsonl");
    let first = lines(text).next().expect("the definition");
    let errors = validate_crd(&first["crd"], None);
    assert_eq!(errors, []);
    let kind = CustomKind::from_crd(&first["crd"]);
    let errors = kind.validate("v1", &first["object"], None);
    let found: Vec<String> = errors.iter().map(body).collect();
    let mut wrong = Vec::new();
    for (at, case) in lines(text).skip(1).enumerate() {
        // Timestamps are printed in UTC, whatever their offset was.
        if case["expression"] == "string(timestamp('2020-01-02T03:04:05+02:00'))" {
            continue;
        }
        let found = found.get(at).map(String::as_str);
        if found != case["message"].as_str() {
            wrong.push(format!(
                "{}\n  found    {found:?}\n  expected {}",
                case["expression"], case["message"]
            ));
        }
    }
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
}

/// A kind whose `spec` has this schema.
fn kind(spec: &Value) -> CustomKind {
    let crd = definition(&json!({ "type": "object", "properties": { "spec": spec } }));
    assert_eq!(validate_crd(&crd, None), []);
    CustomKind::from_crd(&crd)
}

fn messages(errors: &[FieldError]) -> Vec<String> {
    errors.iter().map(ToString::to_string).collect()
}

fn created(kind: &CustomKind, spec: &Value) -> Vec<String> {
    messages(&kind.validate("v1", &json!({ "spec": spec }), None))
}

fn updated(kind: &CustomKind, old: &Value, new: &Value) -> Vec<String> {
    messages(&kind.validate("v1", &json!({ "spec": new }), Some(&json!({ "spec": old }))))
}

/// The errors of a definition whose `spec` has this schema.
fn refused(spec: &Value) -> Vec<String> {
    let crd = definition(&json!({ "type": "object", "properties": { "spec": spec } }));
    messages(&validate_crd(&crd, None))
}

const SPEC: &str = "spec.validation.openAPIV3Schema.properties[spec]";

/// An object of integers with rules.
fn integers(names: &[&str], rules: &Value) -> Value {
    let properties: serde_json::Map<String, Value> = names
        .iter()
        .map(|name| ((*name).to_owned(), json!({ "type": "integer" })))
        .collect();
    json!({ "type": "object", "properties": properties, "x-kubernetes-validations": rules })
}

#[test]
fn broken_rule_is_reported_with_the_rule_or_its_message() {
    let kind = kind(&integers(
        &["a", "b"],
        &json!([{ "rule": "self.a <= self.b" }, { "rule": "self.b < 9", "message": " b is too large " }]),
    ));
    assert!(created(&kind, &json!({ "a": 1, "b": 2 })).is_empty());
    assert_eq!(
        created(&kind, &json!({ "a": 10, "b": 9 })),
        [
            "spec: Invalid value: failed rule: self.a <= self.b",
            "spec: Invalid value: b is too large"
        ]
    );
}

#[test]
fn value_of_a_scalar_is_shown() {
    let kind = kind(&json!({ "type": "object", "properties": {
        "n": { "type": "integer", "x-kubernetes-validations": [{ "rule": "self > 1" }] },
        "s": { "type": "string", "x-kubernetes-validations": [{ "rule": "self.size() > 1" }] },
    } }));
    assert_eq!(
        created(&kind, &json!({ "n": 1, "s": "x" })),
        [
            "spec.n: Invalid value: 1: failed rule: self > 1",
            "spec.s: Invalid value: \"x\": failed rule: self.size() > 1"
        ]
    );
}

#[test]
fn reason_and_field_path_of_a_rule_are_reported() {
    let rules = json!([
        { "rule": "self.a == 1", "message": "m", "reason": "FieldValueForbidden", "fieldPath": ".a" },
        { "rule": "self.a == 1", "message": "m", "reason": "FieldValueRequired", "fieldPath": "['a']" },
        { "rule": "self.a == 1", "message": "m", "reason": "FieldValueDuplicate" },
        { "rule": "self.a == 1", "message": "m", "reason": "FieldValueInvalid" },
    ]);
    let kind = kind(&integers(&["a"], &rules));
    let errors = kind.validate("v1", &json!({ "spec": { "a": 2 } }), None);
    assert_eq!(
        messages(&errors),
        [
            "spec.a: Forbidden: m",
            "spec.a: Required value: m",
            "spec: Duplicate value",
            "spec: Invalid value: m"
        ]
    );
}

#[test]
fn message_expression_replaces_the_message_unless_it_fails() {
    let rules = json!([
        { "rule": "self.a < 1", "messageExpression": "'a is ' + string(self.a)" },
        { "rule": "self.a < 1", "message": "m", "messageExpression": "['x'][self.a]" },
        { "rule": "self.a < 1", "messageExpression": "'two\\nlines'" },
        { "rule": "self.a < 1", "messageExpression": "' '" },
    ]);
    let kind = kind(&integers(&["a"], &rules));
    assert_eq!(
        created(&kind, &json!({ "a": 5 })),
        [
            "spec: Invalid value: a is 5",
            "spec: Invalid value: m",
            "spec: Invalid value: failed rule: self.a < 1",
            "spec: Invalid value: failed rule: self.a < 1"
        ]
    );
}

#[test]
fn rule_is_evaluated_only_where_there_is_a_value() {
    let kind = kind(&json!({ "type": "object", "properties": {
        "n": { "type": "integer", "nullable": true, "x-kubernetes-validations": [{ "rule": "self > 1" }] },
    } }));
    assert!(created(&kind, &json!({})).is_empty());
    assert!(created(&kind, &json!({ "n": null })).is_empty());
    assert_eq!(created(&kind, &json!({ "n": 0 })).len(), 1);
}

#[test]
fn missing_field_is_an_error_unless_the_rule_asks_for_it() {
    let with = |rule: &str| kind(&integers(&["a"], &json!([{ "rule": rule }])));
    assert_eq!(
        created(&with("self.a > 1"), &json!({})),
        ["spec: Invalid value: \"object\": no such key: a evaluating rule: self.a > 1"]
    );
    assert!(created(&with("!has(self.a) || self.a > 1"), &json!({})).is_empty());
    assert!(created(&with("self.?a.orValue(2) > 1"), &json!({})).is_empty());
}

#[test]
fn transition_rule_is_evaluated_only_on_updates_of_existing_values() {
    let kind = kind(&json!({ "type": "object", "properties": {
        "n": { "type": "integer", "x-kubernetes-validations": [{ "rule": "self >= oldSelf", "message": "no" }] },
    } }));
    assert!(created(&kind, &json!({ "n": 1 })).is_empty());
    assert!(updated(&kind, &json!({}), &json!({ "n": 1 })).is_empty());
    assert!(updated(&kind, &json!({ "n": 1 }), &json!({})).is_empty());
    assert!(updated(&kind, &json!({ "n": 1 }), &json!({ "n": 2 })).is_empty());
    assert_eq!(
        updated(&kind, &json!({ "n": 2 }), &json!({ "n": 1 })),
        ["spec.n: Invalid value: 1: no"]
    );
}

#[test]
fn optional_old_value_makes_a_transition_rule_run_on_creation() {
    let rule = "oldSelf.hasValue() ? self >= oldSelf.value() : self == 0";
    let kind = kind(&json!({ "type": "object", "properties": { "n": {
        "type": "integer",
        "x-kubernetes-validations": [{ "rule": rule, "message": "no", "optionalOldSelf": true }],
    } } }));
    assert!(created(&kind, &json!({ "n": 0 })).is_empty());
    assert_eq!(created(&kind, &json!({ "n": 1 })).len(), 1);
    assert!(updated(&kind, &json!({}), &json!({ "n": 0 })).is_empty());
    assert!(updated(&kind, &json!({ "n": 3 }), &json!({ "n": 4 })).is_empty());
    assert_eq!(updated(&kind, &json!({ "n": 3 }), &json!({ "n": 2 })).len(), 1);
}

fn list_of(list_type: &str, rules: &Value) -> Value {
    json!({ "type": "object", "properties": { "l": {
        "type": "array",
        "x-kubernetes-list-type": list_type,
        "x-kubernetes-list-map-keys": ["k"],
        "items": {
            "type": "object",
            "required": ["k"],
            "properties": { "k": { "type": "string" }, "v": { "type": "integer" } },
            "x-kubernetes-validations": rules,
        },
    } } })
}

#[test]
fn items_of_a_list_map_are_compared_with_their_old_selves_by_key() {
    let rules = json!([{ "rule": "self.v >= oldSelf.v", "message": "no" }]);
    let kind = kind(&list_of("map", &rules));
    let old = json!({ "l": [{ "k": "a", "v": 1 }, { "k": "b", "v": 5 }] });
    let moved = json!({ "l": [{ "k": "c", "v": 0 }, { "k": "b", "v": 5 }, { "k": "a", "v": 2 }] });
    assert!(updated(&kind, &old, &moved).is_empty());
    let smaller = json!({ "l": [{ "k": "b", "v": 4 }, { "k": "a", "v": 1 }] });
    assert_eq!(updated(&kind, &old, &smaller), ["spec.l[0]: Invalid value: no"]);
}

#[test]
fn old_values_cannot_be_used_within_atomic_lists_and_sets() {
    for list in [
        json!({ "type": "array" }),
        json!({ "type": "array", "x-kubernetes-list-type": "set" }),
    ] {
        let mut list = list;
        list["items"] =
            json!({ "type": "string", "x-kubernetes-validations": [{ "rule": "self == oldSelf" }] });
        let found = refused(&json!({ "type": "object", "properties": { "l": list } }));
        assert_eq!(
            found,
            [format!(
                "{SPEC}.properties[l].items.x-kubernetes-validations[0].rule: Invalid value: \"self == oldSelf\": oldSelf \
                 cannot be used on the uncorrelatable portion of the schema within {SPEC}.properties[l]"
            )]
        );
        list["items"] = json!({ "type": "string" });
        list["x-kubernetes-validations"] = json!([{ "rule": "self == oldSelf", "message": "no" }]);
        let kind = kind(&json!({ "type": "object", "properties": { "l": list } }));
        assert_eq!(
            updated(&kind, &json!({ "l": ["a"] }), &json!({ "l": ["b"] })),
            ["spec.l: Invalid value: no"]
        );
    }
}

#[test]
fn sets_and_list_maps_are_equal_in_any_order() {
    let mut spec = list_of("map", &json!([]));
    spec["properties"]["l"]["x-kubernetes-validations"] =
        json!([{ "rule": "self == oldSelf", "message": "no" }]);
    let kind = kind(&spec);
    let old = json!({ "l": [{ "k": "a", "v": 1 }, { "k": "b" }] });
    assert!(updated(&kind, &old, &json!({ "l": [{ "k": "b" }, { "k": "a", "v": 1 }] })).is_empty());
    assert_eq!(
        updated(&kind, &old, &json!({ "l": [{ "k": "b" }, { "k": "a", "v": 2 }] })).len(),
        1
    );
}

#[test]
fn unchanged_values_may_go_on_breaking_a_rule() {
    let spec = json!({ "type": "object", "properties": {
        "inner": integers(&["a", "b"], &json!([{ "rule": "self.a < 5", "message": "no" }])),
        "other": { "type": "integer" },
        "labels": {
            "type": "object",
            "additionalProperties": {
                "type": "string",
                "x-kubernetes-validations": [{ "rule": "self != 'bad'", "message": "bad" }],
            },
        },
        "list": {
            "type": "array",
            "items": { "type": "integer", "x-kubernetes-validations": [{ "rule": "self < 5", "message": "large" }] },
        },
    } });
    let kind = kind(&spec);
    let old = json!({ "inner": { "a": 9 }, "other": 1, "labels": { "x": "bad" }, "list": [9] });
    assert_eq!(
        created(&kind, &old),
        [
            "spec.inner: Invalid value: no",
            "spec.labels[x]: Invalid value: \"bad\": bad",
            "spec.list[0]: Invalid value: 9: large"
        ]
    );
    let mut new = old.clone();
    new["other"] = 2.into();
    assert!(updated(&kind, &old, &new).is_empty());
    new["inner"]["b"] = 1.into();
    new["labels"]["y"] = "good".into();
    new["list"] = json!([9, 1]);
    assert_eq!(
        updated(&kind, &old, &new),
        [
            "spec.inner: Invalid value: no",
            "spec.list[0]: Invalid value: 9: large"
        ]
    );
}

#[test]
fn transition_rules_are_evaluated_on_unchanged_values() {
    let rules = json!([{ "rule": "self.a == 1 && oldSelf.a == 1", "message": "no" }]);
    let kind = kind(&integers(&["a"], &rules));
    let old = json!({ "a": 2 });
    assert_eq!(updated(&kind, &old, &old), ["spec: Invalid value: no"]);
}

#[test]
fn rule_at_the_root_sees_kind_and_name_but_no_other_metadata() {
    let schema = json!({
        "type": "object",
        "properties": { "spec": { "type": "object" } },
        "x-kubernetes-validations": [
            { "rule": "self.kind == 'Gizmo' && self.apiVersion == 'shop.test/v1'" },
            { "rule": "self.metadata.name.startsWith('a') && !has(self.metadata.generateName)" },
        ],
    });
    let mut crd = definition(&schema);
    assert_eq!(validate_crd(&crd, None), []);
    let kind = CustomKind::from_crd(&crd);
    let object = |name: &str| json!({ "apiVersion": "shop.test/v1", "kind": "Gizmo", "metadata": { "name": name, "labels": {} } });
    assert_eq!(kind.validate("v1", &object("ab"), None), []);
    assert_eq!(
        messages(&kind.validate("v1", &object("b"), None)),
        [
            "<nil>: Invalid value: failed rule: self.metadata.name.startsWith('a') && !has(self.metadata.generateName)"
        ]
    );
    let rules = &mut crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["x-kubernetes-validations"];
    *rules = json!([{ "rule": "size(self.metadata.labels) == 0" }]);
    let found = messages(&validate_crd(&crd, None));
    assert!(found[0].contains("undefined field 'labels'"), "{found:?}");
}

#[test]
fn embedded_resource_has_a_kind_and_a_name() {
    let kind = kind(&json!({
        "type": "object",
        "x-kubernetes-embedded-resource": true,
        "x-kubernetes-preserve-unknown-fields": true,
        "x-kubernetes-validations": [{ "rule": "self.kind == 'Pod' && self.metadata.name == 'p'", "message": "no" }],
    }));
    let pod = |name: &str| json!({ "apiVersion": "v1", "kind": "Pod", "metadata": { "name": name }, "spec": { "x": 1 } });
    assert!(created(&kind, &pod("p")).is_empty());
    assert_eq!(created(&kind, &pod("q")), ["spec: Invalid value: no"]);
}

#[test]
fn names_that_are_no_identifiers_are_escaped() {
    let rule = "self.a__dash__b == 1 && self.a__dot__b == 2 && self.a__slash__b == 3 && self.a__underscores__b == 4 && \
                self.__namespace__ == 5 && self.__in__ == 6 && self.a_b == 7";
    let names = ["a-b", "a.b", "a/b", "a__b", "namespace", "in", "a_b", "1a"];
    let kind = kind(&integers(&names, &json!([{ "rule": rule }])));
    let spec = json!({ "a-b": 1, "a.b": 2, "a/b": 3, "a__b": 4, "namespace": 5, "in": 6, "a_b": 7 });
    assert_eq!(created(&kind, &spec), [""; 0]);
}

#[test]
fn int_or_string_is_either() {
    let kind = kind(&json!({ "type": "object", "properties": { "x": {
        "x-kubernetes-int-or-string": true,
        "x-kubernetes-validations": [{ "rule": "type(self) == int ? self > 1 : self.endsWith('%')" }],
    } } }));
    assert!(created(&kind, &json!({ "x": 2 })).is_empty());
    assert!(created(&kind, &json!({ "x": "5%" })).is_empty());
    assert_eq!(created(&kind, &json!({ "x": 1 })).len(), 1);
    assert_eq!(created(&kind, &json!({ "x": "5" })).len(), 1);
}

#[test]
fn write_of_the_status_is_held_against_all_rules() {
    let mut crd = definition(&json!({
        "type": "object",
        "properties": {
            "spec": integers(&["most"], &json!([])),
            "status": integers(&["now"], &json!([{ "rule": "self.now >= 0", "message": "negative" }])),
        },
        "x-kubernetes-validations": [{ "rule": "self.status.now <= self.spec.most", "message": "too many" }],
    }));
    crd["spec"]["versions"][0]["subresources"] = json!({ "status": {} });
    assert_eq!(validate_crd(&crd, None), []);
    let kind = CustomKind::from_crd(&crd);
    let object = |now: i64| json!({ "spec": { "most": 3 }, "status": { "now": now } });
    let found = |now: i64| messages(&kind.validate_status("v1", &object(now), &object(0)));
    assert!(found(3).is_empty());
    assert_eq!(found(4), ["<nil>: Invalid value: too many"]);
    assert_eq!(found(-1), ["status: Invalid value: negative"]);
}

#[test]
fn rules_are_not_evaluated_on_an_object_of_the_wrong_form() {
    let mut spec = integers(&["a"], &json!([{ "rule": "self.a > 1" }]));
    spec["required"] = json!(["a"]);
    let found = created(&kind(&spec), &json!({}));
    assert_eq!(found.len(), 2);
    assert!(
        found[1].contains("some validation rules were not checked"),
        "{found:?}"
    );
}

#[test]
fn expensive_rule_is_stopped() {
    let items = json!({ "type": "array", "items": { "type": "integer" } });
    let with = |rule: &str| {
        kind(
            &json!({ "type": "object", "properties": { "l": items }, "x-kubernetes-validations": [
            { "rule": rule, "message": "slow" }, { "rule": "false", "message": "never" },
        ] }),
        )
    };
    let list = json!({ "l": vec![1; 2000] });
    let quadratic = with("self.l.all(x, self.l.all(y, x == y))");
    assert_eq!(
        created(&quadratic, &list),
        [
            "spec: Invalid value: \"object\": 'operation cancelled: actual cost limit exceeded': no further validation rules \
             will be run due to call cost exceeds limit for rule: slow"
        ]
    );
    // Texts that double cannot fill the memory.
    let doubling = format!(
        "self.l.map(x, 'abcdefgh'){}.size() > 0",
        ".map(a, a + a)".repeat(60)
    );
    assert_eq!(created(&with(&doubling), &json!({ "l": [1] })).len(), 1);
    let replacing = format!("'aaaa'{} == ''", ".replace('a', 'aaaaaaaa')".repeat(60));
    assert_eq!(created(&with(&replacing), &json!({})).len(), 1);
    assert_eq!(
        created(&with("lists.range(9000000000000000000).size() > 0"), &json!({})).len(),
        1
    );
}

#[test]
fn all_rules_together_have_a_budget() {
    let rules: Vec<Value> = (0..30)
        .map(|_| json!({ "rule": "self.l.all(x, self.l.all(y, x == y))", "message": "slow" }))
        .collect();
    let kind = kind(
        &json!({ "type": "object", "x-kubernetes-validations": rules, "properties": {
        "l": { "type": "array", "items": { "type": "integer" } },
    } }),
    );
    assert_eq!(
        created(&kind, &json!({ "l": vec![1; 400] })),
        [
            "spec: Invalid value: \"object\": validation failed due to running out of cost budget, no further validation \
             rules will be run"
        ]
    );
}

#[test]
fn deep_and_long_rules_are_refused() {
    let first = |rule: &str| refused(&integers(&["a"], &json!([{ "rule": rule }]))).remove(0);
    let deep = format!("{}true{}", "(".repeat(300), ")".repeat(300));
    assert!(first(&deep).contains("expression recursion limit exceeded: 250"));
    let chain = format!("1{} == 1", " + 1".repeat(300));
    assert!(first(&chain).contains("expression recursion limit exceeded: 250"));
    let long = format!("true || '{}' == ''", "x".repeat(100_000));
    assert!(first(&long).contains("expression code point size exceeds limit"));
    // This deep is not too deep, not even for the stack of a test.
    let spec = integers(
        &["a"],
        &json!([{ "rule": format!("1{} == 249", " + 1".repeat(248)) }]),
    );
    assert!(created(&kind(&spec), &json!({})).is_empty());
    let nested = format!("{}true{}", "[true].all(x, ".repeat(120), ")".repeat(120));
    assert!(created(&kind(&integers(&[], &json!([{ "rule": nested }]))), &json!({})).is_empty());
}

#[test]
fn rule_that_cannot_be_evaluated_is_refused() {
    let shown = |rule: &str, message: &str| {
        format!(
            "{{\"Rule\":\"{rule}\",\"Message\":\"\",\"MessageExpression\":\"{message}\",\"Reason\":null,\"FieldPath\":\"\",\
             \"OptionalOldSelf\":null}}"
        )
    };
    let found = refused(&integers(
        &["a"],
        &json!([
            { "rule": "self.a" },
            { "rule": "self.b == 1" },
            { "rule": "true", "messageExpression": "self.a" },
            { "rule": "true", "messageExpression": "self.b" },
            { "rule": "int('x') == 1" },
            { "rule": "true", "optionalOldSelf": true },
        ]),
    ));
    let at = |n: usize, field: &str| format!("{SPEC}.x-kubernetes-validations[{n}].{field}: Invalid value: ");
    assert_eq!(
        found,
        [
            format!(
                "{}{}: cel expression must evaluate to a bool",
                at(0, "rule"),
                shown("self.a", "")
            ),
            format!(
                "{}{}: compilation failed: ERROR: <input>:1:5: undefined field 'b'\n | self.b == 1\n | ....^",
                at(1, "rule"),
                shown("self.b == 1", "")
            ),
            format!(
                "{}{}: messageExpression must evaluate to a string",
                at(2, "messageExpression"),
                shown("true", "self.a")
            ),
            format!(
                "{}{}: messageExpression compilation failed: ERROR: <input>:1:5: undefined field 'b'\n | self.b\n | ....^",
                at(3, "messageExpression"),
                shown("true", "self.b")
            ),
            format!(
                "{}{}: program instantiation failed: type conversion error from 'string' to 'int'",
                at(4, "rule"),
                shown("int('x') == 1", "")
            ),
            format!(
                "{}true: may not be set if oldSelf is not used in rule",
                at(5, "optionalOldSelf")
            ),
        ]
    );
}

#[test]
fn rule_about_data_without_a_schema_is_refused() {
    let spec = json!({ "x-kubernetes-preserve-unknown-fields": true, "x-kubernetes-validations": [{ "rule": "true" }] });
    assert_eq!(
        refused(&spec),
        [format!(
            "{SPEC}.x-kubernetes-validations: Internal error: internal error: failed to construct type information for \
             x-kubernetes-validations rules: unable to convert structural schema to CEL declarations"
        )]
    );
}

#[test]
fn field_path_must_lead_to_a_field() {
    let refused = |path: &str| {
        let rules = json!([{ "rule": "self.a > 1", "fieldPath": path }]);
        refused(&integers(&["a"], &rules))
    };
    assert!(refused(".a").is_empty());
    for path in [".b", "a", ".a.c", "['a"] {
        assert_eq!(
            refused(path),
            [format!(
                "{SPEC}.x-kubernetes-validations[0].fieldPath: Invalid value: {path:?}: must be a valid path"
            )]
        );
    }
}
