use serde_json::{Value, json};

use super::{
    SharedObject, builtin, config_map, config_map_type, deployment_type, managed_fields, minute, status_field,
};
use crate::patch::apply::{Apply, apply};
use crate::patch::field_set::FieldSet;
use crate::patch::update::{Update, keep_times, record_update};
use crate::patch::{reset, scale};
use crate::schema::Types;

fn deployment(replicas: i64, containers: &Value) -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"},
        "spec": {"replicas": replicas, "template": {"spec": {"containers": containers}}},
    })
}

#[test]
fn creators_own_only_the_fields_that_they_set() {
    let mut shared = SharedObject::new(deployment_type());
    let mut object = deployment(
        1,
        &json!([{"name": "c", "resources": {}, "ports": [{"containerPort": 80}]}]),
    );
    object["metadata"]["labels"] = json!({"a": "b"});
    object["metadata"]["generation"] = 1.into();
    object["spec"]["strategy"] = json!({"type": "Recreate"});
    object["status"] = json!({"replicas": 1});
    let stored = shared.update("creator", object);
    assert_eq!(
        managed_fields(&stored),
        json!([["creator/Update@1", {
            "f:metadata": {"f:labels": {".": {}, "f:a": {}}},
            "f:spec": {
                "f:replicas": {},
                "f:strategy": {"f:type": {}},
                "f:template": {"f:spec": {"f:containers": {"k:{\"name\":\"c\"}": {
                    ".": {}, "f:name": {}, "f:resources": {},
                    "f:ports": {".": {}, "k:{\"containerPort\":80,\"protocol\":\"TCP\"}": {".": {}, "f:containerPort": {}}},
                }}}},
            },
        }]])
    );
}

#[test]
fn appliers_of_the_same_value_share_it() {
    let mut shared = SharedObject::new(config_map_type());
    shared.apply("one", &config_map(json!({"a": "1"})));
    let object = shared.apply("two", &config_map(json!({"a": "1"})));
    // The second applier changed nothing, so its entry has no time and is first.
    let owned = json!({"f:data": {"f:a": {}}});
    assert_eq!(
        managed_fields(&object),
        json!([["two/Apply@never", owned], ["one/Apply@1", owned]])
    );
    // Neither can remove the value while the other owns it.
    let object = shared.apply("one", &config_map(json!(null)));
    assert_eq!(object["data"], json!({"a": "1"}));
    assert_eq!(managed_fields(&object), json!([["two/Apply@never", owned]]));
    let object = shared.apply("two", &config_map(json!(null)));
    assert_eq!(object.get("data"), None);
    assert_eq!(object["metadata"].get("managedFields"), None);
}

#[test]
fn a_repeated_apply_changes_nothing() {
    let mut shared = SharedObject::new(deployment_type());
    let config = deployment(
        3,
        &json!([{"name": "c", "image": "i", "env": [{"name": "A", "value": "1"}]}]),
    );
    let first = shared.apply("one", &config);
    let second = shared.apply("one", &config);
    assert_eq!(first.to_string(), second.to_string());
}

#[test]
fn a_conflict_contains_managers_and_fields() {
    let mut shared = SharedObject::new(deployment_type());
    shared.update(
        "kubectl-client-side-apply",
        deployment(1, &json!([{"name": "c", "image": "i"}])),
    );
    let status = shared
        .try_apply("me", false, &deployment(2, &json!([])))
        .expect_err("a conflict");
    assert_eq!(
        status.to_json(),
        json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "reason": "Conflict", "code": 409,
            "message": "Apply failed with 1 conflict: conflict with \"kubectl-client-side-apply\" using apps/v1: .spec.replicas",
            "details": {"causes": [{
                "reason": "FieldManagerConflict",
                "message": "conflict with \"kubectl-client-side-apply\" using apps/v1",
                "field": ".spec.replicas",
            }]},
        })
    );
    shared.apply("other", &deployment(1, &json!([])));
    let status = shared
        .try_apply("me", false, &deployment(2, &json!([{"name": "c", "image": "j"}])))
        .expect_err("conflicts");
    assert_eq!(
        status.message,
        "Apply failed with 3 conflicts: conflicts with \"kubectl-client-side-apply\" using apps/v1:\n\
         - .spec.replicas\n\
         - .spec.template.spec.containers[name=\"c\"].image\n\
         conflicts with \"other\":\n\
         - .spec.replicas"
    );
    let object = shared.force("me", &deployment(2, &json!([{"name": "c", "image": "j"}])));
    assert_eq!(object["spec"]["replicas"], 2);
    let left: Vec<String> = managed_fields(&object)
        .as_array()
        .into_iter()
        .flatten()
        .map(|b| b[0].to_string())
        .collect();
    assert_eq!(left, ["\"me/Apply@5\"", "\"kubectl-client-side-apply/Update@1\""]);
}

#[test]
fn fields_that_are_no_longer_applied_are_removed_unless_owned() {
    let mut shared = SharedObject::new(deployment_type());
    let c =
        json!({"name": "c", "image": "i", "env": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}]});
    shared.apply("one", &deployment(1, &json!([c, {"name": "side", "image": "s"}])));
    shared.edit("other", |o| {
        o["spec"]["template"]["spec"]["containers"][1]["tty"] = true.into();
    });
    shared.apply(
        "third",
        &deployment(1, &json!([{"name": "c", "image": "i", "stdin": true}])),
    );
    let object = shared.apply("one", &deployment(1, &json!([])));
    // Owning a field of an item, as `other` does, does not keep the item.
    assert_eq!(
        object["spec"]["template"]["spec"]["containers"],
        json!([{"name": "c", "image": "i", "stdin": true}]),
    );
    let owners: Vec<Value> = managed_fields(&object)
        .as_array()
        .into_iter()
        .flatten()
        .map(|b| b[0].clone())
        .collect();
    assert_eq!(owners, ["third/Apply@3", "one/Apply@4"]);
}

#[test]
fn an_empty_map_keeps_its_owner() {
    let mut shared = SharedObject::new(config_map_type());
    shared.update("creator", config_map(json!({"a": "1"})));
    shared.force("me", &config_map(json!({"a": "2"})));
    let object = shared.apply("me", &config_map(json!(null)));
    assert_eq!(object.get("data"), None);
    assert_eq!(
        managed_fields(&object),
        json!([["creator/Update@1", {"f:data": {}}]])
    );
}

#[test]
fn lists_merge_in_the_order_of_the_applier() {
    let finalizers = |list: &[&str]| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c", "finalizers": list}});
    let mut shared = SharedObject::new(config_map_type());
    shared.apply("one", &finalizers(&["a", "b", "c"]));
    let object = shared.apply("two", &finalizers(&["c", "x", "a"]));
    assert_eq!(object["metadata"]["finalizers"], json!(["b", "c", "x", "a"]));
    let object = shared.apply("one", &finalizers(&["b"]));
    assert_eq!(object["metadata"]["finalizers"], json!(["b", "c", "x", "a"]));
    let object = shared.apply("two", &finalizers(&[]));
    assert_eq!(object["metadata"]["finalizers"], json!(["b"]));
}

#[test]
fn an_update_owns_its_changes_and_removes_deleted_fields() {
    let mut shared = SharedObject::new(config_map_type());
    shared.update("one", config_map(json!({"a": "1", "b": "2"})));
    let object = shared.edit("two", |o| {
        o["data"] = json!({"a": "9", "c": "3"});
    });
    assert_eq!(
        managed_fields(&object),
        json!([
            ["one/Update@1", {"f:data": {}}],
            ["two/Update@2", {"f:data": {"f:a": {}, "f:c": {}}}],
        ])
    );
    let again = shared.edit("three", |_| {});
    assert_eq!(again, object);
    let object = shared.edit("two", |o| o["data"]["d"] = "4".into());
    assert_eq!(
        managed_fields(&object)[1],
        json!(["two/Update@4", {"f:data": {"f:a": {}, "f:c": {}, "f:d": {}}}])
    );
}

#[test]
fn a_client_can_omit_send_or_reset_managed_fields() {
    let mut shared = SharedObject::new(config_map_type());
    let before = shared.update("one", config_map(json!({"a": "1"})));
    let without = config_map(json!({"a": "1"}));
    let object = shared.update("two", without.clone());
    assert_eq!(managed_fields(&object), managed_fields(&before));

    let mut sent = without.clone();
    sent["metadata"]["managedFields"] = json!([{
        "manager": "imported", "operation": "Apply", "apiVersion": "v1", "fieldsType": "FieldsV1",
        "fieldsV1": {"f:data": {"f:a": {}}},
    }]);
    let object = shared.update("two", sent.clone());
    assert_eq!(
        managed_fields(&object),
        json!([["imported/Apply@never", {"f:data": {"f:a": {}}}]])
    );

    sent["metadata"]["managedFields"][0]["operation"] = "Odd".into();
    assert_eq!(
        managed_fields(&shared.update("two", sent.clone())),
        managed_fields(&object)
    );

    for reset in [json!([]), json!([{}])] {
        sent["metadata"]["managedFields"] = reset;
        assert_eq!(
            shared.update("two", sent.clone())["metadata"].get("managedFields"),
            None
        );
    }
    // No fields are managed until the next apply.
    let object = shared.edit("two", |o| o["data"]["b"] = "2".into());
    assert_eq!(object["metadata"].get("managedFields"), None);
    let object = shared.apply("three", &config_map(json!({"c": "3"})));
    assert_eq!(
        managed_fields(&object),
        json!([
            ["three/Apply@8", {"f:data": {"f:c": {}}}],
            ["before-first-apply/Update@8", {"f:data": {".": {}, "f:a": {}, "f:b": {}}}],
        ])
    );
}

#[test]
fn only_ten_update_managers_are_kept() {
    let mut shared = SharedObject::new(config_map_type());
    shared.update("m00", config_map(json!({"k00": "x"})));
    for n in 1..12 {
        shared.edit(&format!("m{n:02}"), |o| {
            o["data"][format!("k{n:02}")] = "x".into();
        });
    }
    let managed_fields = managed_fields(&shared.object.unwrap_or_default());
    let names: Vec<&str> = managed_fields
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|b| b[0].as_str())
        .collect();
    assert_eq!(names.len(), 10);
    assert_eq!(names[..2], ["ancient-changes/Update@3", "m03/Update@4"]);
    assert_eq!(
        managed_fields[0][1],
        json!({"f:data": {".": {}, "f:k00": {}, "f:k01": {}, "f:k02": {}}})
    );
}

#[test]
fn fields_that_an_endpoint_does_not_write_get_no_owner() {
    let mut shared = SharedObject::new(deployment_type());
    let mut config = deployment(1, &json!([]));
    config["status"] = json!({"replicas": 3});
    let object = shared.apply("one", &config);
    assert_eq!(
        managed_fields(&object),
        json!([["one/Apply@1", {"f:spec": {"f:replicas": {}}}]])
    );

    let ty = deployment_type();
    let mut new = object.clone();
    new["status"]["replicas"] = 4.into();
    new["metadata"]["managedFields"] = json!([]);
    let write = Update {
        types: Types::builtin(),
        ty: &ty,
        api_version: "apps/v1",
        old: Some(&object),
        manager: "controller",
        subresource: "status",
        reset: &FieldSet::of_names(&[&["spec"]]),
        now: minute(2),
    };
    record_update(write, &mut new);
    assert_eq!(
        new["metadata"]["managedFields"][1],
        json!({
            "manager": "controller", "operation": "Update", "apiVersion": "apps/v1", "time": "2026-01-01T00:02:00Z",
            "fieldsType": "FieldsV1", "fieldsV1": {"f:status": {"f:replicas": {}}}, "subresource": "status",
        })
    );
}

#[test]
fn a_configuration_of_the_wrong_type_is_rejected() {
    let ty = deployment_type();
    let check = |config: &Value| {
        apply(Apply {
            types: Types::builtin(),
            ty: &ty,
            api_version: "apps/v1",
            kind: "Deployment",
            live: None,
            config,
            manager: "m",
            force: false,
            subresource: "",
            reset: &status_field(),
            now: minute(0),
        })
    };
    let typed = "failed to create typed patch object (/; apps/v1, Kind=Deployment): ";
    let body = |mut extra: Value| {
        extra["apiVersion"] = "apps/v1".into();
        extra["kind"] = "Deployment".into();
        extra
    };
    let containers = |list: Value| body(json!({"spec": {"template": {"spec": {"containers": list}}}}));
    for (config, code, message) in [
        (json!({}), 400, "invalid object type: /, Kind=".to_owned()),
        (
            json!({"apiVersion": "v1", "kind": "Pod"}),
            400,
            "invalid object type: /v1, Kind=Pod".into(),
        ),
        (
            body(json!({"metadata": {"managedFields": []}})),
            400,
            "metadata.managedFields must be nil".into(),
        ),
        (
            body(json!({"spec": {"odd": 1}})),
            500,
            format!("{typed}.spec.odd: field not declared in schema"),
        ),
        (
            body(json!({"spec": {"replicas": "x"}})),
            500,
            format!("{typed}.spec.replicas: expected numeric (int or float), got string"),
        ),
        (
            body(json!({"spec": {"paused": "x"}})),
            500,
            format!("{typed}.spec.paused: expected boolean, got &{{x}}"),
        ),
        (
            body(json!({"spec": 5, "metadata": {"labels": ["a"]}})),
            500,
            format!(
                "{typed}errors:\n  .metadata.labels: expected map, got &{{[a]}}\n  .spec: expected map, got &{{5}}"
            ),
        ),
        (
            body(json!({"metadata": {"labels": {"a": {"b": "c"}}}})),
            500,
            format!(
                "{typed}.metadata.labels.a: expected string, got \
                 &value.valueUnstructured{{Value:map[string]interface {{}}{{\"b\":\"c\"}}}}"
            ),
        ),
        (
            containers(json!({"a": 1})),
            500,
            format!("{typed}.spec.template.spec.containers: expected list, got &{{map[a:1]}}"),
        ),
        (
            containers(json!([{"name": "x"}, {"name": "x"}])),
            500,
            format!("{typed}.spec.template.spec.containers: duplicate entries for key [name=\"x\"]"),
        ),
        (
            containers(json!([null])),
            500,
            format!(
                "{typed}.spec.template.spec.containers: element 0: associative list with keys may not have a null element"
            ),
        ),
    ] {
        let status = check(&config).expect_err(&config.to_string());
        assert_eq!(
            (status.code, status.message.as_str()),
            (code, message.as_str()),
            "{config}"
        );
    }
    // A missing name is an empty name, which other checks reject.
    assert!(check(&containers(json!([{"image": "i"}]))).is_ok());
}

#[test]
fn kubectl_migrates_from_client_side_apply() {
    let annotation = "kubectl.kubernetes.io/last-applied-configuration";
    let mut object = config_map(json!({"a": "1", "b": "2"}));
    object["metadata"]["annotations"] = json!({annotation: object.to_string()});
    let mut shared = SharedObject::new(config_map_type());
    shared.update("kubectl-client-side-apply", object);
    let config = config_map(json!({"a": "7", "b": "&"}));
    assert!(shared.try_apply("someone", false, &config).is_err());
    let stored = shared.apply("kubectl", &config);
    assert_eq!(
        stored["metadata"]["annotations"][annotation],
        "{\"apiVersion\":\"v1\",\"data\":{\"a\":\"7\",\"b\":\"\\u0026\"},\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"c\"}}\n"
    );
    shared.edit("intruder", |o| o["data"]["b"] = "3".into());
    let status = shared
        .try_apply("kubectl", false, &config_map(json!({"a": "8", "b": "4"})))
        .expect_err("b has another owner");
    assert_eq!(
        status.message,
        "Apply failed with 1 conflict: conflict with \"intruder\" using v1: .data.b"
    );
}

#[test]
fn a_write_without_changes_keeps_the_times() {
    let mut shared = SharedObject::new(config_map_type());
    let old = shared.apply("one", &config_map(json!({"a": "1"})));
    let mut new = old.clone();
    new["metadata"]["managedFields"][0]["time"] = "2030-01-01T00:00:00Z".into();
    let mut other = new.clone();
    other["data"]["a"] = "2".into();
    keep_times(&old, &mut new);
    assert_eq!(new, old);
    keep_times(&old, &mut other);
    assert_eq!(
        other["metadata"]["managedFields"][0]["time"],
        "2030-01-01T00:00:00Z"
    );
}

#[test]
fn writes_to_a_scale_are_recorded_in_its_parent() {
    let mut shared = SharedObject::new(deployment_type());
    let mut parent = shared.apply("owner", &deployment(1, &json!([{"name": "c", "image": "i"}])));
    let mut seen = json!({"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "d", "uid": "u"}, "spec": {"replicas": 1}});
    scale::show_entries(&parent, &["spec", "replicas"], &mut seen);
    assert_eq!(
        managed_fields(&seen),
        json!([["owner/Apply@1", {"f:spec": {"f:replicas": {}}}]])
    );

    let mut written = seen.clone();
    written["spec"]["replicas"] = 2.into();
    let write = Update {
        types: Types::builtin(),
        ty: &builtin("io.k8s.api.autoscaling.v1.Scale"),
        api_version: "autoscaling/v1",
        old: Some(&seen),
        manager: "scaler",
        subresource: "scale",
        reset: &FieldSet::default(),
        now: minute(2),
    };
    record_update(write, &mut written);
    scale::adopt_entries(&written, "apps/v1", &["spec", "replicas"], &mut parent);
    assert_eq!(
        parent["metadata"]["managedFields"][1],
        json!({
            "manager": "scaler", "operation": "Update", "apiVersion": "apps/v1", "fieldsType": "FieldsV1",
            "fieldsV1": {"f:spec": {"f:replicas": {}}}, "subresource": "scale",
        })
    );
    assert_eq!(managed_fields(&parent)[0][1]["f:spec"].get("f:replicas"), None);
}

#[test]
fn each_endpoint_has_fields_it_does_not_write() {
    let has = |set: &FieldSet, path: &[&str]| !FieldSet::of_names(&[path]).intersection(set).is_empty();
    assert!(has(&reset::builtin("deployments", ""), &["status"]));
    assert!(has(
        &reset::builtin("deployments", "status"),
        &["metadata", "labels"]
    ));
    assert!(!has(
        &reset::builtin("daemonsets", "status"),
        &["metadata", "labels"]
    ));
    let ephemeral = reset::builtin("pods", "ephemeralcontainers");
    assert!(has(&ephemeral, &["spec", "containers"]) && !has(&ephemeral, &["spec", "ephemeralContainers"]));
    assert!(reset::builtin("deployments", "scale").is_empty());
    assert!(reset::custom("", false).is_empty());
    assert!(has(&reset::custom("status", true), &["metadata"]));
}
