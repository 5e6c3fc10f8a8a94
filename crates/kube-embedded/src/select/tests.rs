use super::*;
use crate::store::{EventKind, Key};

#[test]
fn bad_label_selectors_are_bad_requests() {
    for (selector, message) in [
        ("x in", "unable to parse requirement: found '' expected: '('"),
        (
            "x in (a",
            "unable to parse requirement: found '', expected: ',' or ')'",
        ),
        (
            "x,",
            "unable to parse requirement: found '', expected: identifier after ','",
        ),
        (
            "x y",
            "unable to parse requirement: found 'y', expected: in, notin, =, ==, !=, gt, lt",
        ),
        (
            "=x",
            "unable to parse requirement: found '=', expected: !, identifier, or 'end of string'",
        ),
    ] {
        let status = label_selector(selector).expect_err(selector);
        assert_eq!(
            (status.code, status.message.as_str()),
            (400, message),
            "{selector}"
        );
    }
    for selector in ["x=-a", "a/b/c=d", "x>y", "x=a b", "/x", "Ü=1"] {
        assert_eq!(
            label_selector(selector).expect_err(selector).code,
            400,
            "{selector}"
        );
    }
}

#[test]
fn field_selectors() {
    let fields = ["status.phase".to_owned(), "spec.nodeName".to_owned()];
    let allowed = SelectableFields {
        fields: &fields,
        namespaced: true,
        label: UnknownFieldMessage::Plain,
    };
    let mut value = serde_json::json!({"kind": "Pod", "apiVersion": "v1", "metadata": {}});
    let key = Key::new(Some("ns"), "a");
    let object = Stored::encode(
        EventKind::Added,
        key,
        1,
        &mut value,
        ["Running".into(), "".into()].into(),
        0,
    );
    for (selector, expected) in [
        ("metadata.name=a", true),
        ("metadata.name==a,metadata.namespace=ns", true),
        ("metadata.name!=a", false),
        ("status.phase=Running,spec.nodeName=", true),
        ("spec.nodeName!=", false),
        (r"metadata.name=a\,b", false),
    ] {
        let parsed = FieldSelector::parse(selector, &allowed).unwrap_or_else(|e| panic!("{selector}: {e}"));
        assert_eq!(parsed.matches(&object), expected, "{selector}");
    }
    let unknown = FieldSelector::parse("spec.foo=1", &allowed).expect_err("unknown field");
    assert_eq!(
        unknown.message,
        r#""spec.foo" is not a known field selector: only "metadata.name", "metadata.namespace""#
    );
    assert_eq!(
        FieldSelector::parse("metadata.name", &allowed)
            .expect_err("no operator")
            .code,
        400
    );
}
