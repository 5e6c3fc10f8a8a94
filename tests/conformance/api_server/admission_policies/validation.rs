//! Policies and bindings that are refused, and the status of those that are not.

use serde_json::json;

use super::{BINDINGS, Fixture, POLICIES};

#[tokio::test]
async fn expression_that_does_not_compile_is_refused() {
    let test = Fixture::new().await;
    let name = &test.namespace;
    let validation = |expression: &str| json!({ "validations": [{ "expression": expression }] });
    for (spec, why) in [
        (
            validation("object.x &&"),
            "spec.validations[0].expression: Invalid value: \"object.x &&\": compilation failed: ERROR: <input>:1:12: Syntax \
             error: mismatched input '<EOF>' expecting",
        ),
        (
            validation("objekt.x == 1"),
            "spec.validations[0].expression: Invalid value: \"objekt.x == 1\": compilation failed: ERROR: <input>:1:1: \
             undeclared reference to 'objekt' (in container '')\n | objekt.x == 1\n | ^",
        ),
        (
            validation("object.metadata.name"),
            "spec.validations[0].expression: Invalid value: \"object.metadata.name\": must evaluate to bool but got dyn",
        ),
        (
            validation("'yes'"),
            "spec.validations[0].expression: Invalid value: \"'yes'\": must evaluate to bool but got string",
        ),
        (
            validation("params.x == 1"),
            "spec.validations[0].expression: Invalid value: \"params.x == 1\": compilation failed: ERROR: <input>:1:1: \
             undeclared reference to 'params' (in container '')\n | params.x == 1\n | ^",
        ),
        (
            validation("request.color == ''"),
            "spec.validations[0].expression: Invalid value: \"request.color == ''\": compilation failed: ERROR: \
             <input>:1:8: undefined field 'color'\n | request.color == ''\n | .......^",
        ),
        (
            validation("variables.x == 1"),
            "spec.validations[0].expression: Invalid value: \"variables.x == 1\": compilation failed: ERROR: <input>:1:1: \
             undeclared reference to 'variables' (in container '')\n | variables.x == 1\n | ^",
        ),
        (
            json!({ "validations": [{ "expression": "true", "messageExpression": "1" }] }),
            "spec.validations[0].messageExpression: Invalid value: \"1\": must evaluate to string but got int",
        ),
        (
            json!({ "validations": [{ "expression": "true" }], "matchConditions": [{ "name": "c", "expression": "1" }] }),
            "spec.matchConditions[0].expression: Invalid value: \"1\": must evaluate to bool but got int",
        ),
        (
            json!({
                "validations": [{ "expression": "variables.b" }],
                "variables": [{ "name": "a", "expression": "variables.b" }, { "name": "b", "expression": "true" }],
            }),
            "spec.variables[0].expression: Invalid value: \"variables.b\": compilation failed: ERROR: <input>:1:10: \
             undefined field 'b'\n | variables.b\n | .........^",
        ),
        (
            json!({ "validations": [{ "expression": "true" }], "variables": [{ "name": "for", "expression": "1" }] }),
            "spec.variables[0].name: Invalid value: \"for\": must be a valid CEL identifier",
        ),
        (
            json!({ "auditAnnotations": [{ "key": "k", "valueExpression": "1" }] }),
            "spec.auditAnnotations[0].valueExpression: Invalid value: \"1\": must evaluate to one of [string null_type] but \
             got int",
        ),
        (
            json!({ "validations": [{ "expression": "true", "reason": "Odd" }] }),
            "spec.validations[0].reason: Unsupported value: \"Odd\": supported values: \"Forbidden\", \"Invalid\", \
             \"RequestEntityTooLarge\"",
        ),
        (
            json!({ "validations": [{ "expression": "true" }], "paramKind": { "apiVersion": "v1", "kind": "" } }),
            "spec.paramKind.kind: Required value",
        ),
    ] {
        let refused = test.policy(&spec).await;
        let expected =
            format!("ValidatingAdmissionPolicy.admissionregistration.k8s.io {name:?} is invalid: {why}");
        assert_eq!(refused.code, 422, "{}", refused.body);
        assert!(
            refused.message().starts_with(&expected),
            "{}\nexpected {expected}",
            refused.message()
        );
    }
    // An update is checked, too.
    assert_eq!(test.policy(&validation("true")).await.code, 201);
    let path = format!("{POLICIES}/{name}");
    let change = json!({ "spec": validation("nothing") });
    assert_eq!(test.raw.patch(&path, "merge", &change).await.code, 422);
}

#[tokio::test]
async fn invalid_binding_is_refused() {
    let test = Fixture::new().await;
    let name = &test.namespace;
    for (fields, why) in [
        (
            json!({ "validationActions": ["Deny", "Warn"] }),
            "spec.validationActions: Invalid value: [\"Deny\",\"Warn\"]: must not contain both Deny and Warn (repeating the \
             same validation failure information in the API response and headers serves no purpose)",
        ),
        (
            json!({ "validationActions": ["Log"] }),
            "spec.validationActions[0]: Unsupported value: \"Log\": supported values: \"Audit\", \"Deny\", \"Warn\"",
        ),
        (
            json!({ "validationActions": ["Deny"], "paramRef": { "parameterNotFoundAction": "Deny" } }),
            "spec.paramRef: Required value: one of name or selector must be specified",
        ),
        (
            json!({ "validationActions": ["Deny"], "paramRef": { "name": "x" } }),
            "spec.paramRef.parameterNotFoundAction: Required value",
        ),
        (
            json!({ "validationActions": ["Deny"], "matchResources": { "matchPolicy": "Odd" } }),
            "spec.matchResources.matchPolicy: Unsupported value: \"Odd\": supported values: \"Equivalent\", \"Exact\"",
        ),
    ] {
        let mut spec = fields.clone();
        spec["policyName"] = name.as_str().into();
        let binding = json!({ "metadata": { "name": name }, "spec": spec });
        let refused = test.raw.post(BINDINGS, &binding).await;
        let expected = format!(
            "ValidatingAdmissionPolicyBinding.admissionregistration.k8s.io {name:?} is invalid: {why}"
        );
        assert_eq!((refused.code, refused.message()), (422, expected.as_str()));
    }
}

#[tokio::test]
async fn status_tells_that_a_policy_was_processed() {
    let test = Fixture::new().await;
    let made = test
        .policy(&json!({ "validations": [{ "expression": "true" }] }))
        .await;
    assert_eq!(
        (made.code, &made.body["metadata"]["generation"]),
        (201, &json!(1))
    );
    let path = format!("{POLICIES}/{}", test.namespace);
    test.wait_for("the status", || async {
        let status = test.raw.get(&path).await.body["status"].clone();
        status["observedGeneration"] == 1 && status["typeChecking"].is_object()
    })
    .await;
}
