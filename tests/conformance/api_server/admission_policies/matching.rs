//! Which requests a policy is about.

use serde_json::{Value, json};

use super::{BINDINGS, Fixture, MAPS, POLICIES, SCALERS, maps, rule};

#[tokio::test]
async fn match_conditions_limit_a_policy() {
    let test = Fixture::new().await;
    let spec = json!({
        "matchConditions": [
            { "name": "labelled", "expression": "has(object.metadata.labels) || request.name == 'marker'" },
            { "name": "strict", "expression": "request.name == 'marker' || object.metadata.labels.mode == 'strict'" },
        ],
        "validations": [{ "expression": "false", "message": "no" }],
    });
    test.apply(&spec, &json!({})).await;
    // The first condition is false, so the error of the second one does not count.
    assert_eq!(test.create("plain", &json!({}), "").await.code, 201);
    assert_eq!(
        test.create("lax", &json!({ "labels": { "mode": "lax" } }), "")
            .await
            .code,
        201
    );
    let refused = test
        .create("strict", &json!({ "labels": { "mode": "strict" } }), "")
        .await;
    test.assert_denied(&refused, "configmaps \"strict\"", "no");
    let refused = test
        .create("broken", &json!({ "labels": { "a": "b" } }), "")
        .await;
    test.assert_denied(
        &refused,
        "configmaps \"broken\"",
        "expression 'request.name == 'marker' || object.metadata.labels.mode == 'strict'' resulted in error: no such \
         key: mode",
    );
}

#[tokio::test]
async fn rules_and_selectors_limit_a_policy() {
    let test = Fixture::new().await;
    let raw = &test.raw;
    let mut constraints = test.constraints(&json!([maps("CREATE"), maps("DELETE")]));
    let mut excluded = maps("*");
    excluded["resourceNames"] = json!(["exempt"]);
    constraints["excludeResourceRules"] = json!([excluded]);
    constraints["objectSelector"] =
        json!({ "matchExpressions": [{ "key": "free", "operator": "DoesNotExist" }] });
    let spec = json!({ "matchConstraints": constraints, "validations": [{ "expression": "false", "message": "no" }] });
    let mut narrow = maps("*");
    narrow["resourceNames"] = json!(["marker", "exempt", "free", "caught"]);
    let binding = json!({ "matchResources": { "resourceRules": [narrow] } });
    test.apply(&spec, &binding).await;
    assert_eq!(test.create("exempt", &json!({}), "").await.code, 201);
    let labels = json!({ "labels": { "free": "yes" } });
    assert_eq!(test.create("free", &labels, "").await.code, 201);
    // The binding is not about this one.
    assert_eq!(test.create("unbound", &json!({}), "").await.code, 201);
    let refused = test.create("caught", &json!({}), "").await;
    test.assert_denied(&refused, "configmaps \"caught\"", "no");
    // The old or the new object must match the selector.
    let path = format!("{MAPS}/free");
    let bare = json!({ "metadata": { "labels": null } });
    assert_eq!(raw.patch(&path, "merge", &bare).await.code, 200);
    let refused = raw.delete(&path, &Value::Null).await;
    test.assert_denied(&refused, "configmaps \"free\"", "no");
}

#[tokio::test]
async fn other_versions_of_a_resource_match_unless_the_match_is_exact() {
    for (policy, is_denied) in [("Equivalent", true), ("Exact", false)] {
        let test = Fixture::new().await;
        let rules = json!([
            maps("*"),
            rule("autoscaling", "v2", "horizontalpodautoscalers", "*")
        ]);
        let mut constraints = test.constraints(&rules);
        constraints["matchPolicy"] = policy.into();
        let spec = json!({
            "matchConstraints": constraints,
            "validations": [{
                "expression": "request.kind.kind == 'ConfigMap'",
                "messageExpression": "object.apiVersion + ' ' + request.kind.version + ' ' + request.requestKind.version + ' ' +
                    string(object.spec.metrics[0].resource.target.averageUtilization)",
            }],
        });
        test.apply(&spec, &json!({})).await;
        let scaler = json!({
            "metadata": { "name": "s" },
            "spec": {
                "scaleTargetRef": { "apiVersion": "apps/v1", "kind": "Deployment", "name": "d" }, "maxReplicas": 3,
                "targetCPUUtilizationPercentage": 70,
            },
        });
        let answer = test.raw.post(&SCALERS.replace("{version}", "v1"), &scaler).await;
        if is_denied {
            test.assert_denied(
                &answer,
                "horizontalpodautoscalers.autoscaling \"s\"",
                "autoscaling/v2 v2 v1 70",
            );
        } else {
            assert_eq!(answer.code, 201, "{}", answer.body);
        }
    }
}

#[tokio::test]
async fn policy_applies_only_while_it_is_bound() {
    let test = Fixture::new().await;
    let spec = json!({ "validations": [{ "expression": "request.name != 'x'" }] });
    test.apply(&spec, &json!({})).await;
    assert_eq!(test.create("x", &json!({}), "").await.code, 422);
    // Policies do not apply to policies and bindings.
    let bindings = format!("{BINDINGS}/{}", test.namespace);
    assert_eq!(test.raw.delete(&bindings, &Value::Null).await.code, 200);
    test.wait_for("the end of the binding", || async {
        test.create("x", &json!({}), "?dryRun=All").await.code == 201
    })
    .await;
}

#[tokio::test]
async fn changed_policy_applies() {
    let test = Fixture::new().await;
    let spec = json!({ "validations": [{ "expression": "request.name != 'x'", "message": "first" }] });
    test.apply(&spec, &json!({})).await;
    let path = format!("{POLICIES}/{}", test.namespace);
    let change = json!([{ "op": "replace", "path": "/spec/validations/1/message", "value": "second" }]);
    assert_eq!(test.raw.patch(&path, "json", &change).await.code, 200);
    test.wait_for("the change", || async {
        test.create("x", &json!({}), "")
            .await
            .message()
            .ends_with("denied request: second")
    })
    .await;
}
