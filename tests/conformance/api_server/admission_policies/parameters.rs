//! Parameters of policies: leases, config maps, custom resources.

use serde_json::{Value, json};

use super::{Fixture, LEASES, MAPS, maps};

/// With a lease as the parameter of a policy, only its holder can write.
#[tokio::test]
async fn lease_as_a_parameter_fences_writes() {
    let test = Fixture::new().await;
    let raw = &test.raw;
    let lease = json!({ "metadata": { "name": "leader" }, "spec": { "holderIdentity": "a" } });
    assert_eq!(raw.post(LEASES, &lease).await.code, 201);
    let token = "object.metadata.?annotations['example.com/holder'].orValue('')";
    let spec = json!({
        "paramKind": { "apiVersion": "coordination.k8s.io/v1", "kind": "Lease" },
        "matchConstraints": test.constraints(&json!([maps("CREATE"), maps("UPDATE")])),
        "validations": [{
            "expression": format!("{token} == params.spec.holderIdentity"),
            "messageExpression": format!("'the lease is held by ' + params.spec.holderIdentity + ', not by ' + {token}"),
            "reason": "Forbidden",
        }],
    });
    let params = json!({ "paramRef": { "name": "leader", "parameterNotFoundAction": "Deny" } });
    test.apply(&spec, &params).await;

    let by = |holder: &str| json!({ "annotations": { "example.com/holder": holder } });
    let refused = test.create("x", &by("b"), "").await;
    assert_eq!(
        (refused.code, &refused.body["reason"]),
        (403, &json!("Forbidden"))
    );
    test.assert_denied(&refused, "configmaps \"x\"", "the lease is held by a, not by b");
    assert_eq!(test.create("x", &json!({}), "").await.code, 403);
    assert_eq!(test.create("x", &by("a"), "").await.code, 201);
    let path = format!("{MAPS}/x");
    let change = |value: &str| json!({ "data": { "k": value } });
    assert_eq!(raw.patch(&path, "merge", &change("1")).await.code, 200);

    // The lease changes hands: the former holder can no longer write.
    let handover = json!({ "spec": { "holderIdentity": "b" } });
    let lease = format!("{LEASES}/leader");
    assert_eq!(raw.patch(&lease, "merge", &handover).await.code, 200);
    test.wait_for("the handover", || async {
        raw.patch(&format!("{path}?dryRun=All"), "merge", &change("2"))
            .await
            .code
            == 403
    })
    .await;
    let refused = raw.patch(&path, "merge", &change("2")).await;
    test.assert_denied(&refused, "configmaps \"x\"", "the lease is held by b, not by a");
    let stored = raw.get(&path).await.body;
    assert_eq!(stored["data"], json!({ "k": "1" }));
    let taken = json!({ "metadata": by("b"), "data": { "k": "3" } });
    assert_eq!(raw.patch(&path, "merge", &taken).await.code, 200);

    // Without the lease, all writes are denied. Deletions are not fenced.
    assert_eq!(raw.delete(&lease, &Value::Null).await.code, 200);
    test.wait_for("the deletion of the lease", || async {
        raw.patch(&format!("{path}?dryRun=All"), "merge", &change("4"))
            .await
            .code
            == 422
    })
    .await;
    let refused = raw.patch(&path, "merge", &change("4")).await;
    test.assert_denied(
        &refused,
        "configmaps \"x\"",
        "failed to configure binding: no params found for policy binding with `Deny` parameterNotFoundAction",
    );
    assert_eq!(raw.delete(&path, &Value::Null).await.code, 200);
}

#[tokio::test]
async fn policy_with_several_parameters_must_allow_with_each() {
    let test = Fixture::new().await;
    let raw = &test.raw;
    for (name, letter) in [("one", "a"), ("two", "b")] {
        let params = json!({ "metadata": { "name": name, "labels": { "params": "yes" } }, "data": { "letter": letter } });
        assert_eq!(raw.post(MAPS, &params).await.code, 201);
    }
    let spec = json!({
        "matchConstraints": test.constraints(&json!([maps("CREATE")])),
        "paramKind": { "apiVersion": "v1", "kind": "ConfigMap" },
        "validations": [{
            "expression": "object.metadata.name.startsWith('exempt') || object.metadata.name.contains(params.data.letter)",
            "messageExpression": "params.kind + ' ' + params.metadata.name",
        }],
    });
    let selector = json!({ "matchLabels": { "params": "yes" } });
    let binding = json!({ "paramRef": { "selector": selector, "parameterNotFoundAction": "Allow" } });
    test.apply(&spec, &binding).await;
    assert_eq!(test.create("ab", &json!({}), "").await.code, 201);
    let refused = test.create("a", &json!({}), "").await;
    test.assert_denied(&refused, "configmaps \"a\"", "ConfigMap two");
    // Without parameters, the binding says that requests are allowed.
    let labelled = format!("{MAPS}?labelSelector=params%3Dyes");
    assert_eq!(raw.delete(&labelled, &Value::Null).await.code, 200);
    test.wait_for("the deletion of the parameters", || async {
        test.create("a", &json!({}), "?dryRun=All").await.code == 201
    })
    .await;
}

#[tokio::test]
async fn custom_resource_is_a_parameter() {
    let test = Fixture::new().await;
    let raw = &test.raw;
    let group = format!("{}.example.com", test.namespace);
    let schema = json!({
        "type": "object",
        "properties": { "limit": { "type": "integer", "default": 2 } },
    });
    let definition = json!({
        "metadata": { "name": format!("limits.{group}") },
        "spec": {
            "group": group, "scope": "Cluster", "names": { "plural": "limits", "kind": "Limit" },
            "versions": [{ "name": "v1", "served": true, "storage": true, "schema": { "openAPIV3Schema": schema } }],
        },
    });
    let definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    assert_eq!(raw.post(definitions, &definition).await.code, 201);
    let limits = format!("/apis/{group}/v1/limits");
    let limit = json!({ "apiVersion": format!("{group}/v1"), "kind": "Limit", "metadata": { "name": "l" } });
    test.wait_for("the kind", || async {
        matches!(raw.post(&limits, &limit).await.code, 201 | 409)
    })
    .await;
    let spec = json!({
        "paramKind": { "apiVersion": format!("{group}/v1"), "kind": "Limit" },
        "validations": [{
            "expression": "!has(object.data) || object.data.size() <= params.limit",
            "messageExpression": "'more than ' + string(params.limit) + ' keys'",
        }],
    });
    let binding = json!({ "paramRef": { "name": "l", "parameterNotFoundAction": "Deny" } });
    test.apply(&spec, &binding).await;
    let map = |keys: &[&str]| {
        let data: Value = keys.iter().map(|key| ((*key).to_owned(), json!("v"))).collect();
        json!({ "metadata": { "name": "m" }, "data": data })
    };
    let refused = raw.post(MAPS, &map(&["a", "b", "c"])).await;
    test.assert_denied(&refused, "configmaps \"m\"", "more than 2 keys");
    assert_eq!(raw.post(MAPS, &map(&["a", "b"])).await.code, 201);
}

#[tokio::test]
async fn parameters_of_an_unknown_kind_are_a_misconfiguration() {
    let test = Fixture::new().await;
    let spec = json!({
        "paramKind": { "apiVersion": "nowhere.example.com/v1", "kind": "Limit" },
        "validations": [{ "expression": "true" }],
    });
    let binding = json!({ "paramRef": { "name": "l", "parameterNotFoundAction": "Allow" } });
    test.bind(&spec, &binding).await;
    test.wait_for("the policy", || async {
        test.create("x", &json!({}), "?dryRun=All").await.code != 201
    })
    .await;
    let refused = test.create("x", &json!({}), "").await;
    let policy = &test.namespace;
    let why = format!(
        "configmaps \"x\" is forbidden: ValidatingAdmissionPolicy '{policy}' denied request: failed to configure policy: \
         failed to find resource referenced by paramKind: 'nowhere.example.com/v1, Kind=Limit'"
    );
    assert_eq!((refused.code, refused.message()), (422, why.as_str()));
}
