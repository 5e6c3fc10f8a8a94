use serde_json::{Value, json};

use super::decode::{decode, strict_failure};
use super::quantity::Quantity;
use super::strict::{duplicate_fields, strict_problems};
use super::*;
use crate::golang::{Precision, canonical_time as time};

#[test]
fn the_table_is_parsed_completely() {
    let types = Types::builtin();
    assert!(types.iter().count() > 700);
    let pod = types
        .find("io.k8s.api.core.v1.PodSpec")
        .and_then(|id| types.structure(id))
        .expect("PodSpec");
    let containers = pod.field("containers").expect("containers");
    assert!(containers.required && containers.patch_merge);
    assert_eq!(containers.merge_key.as_deref(), Some("name"));
    assert_eq!(containers.list, ListKind::Map(vec!["name".into()]));
    let Resolved::List(item) = types.resolve(&containers.ty) else {
        panic!("containers is a list")
    };
    let Resolved::Struct(container) = types.resolve(item) else {
        panic!("a container is a struct")
    };
    assert!(container.field("image").is_some());
    let volumes = pod.field("volumes").expect("volumes");
    assert!(volumes.retain_keys && volumes.patch_merge);
}

#[test]
fn aliases_are_resolved() {
    let types = Types::builtin();
    let quantity = types
        .find("io.k8s.apimachinery.pkg.api.resource.Quantity")
        .expect("Quantity");
    assert!(matches!(
        types.resolve(&Type::Ref(quantity)),
        Resolved::Scalar(Type::Quantity)
    ));
}

#[test]
fn quantities_are_printed_in_canonical_form() {
    for (given, printed) in [
        ("0.5", "500m"),
        ("1000m", "1"),
        ("1024Mi", "1Gi"),
        ("1500Mi", "1500Mi"),
        ("1.5Gi", "1536Mi"),
        ("0.5Mi", "512Ki"),
        ("0.1Ki", "102400m"),
        ("1000k", "1M"),
        ("12e6", "12e6"),
        ("100e-1", "10"),
        ("1e-12", "1e-9"),
        ("1.1n", "2n"),
        ("10Ei", "9223372036854775807"),
        ("-1500Mi", "-1500Mi"),
        ("-0.5", "-500m"),
        ("+3", "+3"),
        ("007", "007"),
        ("0Mi", "0"),
        ("-", "0"),
        (" 1 ", "1"),
        (
            "99999999999999999999999999999999999999999999",
            "99999999999999999999999999999999999999999999",
        ),
    ] {
        assert_eq!(Quantity::canonical(given).as_deref(), Ok(printed), "{given}");
    }
    for broken in ["", "x", "1Zi", "1.2.3", "1e3k", "1 Gi", "1ii", "1e", "--1"] {
        assert!(Quantity::canonical(broken).is_err(), "{broken}");
    }
}

#[test]
fn quantities_compare_by_amount() {
    let parse = |text| Quantity::parse(text).expect(text);
    for (small, large) in [
        ("500m", "1"),
        ("1023Mi", "1Gi"),
        ("-1", "0"),
        ("-2", "-1"),
        ("999k", "1M"),
        ("1e3", "1001"),
        ("1G", "1Gi"),
    ] {
        assert!(parse(small).compare(&parse(large)).is_lt(), "{small} < {large}");
        assert!(parse(large).compare(&parse(small)).is_gt(), "{large} > {small}");
    }
    for (a, b) in [("1024Mi", "1Gi"), ("0.5", "500m"), ("0", "-0"), ("1e3", "1k")] {
        assert!(parse(a).compare(&parse(b)).is_eq(), "{a} = {b}");
    }
    assert!(parse("1500m").is_whole() != parse("2").is_whole());
}

#[test]
fn times_are_parsed_like_in_go() {
    let seconds = |text| time(text, Precision::Seconds);
    for (given, printed) in [
        ("2026-01-01T00:00:00Z", "2026-01-01T00:00:00Z"),
        ("2026-01-01T01:00:00+01:00", "2026-01-01T00:00:00Z"),
        ("2026-01-01T00:00:00.999Z", "2026-01-01T00:00:00Z"),
        ("2025-12-31T19:00:00-05:00", "2026-01-01T00:00:00Z"),
    ] {
        assert_eq!(seconds(given), Ok(Some(printed.to_owned())), "{given}");
    }
    assert_eq!(seconds("0001-01-01T00:00:00Z"), Ok(None));
    assert_eq!(
        time("2026-01-01T00:00:00.5000009Z", Precision::Micros),
        Ok(Some("2026-01-01T00:00:00.500000Z".to_owned()))
    );
    for (broken, why) in [
        ("2026-02-30T00:00:00Z", "day out of range"),
        ("2026-01-01T24:00:00Z", "hour out of range"),
        ("2026-01-01 00:00:00Z", "cannot parse \" 00:00:00Z\" as \"T\""),
        ("2026-01-01T00:00:00", "cannot parse \"\" as \"Z07:00\""),
        ("2026-01-01T00:00:00é", "cannot parse"),
    ] {
        let message = seconds(broken).expect_err(broken);
        assert!(message.contains(why), "{message}");
    }
}

#[test]
fn bytes_are_converted_to_canonical_form() {
    for (given, printed) in [
        ("YQ==", "YQ=="),
        ("YQ==\n", "YQ=="),
        ("Y\r\nQ==", "YQ=="),
        ("", ""),
        ("YR==", "YQ=="),
    ] {
        assert_eq!(base64_text::canonical(given).as_deref(), Ok(printed), "{given:?}");
    }
    for (broken, at) in [
        ("%", 0),
        ("YQ", 0),
        ("YWFhYQ", 4),
        ("a b=", 1),
        ("YQ=", 3),
        ("YQ==YQ==", 4),
    ] {
        assert_eq!(base64_text::canonical(broken), Err(at), "{broken:?}");
    }
}

fn type_of(name: &str) -> Type {
    Type::Ref(Types::builtin().find(name).expect(name))
}

fn decoded(name: &str, value: Value) -> Result<decode::DecodeResult, crate::status::Status> {
    let kind = name.rsplit('.').next().unwrap_or(name);
    decode(Types::builtin(), &type_of(name), kind, "apps/v1", value)
}

#[test]
fn unknown_fields_are_dropped_and_reported() {
    let pod = json!({"spec": {"containers": [{"name": "a", "imag": "x"}], "Volumes": []}, "extra": {"a": 1}});
    let read = decoded("io.k8s.api.core.v1.Pod", pod).expect("a pod");
    assert_eq!(
        read.unknown,
        [
            "unknown field \"spec.containers[0].imag\"",
            "unknown field \"spec.Volumes\"",
            "unknown field \"extra\"",
        ]
    );
    assert_eq!(
        read.object["spec"]["containers"],
        json!([{"name": "a", "resources": {}}])
    );
    let failure = strict_failure("Pod", "v1", &read.unknown[2..]);
    assert_eq!(
        failure.message,
        "Pod in version \"v1\" cannot be handled as a Pod: strict decoding error: unknown field \"extra\""
    );
}

#[test]
fn strict_problems_are_in_the_order_of_the_text() {
    let text = r#"{"kind":"Pod","zzz":1,"spec":{"containers":[{"name":"a","name":"b"}],"nodeName":"x","nodeName":"y"},"aaa":2,"aaa":3}"#;
    assert_eq!(
        strict_problems(Types::builtin(), &type_of("io.k8s.api.core.v1.Pod"), text),
        [
            "unknown field \"zzz\"",
            "duplicate field \"spec.containers[0].name\"",
            "duplicate field \"spec.nodeName\"",
            "unknown field \"aaa\"",
        ]
    );
    assert!(strict_problems(Types::builtin(), &type_of("io.k8s.api.core.v1.Pod"), "{\"kind\":").is_empty());
    assert_eq!(
        duplicate_fields(r#"{"a":{"b":1,"b":2},"c":[{"d":1,"d":1}],"a":{}}"#),
        [
            "duplicate field \"a.b\"",
            "duplicate field \"c[0].d\"",
            "duplicate field \"a\""
        ]
    );
}

#[test]
fn the_first_wrong_type_is_reported_with_its_go_path() {
    for (value, message) in [
        (
            json!([]),
            "json: cannot unmarshal array into Go value of type v1.Pod",
        ),
        (
            json!({"spec": {"containers": [{"ports": [{"containerPort": 1.5}]}]}}),
            "json: cannot unmarshal number 1.5 into Go struct field ContainerPort.spec.containers.ports.containerPort of type int32",
        ),
    ] {
        let status = decoded("io.k8s.api.core.v1.Pod", value).expect_err(message);
        assert_eq!(status.code, 400);
        assert!(status.message.ends_with(message), "{}", status.message);
    }
}
