use serde_json::{Value, json};

use super::*;

fn paths() -> ScalePaths {
    ScalePaths::of_custom(&json!({
        "specReplicasPath": ".spec.replicas",
        "statusReplicasPath": ".status.replicas",
        "labelSelectorPath": ".status.selector",
    }))
    .expect("three paths")
}

#[test]
fn the_scale_of_a_deployment_contains_its_selector_as_text() {
    let deployment = json!({
        "metadata": { "name": "d", "namespace": "default", "uid": "u", "resourceVersion": "5", "labels": { "l": "1" } },
        "spec": {
            "replicas": 0,
            "selector": {
                "matchLabels": { "z": "1", "a": "2" },
                "matchExpressions": [
                    { "key": "m", "operator": "In", "values": ["y", "x"] },
                    { "key": "b", "operator": "Exists" },
                    { "key": "c", "operator": "DoesNotExist" },
                    { "key": "a", "operator": "NotIn", "values": ["q", "p"] },
                    { "key": "n", "operator": "In", "values": ["one"] },
                    { "key": "b2", "operator": "NotIn", "values": ["one"] },
                ],
            },
        },
    });
    let expected = json!({
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": { "name": "d", "namespace": "default", "uid": "u", "resourceVersion": "5" },
        "spec": {},
        "status": {
            "replicas": 0,
            "selector": "a=2,a notin (p,q),b,b2 notin (one),!c,m in (x,y),n in (one),z=1",
        },
    });
    assert_eq!(of_builtin(&deployment), expected);
}

#[test]
fn the_selector_of_a_replication_controller_is_a_map() {
    let controller = json!({ "spec": { "replicas": 2, "selector": { "z": "1", "a": "2" } } });
    assert_eq!(of_builtin(&controller)["status"]["selector"], "a=2,z=1");
    assert_eq!(selector_text(&Value::Null), "");
}

#[test]
fn a_scale_sets_replicas_and_the_expected_version() {
    let mut object = json!({ "metadata": { "resourceVersion": "5" }, "spec": { "replicas": 1 } });
    apply_builtin(
        &mut object,
        &json!({ "metadata": { "resourceVersion": "4" }, "spec": { "replicas": 3 } }),
    );
    assert_eq!(
        object,
        json!({ "metadata": { "resourceVersion": "4" }, "spec": { "replicas": 3 } })
    );
    assert_eq!(
        check(&json!({ "spec": { "replicas": -2 } }))[0].to_string(),
        "spec.replicas: Invalid value: -2: must be greater than or equal to 0"
    );
}

#[test]
fn a_custom_resource_without_replicas_has_no_scale() {
    let mut object = json!({ "metadata": { "name": "x" }, "spec": {} });
    assert_eq!(
        of_custom(&paths(), &object).expect_err("no replicas").message,
        r#"Internal error occurred: the spec replicas field ".spec.replicas" does not exist"#
    );
    let untouched = of_custom_for_update(&paths(), &object).expect("a scale to patch");
    assert_eq!(
        apply_custom(&paths(), &mut object, &untouched)
            .expect_err("no replicas")
            .message,
        r#"the spec replicas field ".spec.replicas" cannot be empty"#
    );
    let mut scale = untouched;
    scale["spec"]["replicas"] = 5.into();
    apply_custom(&paths(), &mut object, &scale).expect("replicas are set");
    assert_eq!(object["spec"]["replicas"], 5);
    object["status"] = json!({ "replicas": 2, "selector": "app=x" });
    let scale = of_custom(&paths(), &object).expect("a scale");
    assert_eq!(scale["spec"], json!({ "replicas": 5 }));
    assert_eq!(scale["status"], json!({ "replicas": 2, "selector": "app=x" }));
}
