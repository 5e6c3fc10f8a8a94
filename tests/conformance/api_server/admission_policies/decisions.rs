//! Denials, errors and warnings.

use conformance::TestServer;
use serde_json::{Value, json};

use super::{Fixture, MAPS, warnings};

#[tokio::test]
async fn denial_has_the_message_and_the_code_of_the_validation() {
    let test = Fixture::new().await;
    let rows: [(&str, Value, u16, &str, &str); 8] = [
        (
            "plain",
            json!({}),
            422,
            "Invalid",
            "failed expression: request.name != 'plain'",
        ),
        (
            "text",
            json!({ "message": " no ", "reason": "Invalid" }),
            422,
            "Invalid",
            "no",
        ),
        (
            "forbidden",
            json!({ "message": "no", "reason": "Forbidden" }),
            403,
            "Forbidden",
            "no",
        ),
        (
            "large",
            json!({ "message": "no", "reason": "RequestEntityTooLarge" }),
            413,
            "RequestEntityTooLarge",
            "no",
        ),
        (
            "made",
            json!({ "message": "no", "messageExpression": "'not ' + object.metadata.name" }),
            422,
            "Invalid",
            "not made",
        ),
        (
            "broken",
            json!({ "message": "no", "messageExpression": "object.metadata.nothing + ''" }),
            422,
            "Invalid",
            "no",
        ),
        (
            "lines",
            json!({ "messageExpression": "'a\\nb'", "message": "no" }),
            422,
            "Invalid",
            "no",
        ),
        (
            "blank",
            json!({ "messageExpression": "'  '" }),
            422,
            "Invalid",
            "failed expression: request.name != 'blank'",
        ),
    ];
    let validations: Vec<Value> = rows
        .iter()
        .map(|(name, fields, ..)| {
            let mut validation = fields.clone();
            validation["expression"] = format!("request.name != '{name}'").into();
            validation
        })
        .collect();
    test.apply(&json!({ "validations": validations }), &json!({}))
        .await;
    for (name, _, code, reason, why) in rows {
        let refused = test.create(name, &json!({}), "").await;
        test.assert_denied(&refused, &format!("configmaps {name:?}"), why);
        assert_eq!(
            (refused.code, &refused.body["reason"]),
            (code, &json!(reason)),
            "{name}"
        );
        assert_eq!(refused.body["details"]["name"], name);
        assert_eq!(refused.body["details"]["kind"], "configmaps");
    }
    assert_eq!(test.create("other", &json!({}), "").await.code, 201);
}

#[tokio::test]
async fn variables_are_evaluated_when_they_are_used() {
    let test = Fixture::new().await;
    let spec = json!({
        "variables": [
            { "name": "labels", "expression": "object.metadata.labels" },
            { "name": "team", "expression": "variables.labels.team" },
            { "name": "teams", "expression": "['a', 'b']" },
        ],
        "validations": [
            { "expression": "!has(object.metadata.labels) || variables.team in variables.teams",
              "messageExpression": "'unknown team ' + variables.team" },
        ],
    });
    test.apply(&spec, &json!({})).await;
    // Nothing refers to the labels of an object that has none.
    assert_eq!(test.create("none", &json!({}), "").await.code, 201);
    assert_eq!(
        test.create("good", &json!({ "labels": { "team": "b" } }), "")
            .await
            .code,
        201
    );
    let refused = test
        .create("bad", &json!({ "labels": { "team": "c" } }), "")
        .await;
    test.assert_denied(&refused, "configmaps \"bad\"", "unknown team c");
    let refused = test.create("other", &json!({ "labels": { "x": "y" } }), "").await;
    test.assert_denied(
        &refused,
        "configmaps \"other\"",
        "expression '!has(object.metadata.labels) || variables.team in variables.teams' resulted in error: composited \
         variable \"team\" fails to evaluate: no such key: team",
    );
}

/// A policy that asks whether the user could do something else, too.
#[tokio::test]
async fn policy_checks_permissions_of_the_user() {
    let test = Fixture::on(TestServer::with_rbac().await);
    let raw = &test.raw;
    let user = format!("jane-{}", test.namespace);
    let roles = "/apis/rbac.authorization.k8s.io/v1/namespaces/{ns}/roles";
    let role = |verbs: &[&str]| {
        let rules = json!([
            { "apiGroups": [""], "resources": ["configmaps"], "verbs": ["create"] },
            { "apiGroups": [""], "resources": ["secrets"], "verbs": verbs },
        ]);
        json!({ "metadata": { "name": "writer" }, "rules": rules })
    };
    assert_eq!(raw.post(roles, &role(&["list"])).await.code, 201);
    let binding = json!({
        "metadata": { "name": "writer" },
        "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "writer" },
        "subjects": [{ "apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": user }],
    });
    let bindings = "/apis/rbac.authorization.k8s.io/v1/namespaces/{ns}/rolebindings";
    assert_eq!(raw.post(bindings, &binding).await.code, 201);
    let spec = json!({
        "variables": [{ "name": "secrets", "expression": "authorizer.group('').resource('secrets')" }],
        "validations": [{
            "expression": "variables.secrets.namespace(request.namespace).check('get').allowed() && \
                authorizer.requestResource.check('create').allowed()",
            "messageExpression": "request.userInfo.username + ' may not read secrets'",
        }],
    });
    test.apply(&spec, &json!({})).await;
    let create = |query: &'static str| {
        let headers = [
            ("impersonate-user", user.clone()),
            ("content-type", "application/json".into()),
        ];
        async move {
            let headers: Vec<(&str, &str)> = headers
                .iter()
                .map(|(name, value)| (*name, value.as_str()))
                .collect();
            let object = json!({ "metadata": { "name": "x" } }).to_string();
            let path = format!("{MAPS}{query}");
            raw.ask(http::Method::POST, &path, &headers, object).await
        }
    };
    test.wait_for("the role", || async { create("?dryRun=All").await.code != 403 })
        .await;
    let refused = create("").await;
    test.assert_denied(
        &refused,
        "configmaps \"x\"",
        &format!("{user} may not read secrets"),
    );
    assert_eq!(
        raw.put(&format!("{roles}/writer"), &role(&["get"])).await.code,
        200
    );
    test.wait_for("the permission", || async {
        create("?dryRun=All").await.code == 201
    })
    .await;
    assert_eq!(create("").await.code, 201);
}

#[tokio::test]
async fn errors_deny_or_are_ignored() {
    for (policy, code) in [("Fail", 422), ("Ignore", 201)] {
        let test = Fixture::new().await;
        let spec = json!({
            "failurePolicy": policy,
            "validations": [{ "expression": "object.data.missing == ''" }],
        });
        test.apply(&spec, &json!({})).await;
        let answer = test.create("x", &json!({}), "").await;
        assert_eq!(answer.code, code, "{}", answer.body);
        if code == 422 {
            let why = "expression 'object.data.missing == ''' resulted in error: no such key: data";
            test.assert_denied(&answer, "configmaps \"x\"", why);
        }
    }
}

#[tokio::test]
async fn warning_lets_a_request_pass() {
    let test = Fixture::new().await;
    let spec = json!({ "validations": [{ "expression": "request.name != 'odd'", "message": "odd" }] });
    test.apply(&spec, &json!({ "validationActions": ["Warn", "Audit"] }))
        .await;
    let made = test.create("odd", &json!({}), "").await;
    assert_eq!(made.code, 201);
    let name = &test.namespace;
    let text = format!("Validation failed for ValidatingAdmissionPolicy '{name}' with binding '{name}': odd");
    assert_eq!(warnings(&made), format!("299 - \"{text}\""));
    let silent = test.create("even", &json!({}), "").await;
    assert_eq!((silent.code, warnings(&silent).as_str()), (201, ""));
}
