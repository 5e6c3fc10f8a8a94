//! Compares with the responses of a real kube-apiserver 1.36 in `testdata`: each line has a definition or an object.

use serde_json::{Value, json};

use super::*;
use crate::regexp;
use crate::schema::{ListKind, Resolved};
use crate::status::Status;

fn lines(text: &str) -> impl Iterator<Item = Value> {
    text.lines()
        .map(|line| serde_json::from_str(line).expect("a line of JSON"))
}

/// Returns the sorted errors of a message, because the server iterates maps in random order.
fn sorted_message(message: &str) -> Vec<String> {
    let (head, list) = message.split_once(" is invalid: ").unwrap_or((message, ""));
    let list = list
        .strip_prefix('[')
        .and_then(|l| l.strip_suffix(']'))
        .unwrap_or(list);
    let mut parts: Vec<String> = list.split(", ").map(str::to_owned).collect();
    parts.sort();
    parts.push(head.to_owned());
    parts
}

#[test]
fn definitions_are_validated_like_on_the_real_server() {
    let mut wrong = Vec::new();
    let first = lines(include_str!("testdata/definitions.jsonl"));
    for case in first.chain(lines(include_str!("testdata/more_definitions.jsonl"))) {
        let name = case["crd"]["metadata"]["name"].as_str().unwrap_or_default();
        let errors = validate_crd(&case["crd"], None);
        let answer = Status::invalid("apiextensions.k8s.io", "CustomResourceDefinition", name, &errors);
        let (found, expected) = match case["message"].as_str() {
            Some(message) => (answer.message, message.to_owned()),
            None if errors.is_empty() => continue,
            None => (answer.message, "valid".to_owned()),
        };
        if sorted_message(&found) != sorted_message(&expected) {
            wrong.push(format!(
                "{}\n  found    {found}\n  expected {expected}",
                case["name"]
            ));
        }
    }
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
}

fn gizmo() -> CustomKind {
    let crd = lines(include_str!("testdata/objects.jsonl"))
        .next()
        .expect("the definition");
    CustomKind::from_crd(&crd)
}

#[test]
fn objects_are_validated_like_on_the_real_server() {
    assert_like_real_server(include_str!("testdata/objects.jsonl"));
    assert_like_real_server(include_str!("testdata/more_objects.jsonl"));
}

/// Validates recorded objects. The first line is the definition; the others are objects with the server's responses.
fn assert_like_real_server(answers: &str) {
    let kind = CustomKind::from_crd(&lines(answers).next().expect("the definition"));
    let mut wrong = Vec::new();
    for case in lines(answers).skip(1) {
        let mut object = case["object"].clone();
        let name = object["metadata"]["name"].as_str().unwrap_or_default().to_owned();
        if name == "Bad_Name" {
            continue; // Names are validated elsewhere.
        }
        let unknown: Vec<String> = kind
            .prune("v1", &mut object)
            .iter()
            .map(|f| format!("unknown field {f:?}"))
            .collect();
        if unknown.join(", ") != case["unknown"].as_str().unwrap_or_default() {
            wrong.push(format!("{}: {unknown:?}", case["object"]["spec"]));
        }
        kind.default("v1", &mut object);
        if let Some(fields) = object.as_object_mut() {
            fields.remove("status");
        }
        let errors = kind.validate("v1", &object, None);
        if let Some(message) = case["message"].as_str() {
            let found = Status::invalid("shop.test", &kind.kind, &name, &errors).message;
            if sorted_message(&found) != sorted_message(message) {
                wrong.push(format!(
                    "{}\n  found    {found}\n  expected {message}",
                    case["object"]["spec"]
                ));
            }
        } else if !errors.is_empty() {
            wrong.push(format!("{} is fine, found {errors:?}", case["object"]["spec"]));
        } else {
            // The server formats 2.0 as 2.
            let found = object["spec"].to_string().replace(".0", "");
            if found != case["result"]["spec"].to_string().replace(".0", "") {
                wrong.push(format!("{found} is not {}", case["result"]["spec"]));
            }
        }
    }
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
}

/// Returns a kind whose schema became stricter after the object was stored, as on the real server.
fn tightened_kind() -> (CustomKind, Value) {
    let text = json!({ "type": "string" });
    let short = json!({ "type": "string", "maxLength": 1 });
    let item = json!({ "type": "object", "required": ["name"], "properties": { "name": text, "v": short } });
    let spec = json!({
        "type": "object",
        "properties": {
            "a": short,
            "l": { "type": "array", "items": short },
            "o": { "type": "object", "required": ["z"], "properties": { "p": short, "q": text, "z": text } },
            "n": {
                "type": "array",
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["name"],
                "items": item,
            },
            "s": { "type": "array", "x-kubernetes-list-type": "set", "items": text },
        },
    });
    let schema = json!({ "type": "object", "properties": { "spec": spec } });
    let crd = json!({
        "metadata": { "name": "rats.shop.test" },
        "spec": {
            "group": "shop.test",
            "names": { "plural": "rats", "kind": "Rat" },
            "scope": "Namespaced",
            "versions": [{ "name": "v1", "served": true, "storage": true, "schema": { "openAPIV3Schema": schema } }],
        },
    });
    assert_eq!(validate_crd(&crd, None), []);
    let old = json!({
        "spec": {
            "a": "xx",
            "l": ["xx", "yy"],
            "o": { "p": "xx", "q": "xx" },
            "n": [{ "name": "a", "v": "xx" }, { "name": "b", "v": "xx" }],
            "s": ["a", "a"],
        },
    });
    (CustomKind::from_crd(&crd), old)
}

#[test]
fn errors_in_unchanged_values_are_ignored() {
    let long = "Too long: may not be more than 1 byte";
    let cases = [
        ("label", json!(1), vec![]),
        ("a", json!("zz"), vec![format!("spec.a: {long}")]),
        (
            "l",
            json!(["yy", "xx"]),
            vec![format!("spec.l[0]: {long}"), format!("spec.l[1]: {long}")],
        ),
        (
            "o",
            json!({ "p": "xx", "q": "yy" }),
            vec!["spec.o.z: Required value".into()],
        ),
        (
            "o",
            json!({ "p": "yy", "q": "xx" }),
            vec![format!("spec.o.p: {long}"), "spec.o.z: Required value".into()],
        ),
        (
            "n",
            json!([{ "name": "b", "v": "xx" }, { "name": "a", "v": "xx" }]),
            vec![],
        ),
        (
            "n",
            json!([{ "name": "b", "v": "yy" }, { "name": "c", "v": "xx" }]),
            vec![format!("spec.n[0].v: {long}"), format!("spec.n[1].v: {long}")],
        ),
        ("s", json!(["a", "a", "b"]), vec![]),
    ];
    let (kind, old) = tightened_kind();
    for (field, value, expected) in cases {
        let mut new = old.clone();
        match field {
            "label" => new["metadata"] = value,
            field => new["spec"][field] = value,
        }
        let found: Vec<String> = kind
            .validate("v1", &new, Some(&old))
            .iter()
            .map(ToString::to_string)
            .collect();
        assert_eq!(found, expected, "{field}");
    }
}

#[test]
fn a_status_write_validates_only_the_status() {
    let old = json!({ "spec": { "size": 0 } });
    let mut new = old.clone();
    new["status"] = json!({ "phase": "Down", "conds": [{ "type": "a" }, { "type": "a" }] });
    let found: Vec<String> = gizmo()
        .validate_status("v1", &new, &old)
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(
        found,
        [
            r#"status.phase: Unsupported value: "Down": supported values: "Up""#,
            r#"status.conds[1]: Duplicate value: {"type":"a"}"#,
        ]
    );
}

fn definition(plural: &str, names: &Value) -> Value {
    let mut crd = json!({
        "metadata": { "name": format!("{plural}.shop.test") },
        "spec": {
            "group": "shop.test",
            "names": names,
            "scope": "Namespaced",
            "versions": [{ "name": "v1", "served": true, "storage": true }],
        },
    });
    crd["spec"]["names"]["plural"] = plural.into();
    super::definition::default_crd(&mut crd);
    crd
}

#[test]
fn names_are_accepted_unless_they_conflict() {
    let mut gizmos = definition(
        "gizmos",
        &json!({ "kind": "Gizmo", "shortNames": ["gz"], "categories": ["all"] }),
    );
    assert_eq!(
        initial_status(&gizmos)["acceptedNames"],
        json!({ "plural": "", "kind": "" })
    );
    gizmos["status"] = established_status(&gizmos, [], "2026-01-02T03:04:05Z");
    assert_eq!(
        gizmos["status"],
        json!({
            "conditions": [
                {
                    "type": "NamesAccepted",
                    "status": "True",
                    "lastTransitionTime": "2026-01-02T03:04:05Z",
                    "reason": "NoConflicts",
                    "message": "no conflicts found",
                },
                {
                    "type": "Established",
                    "status": "True",
                    "lastTransitionTime": "2026-01-02T03:04:05Z",
                    "reason": "InitialNamesAccepted",
                    "message": "the initial names have been accepted",
                },
            ],
            "acceptedNames": {
                "plural": "gizmos",
                "singular": "gizmo",
                "kind": "Gizmo",
                "listKind": "GizmoList",
                "shortNames": ["gz"],
                "categories": ["all"],
            },
            "storedVersions": ["v1"],
        })
    );
    assert!(is_established(&gizmos));
    let again = established_status(&gizmos, [&gizmos], "2026-02-02T03:04:05Z");
    assert_eq!(again, gizmos["status"], "the status is unchanged");

    let mut rats = definition("rats", &json!({ "kind": "Rat" }));
    rats["status"] = established_status(&rats, [&gizmos], "t");
    let late =
        json!({ "singular": "rat", "kind": "Rat", "listKind": "GizmoList", "shortNames": ["gz", "ok"] });
    let ratties = definition("ratties", &late);
    let status = established_status(&ratties, [&gizmos, &rats], "t");
    assert_eq!(
        status["acceptedNames"],
        json!({ "plural": "ratties", "kind": "" })
    );
    let conditions = |status: &Value| {
        let list = status["conditions"].as_array().cloned().unwrap_or_default();
        list.iter()
            .map(|c| format!("{} {} {}", c["status"], c["reason"], c["message"]))
            .collect::<Vec<_>>()
    };
    assert_eq!(
        conditions(&status),
        [
            r#""False" "ListKindConflict" "\"GizmoList\" is already in use""#,
            r#""False" "NotAccepted" "not all names are accepted""#,
        ]
    );
    let mugs = definition("mugs", &json!({ "kind": "Mug", "shortNames": ["gz"] }));
    let status = established_status(&mugs, [&gizmos], "t");
    assert_eq!(
        conditions(&status)[0],
        r#""False" "ShortNamesConflict" "\"gz\" is already in use""#
    );
    assert_eq!(
        status["acceptedNames"],
        json!({ "plural": "mugs", "singular": "mug", "kind": "Mug", "listKind": "MugList" })
    );
}

#[test]
fn some_parts_of_a_definition_are_immutable() {
    let mut old = definition("rats", &json!({ "kind": "Rat" }));
    old["spec"]["versions"][0]["schema"] = json!({ "openAPIV3Schema": { "type": "object" } });
    old["status"] = established_status(&old, [], "t");
    let change = |path: &str, to: Value| {
        let mut new = old.clone();
        *new.pointer_mut(path).expect("a field") = to;
        validate_crd(&new, Some(&old))
            .iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>()
    };
    assert_eq!(
        change("/spec/scope", json!("Cluster")),
        [r#"spec.scope: Invalid value: "Cluster": field is immutable"#]
    );
    assert_eq!(
        change("/spec/names/kind", json!("Mouse")),
        [r#"spec.names.kind: Invalid value: "Mouse": field is immutable"#]
    );
    assert_eq!(
        change("/spec/names/plural", json!("mice")),
        [r#"spec.names.plural: Invalid value: "mice": field is immutable"#]
    );
    assert_eq!(
        change("/spec/group", json!("other.test")),
        [r#"spec.group: Invalid value: "other.test": field is immutable"#]
    );
    assert_eq!(
        change("/spec/versions/0/name", json!("v2")),
        [
            "status.storedVersions[0]: Invalid value: \"v1\": missing from spec.versions; v1 was previously a storage \
             version, and must remain in spec.versions until a storage migration ensures no data remains persisted in \
             v1 and removes v1 from status.storedVersions"
        ]
    );
    let mut more = old.clone();
    let mut v2 = old["spec"]["versions"][0].clone();
    v2["name"] = "v2".into();
    more["spec"]["versions"][0]["storage"] = false.into();
    more["spec"]["versions"]
        .as_array_mut()
        .expect("versions")
        .push(v2);
    assert_eq!(validate_crd(&more, Some(&old)), []);
    assert_eq!(updated_status(&more, &old)["storedVersions"], json!(["v1", "v2"]));
}

#[test]
fn a_schema_is_converted_to_types() {
    let kind = gizmo();
    let version = kind.version("v1").expect("v1");
    let types = &version.types;
    let field = |ty: &Type, name: &str| match types.resolve(ty) {
        Resolved::Struct(s) => s
            .field(name)
            .cloned()
            .unwrap_or_else(|| panic!("{name} is missing")),
        other => panic!("not a struct: {other:?}"),
    };
    let spec = field(&version.root, "spec");
    assert!(spec.required);
    let meta = field(&version.root, "metadata");
    assert!(matches!(
        types.resolve(&field(&meta.ty, "labels").ty),
        Resolved::Map(Type::String)
    ));
    assert_eq!(
        field(&spec.ty, "ports").list,
        ListKind::Map(vec!["port".into(), "proto".into()])
    );
    assert_eq!(field(&spec.ty, "set").list, ListKind::Set);
    assert_eq!(field(&spec.ty, "list").list, ListKind::Atomic);
    assert_eq!(field(&spec.ty, "ios").ty, Type::IntOrString);
    assert_eq!(field(&spec.ty, "dflt").default, Some("hello".into()));
    assert!(matches!(types.resolve(&field(&spec.ty, "openobj").ty), Resolved::Struct(s) if s.open));
    field(&field(&spec.ty, "tmpl").ty, "metadata");
    assert_eq!(kind.list_kind, "GizmoList");
    assert_eq!(kind.singular, "gizmo");
    assert_eq!(version.columns.definitions()[1].name, "Size");
    assert!(version.status && version.scale.is_some() && version.warning.is_none());
}

#[test]
fn unrecognized_formats_are_reported() {
    let crd = lines(include_str!("testdata/objects.jsonl"))
        .next()
        .expect("the definition");
    assert_eq!(unrecognized_formats(&crd), ["weird"]);
}

#[test]
fn rules_are_not_checked_on_an_invalid_object() {
    let mut crd = definition("rats", &json!({ "kind": "Rat" }));
    crd["spec"]["versions"][0]["schema"] = json!({ "openAPIV3Schema": {
        "type": "object",
        "properties": { "a": { "type": "integer" } },
        "x-kubernetes-validations": [{ "rule": "self.a > 1" }],
    } });
    assert_eq!(validate_crd(&crd, None), []);
    let found: Vec<String> = CustomKind::from_crd(&crd)
        .validate("v1", &json!({ "a": "x" }), None)
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(
        found[1],
        "<nil>: Invalid value: null: some validation rules were not checked because the object was invalid; correct the \
         existing errors to complete validation"
    );
}

#[test]
fn go_patterns_are_converted() {
    let matches = [
        (r"^\d+$", "123", true),
        (r"^\d+$", "١٢", false),
        (r"^[[]a]$", "[a]", true),
        (r"^{a}$", "{a}", true),
        (r"^a{2}$", "aa", true),
        (r"^[[:alpha:]_]+$", "a_b", true),
        (r"^\Qa.b\E$", "a.b", true),
        (r"^\Qa.b\E$", "axb", false),
        (r"^[a&&b]$", "&", true),
        (r"^[\w.-]+$", "a.b-c", true),
        (r"^\<a\>$", "<a>", true),
        (r"^\S+$", "abc", true),
    ];
    for (pattern, text, expected) in matches {
        let regex = regexp::compile(pattern).unwrap_or_else(|e| panic!("{pattern}: {e}"));
        assert_eq!(regex.is_match(text), expected, "{pattern} on {text}");
    }
    let errors = [
        (r"(ab", "error parsing regexp: missing closing ): `(ab`"),
        (
            r"^(?!x)a$",
            "error parsing regexp: invalid or unsupported Perl syntax: `(?!`",
        ),
        (r"[ab", "error parsing regexp: missing closing ]: `[ab`"),
        (r"ab)", "error parsing regexp: unexpected ): `ab)`"),
        (
            r"*a",
            "error parsing regexp: missing argument to repetition operator: `*`",
        ),
        (r"(a)\1", "error parsing regexp: invalid escape sequence: `\\1`"),
    ];
    for (pattern, expected) in errors {
        assert_eq!(regexp::compile(pattern).expect_err(pattern), expected);
    }
}

/// Collects JSON pointers to all nested values.
fn places(value: &Value, at: &str, found: &mut Vec<String>) {
    found.push(at.to_owned());
    let escape = |name: &str| name.replace('~', "~0").replace('/', "~1");
    match value {
        Value::Object(fields) => {
            for (name, inner) in fields {
                places(inner, &format!("{at}/{}", escape(name)), found);
            }
        }
        Value::Array(items) => {
            for (index, inner) in items.iter().enumerate() {
                places(inner, &format!("{at}/{index}"), found);
            }
        }
        _ => {}
    }
}

#[test]
fn malformed_objects_do_not_panic() {
    let node = json!({
        "type": "object",
        "x-kubernetes-embedded-resource": true,
        "x-kubernetes-preserve-unknown-fields": true,
        "properties": { "a": { "type": "string", "pattern": "a", "default": "a", "format": "date" } },
        "required": ["a"],
        "enum": [{}],
        "oneOf": [{ "required": ["a"] }],
        "not": { "minimum": 1 },
    });
    let list = json!({
        "type": "array",
        "items": node,
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["a"],
        "maxItems": 3,
    });
    let mut crd = definition("rats", &json!({ "kind": "Rat", "shortNames": ["r"] }));
    crd["spec"]["versions"][0]["schema"] = json!({ "openAPIV3Schema": {
        "type": "object",
        "properties": {
            "l": list,
            "m": { "type": "object", "additionalProperties": node },
            "n": { "type": "number", "multipleOf": 2, "maximum": 3 },
        },
    } });
    crd["spec"]["versions"][0]["subresources"] = json!({
        "status": {},
        "scale": { "specReplicasPath": ".l", "statusReplicasPath": ".m.x", "labelSelectorPath": ".n" },
    });
    crd["spec"]["versions"][0]["selectableFields"] = json!([{ "jsonPath": ".n" }]);
    crd["status"] = established_status(&crd, [], "t");
    let object = json!({
        "metadata": { "name": "x", "labels": { "a": "b" } },
        "l": [{ "a": "x", "metadata": { "labels": {} } }],
        "m": { "k": { "a": null } },
        "n": 4,
    });
    let odd = [
        json!(null),
        json!(1),
        json!(1.5),
        json!("x"),
        json!([]),
        json!([null]),
        json!({}),
        json!(true),
    ];
    let use_both = |crd: &Value, object: &Value| {
        validate_crd(crd, None);
        validate_crd(crd, Some(crd));
        unrecognized_formats(crd);
        established_status(crd, [crd], "t");
        let kind = CustomKind::from_crd(crd);
        let mut object = object.clone();
        kind.prune("v1", &mut object);
        kind.default("v1", &mut object);
        kind.validate("v1", &object, None);
        kind.validate("v1", &object, Some(&object));
        kind.validate_status("v1", &object, &object);
        if let Some(version) = kind.version("v1") {
            let resource = crate::openapi::ResourceDoc::of_custom(&kind, version);
            crate::openapi::v3_document(
                "shop.test",
                "v1",
                std::slice::from_ref(&resource),
                Types::builtin(),
            );
            crate::openapi::v2_document(&[resource], Types::builtin());
            let _ = kind.to_scale("v1", &object);
            let _ = kind.apply_scale("v1", &mut object, &json!({ "spec": { "replicas": 1 } }));
        }
    };
    let mut found = Vec::new();
    places(&crd, "", &mut found);
    for place in &found {
        for value in &odd {
            let mut crd = crd.clone();
            *crd.pointer_mut(place).expect("a place") = value.clone();
            use_both(&crd, &object);
        }
    }
    found.clear();
    places(&object, "", &mut found);
    for place in &found {
        for value in &odd {
            let mut object = object.clone();
            *object.pointer_mut(place).expect("a place") = value.clone();
            use_both(&crd, &object);
        }
    }
}
