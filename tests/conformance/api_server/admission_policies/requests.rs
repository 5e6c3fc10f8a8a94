//! What expressions see of a request.

use serde_json::{Value, json};

use super::{DEPLOYMENTS, Fixture, MAPS, maps, rule};

/// A policy that denies everything with a description of the request.
#[tokio::test]
#[expect(clippy::too_many_lines, reason = "one table of requests")]
async fn expressions_see_the_request() {
    let test = Fixture::new().await;
    let raw = &test.raw;
    for name in ["a", "b"] {
        assert_eq!(test.create(name, &json!({}), "").await.code, 201);
    }
    let pod = json!({ "spec": { "containers": [{ "name": "c", "image": "i" }], "terminationGracePeriodSeconds": 0 } });
    let labels = json!({ "matchLabels": { "a": "b" } });
    let template = json!({ "metadata": { "labels": { "a": "b" } }, "spec": pod["spec"] });
    let deployment = json!({
        "metadata": { "name": "a" }, "spec": { "replicas": 0, "selector": labels, "template": template },
    });
    assert_eq!(raw.post(DEPLOYMENTS, &deployment).await.code, 201);
    let shown = [
        "request.operation",
        "request.resource.resource + (has(request.subResource) ? '/' + request.subResource : '')",
        "request.kind.kind",
        "has(request.name) ? request.name : '-'",
        "request.namespace == namespaceObject.metadata.name ? 'here' : 'elsewhere'",
        "object == null ? '-' : object.kind",
        "oldObject == null ? '-' : oldObject.kind",
        "request.options.kind",
        "has(request.options.fieldManager) ? request.options.fieldManager : '-'",
        "request.dryRun ? 'dry' : 'wet'",
        "string('system:masters' in request.userInfo.groups)",
    ];
    let shown = shown.map(|text| format!("({text})")).join(" + ' ' + ");
    let mut parts = rule("apps", "v1", "deployments/scale", "*");
    parts["resources"] = json!(["deployments/scale", "*/status"]);
    let rules = json!([maps("*"), parts]);
    let spec = json!({
        "matchConstraints": test.constraints(&rules),
        "validations": [{ "expression": "false", "messageExpression": shown }],
    });
    test.apply(&spec, &json!({})).await;

    let (map, scale, status) = (
        format!("{MAPS}/a"),
        format!("{DEPLOYMENTS}/a/scale"),
        format!("{DEPLOYMENTS}/a/status"),
    );
    let new = json!({ "metadata": { "name": "new" } });
    let data = json!({ "data": { "k": "v" } });
    let applied = |name: &str| json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": name }, "data": { "k": "v" } });
    let replaced = json!({ "metadata": { "name": "a" }, "data": { "k": "v" } });
    let replicas = json!({ "spec": { "replicas": 1 } });
    let observed = json!({ "status": { "observedGeneration": 1 } });
    let own = format!("{MAPS}?fieldManager=me&dryRun=All");
    for (answer, subject, seen) in [
        (
            raw.post(&own, &new).await,
            "configmaps \"new\"",
            "CREATE configmaps ConfigMap new here ConfigMap - CreateOptions me dry true",
        ),
        (
            raw.post(MAPS, &json!({ "metadata": { "generateName": "g-" } }))
                .await,
            "configmaps \"g-",
            "ConfigMap - CreateOptions - wet true",
        ),
        (
            raw.put(&map, &replaced).await,
            "configmaps \"a\"",
            "UPDATE configmaps ConfigMap a here ConfigMap ConfigMap UpdateOptions - wet true",
        ),
        (
            raw.patch(&format!("{map}?fieldManager=me"), "merge", &data).await,
            "configmaps \"a\"",
            "UPDATE configmaps ConfigMap a here ConfigMap ConfigMap UpdateOptions me wet true",
        ),
        (
            raw.patch(&format!("{map}?fieldManager=owner"), "apply", &applied("a"))
                .await,
            "configmaps \"a\"",
            "UPDATE configmaps ConfigMap a here ConfigMap ConfigMap UpdateOptions owner wet true",
        ),
        (
            raw.patch(
                &format!("{MAPS}/new?fieldManager=owner"),
                "apply",
                &applied("new"),
            )
            .await,
            "configmaps \"new\"",
            "CREATE configmaps ConfigMap new here ConfigMap - CreateOptions owner wet true",
        ),
        (
            raw.patch(&scale, "merge", &replicas).await,
            "deployments.apps \"a\"",
            "UPDATE deployments/scale Scale a here Scale Scale UpdateOptions - wet true",
        ),
        (
            raw.patch(&status, "merge", &observed).await,
            "deployments.apps \"a\"",
            "UPDATE deployments/status Deployment a here Deployment Deployment UpdateOptions - wet true",
        ),
        (
            raw.delete(&map, &Value::Null).await,
            "configmaps \"a\"",
            "DELETE configmaps ConfigMap a here - ConfigMap DeleteOptions - wet true",
        ),
        (
            raw.delete(&format!("{map}?dryRun=All"), &Value::Null).await,
            "configmaps \"a\"",
            "DELETE configmaps ConfigMap a here - ConfigMap DeleteOptions - dry true",
        ),
        (
            raw.delete(MAPS, &Value::Null).await,
            "configmaps \"Unknown\"",
            "DELETE configmaps ConfigMap - here - ConfigMap DeleteOptions - wet true",
        ),
    ] {
        let message = answer.message();
        assert!(
            message.starts_with(subject) && message.ends_with(seen),
            "{message}\nexpected {subject} … {seen}"
        );
        assert_eq!(answer.code, 422);
    }
    // The rules for parts are not about the object itself.
    let path = format!("{DEPLOYMENTS}/a");
    assert_eq!(
        raw.patch(&path, "merge", &json!({ "metadata": { "labels": { "a": "b" } } }))
            .await
            .code,
        200
    );
    assert_eq!(raw.get(&path).await.body["spec"]["replicas"], 0);
}

/// Namespaces have themselves as their namespace, and parts of objects have kinds of their own.
#[tokio::test]
async fn expressions_see_namespaces_and_parts_of_objects() {
    let test = Fixture::new().await;
    let raw = &test.raw;
    let (accounts, pods) = (
        "/api/v1/namespaces/{ns}/serviceaccounts",
        "/api/v1/namespaces/{ns}/pods",
    );
    let own = "/api/v1/namespaces/{ns}";
    assert_eq!(
        raw.post(accounts, &json!({ "metadata": { "name": "s" } }))
            .await
            .code,
        201
    );
    let pod =
        json!({ "metadata": { "name": "p" }, "spec": { "containers": [{ "name": "c", "image": "i" }] } });
    assert_eq!(raw.post(pods, &pod).await.code, 201);
    let shown = [
        "request.operation",
        "request.resource.resource + (has(request.subResource) ? '/' + request.subResource : '')",
        "request.kind.group + '/' + request.kind.version + '/' + request.kind.kind",
        "request.name == request.namespace ? 'itself' : request.name",
        "namespaceObject == null ? 'none' : namespaceObject.metadata.labels['kubernetes.io/metadata.name']",
        "object == null ? '-' : object.kind",
        "oldObject == null ? '-' : oldObject.kind",
        "request.options.kind",
    ];
    let shown = shown.map(|text| format!("({text})")).join(" + ' ' + ");
    let mut rule = rule("", "v1", "", "*");
    rule["resources"] = json!([
        "namespaces",
        "namespaces/status",
        "namespaces/finalize",
        "serviceaccounts/token",
        "pods/binding",
    ]);
    let spec = json!({
        "matchConstraints": test.constraints(&json!([maps("CREATE"), rule])),
        "validations": [{ "expression": "false", "messageExpression": shown }],
    });
    test.apply(&spec, &json!({})).await;
    let namespace = raw.get(own).await.body;
    let labels = json!({ "metadata": { "labels": { "a": "b" } } });
    let phase = json!({ "status": { "phase": "Active" } });
    let token = json!({ "apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {} });
    let bound = json!({
        "apiVersion": "v1", "kind": "Binding", "metadata": { "name": "p" },
        "target": { "apiVersion": "v1", "kind": "Node", "name": "n" },
    });
    let home = &test.namespace;
    for (answer, subject, seen) in [
        (
            raw.patch(own, "merge", &labels).await,
            format!("namespaces {home:?}"),
            "UPDATE namespaces /v1/Namespace itself none Namespace Namespace UpdateOptions",
        ),
        (
            raw.patch(&format!("{own}/status"), "merge", &phase).await,
            format!("namespaces {home:?}"),
            "UPDATE namespaces/status /v1/Namespace itself none Namespace Namespace UpdateOptions",
        ),
        (
            raw.put(&format!("{own}/finalize"), &namespace).await,
            format!("namespaces {home:?}"),
            "UPDATE namespaces/finalize /v1/Namespace itself none Namespace Namespace UpdateOptions",
        ),
        (
            raw.delete(own, &Value::Null).await,
            format!("namespaces {home:?}"),
            "DELETE namespaces /v1/Namespace itself none - Namespace DeleteOptions",
        ),
        (
            raw.post(&format!("{accounts}/s/token"), &token).await,
            "serviceaccounts \"s\"".into(),
            "CREATE serviceaccounts/token authentication.k8s.io/v1/TokenRequest s HOME TokenRequest - CreateOptions",
        ),
        (
            raw.post(&format!("{pods}/p/binding"), &bound).await,
            "pods \"p\"".into(),
            "CREATE pods/binding /v1/Binding p HOME Binding - CreateOptions",
        ),
    ] {
        test.assert_denied(&answer, &subject, &seen.replace("HOME", home));
    }
}

#[tokio::test]
async fn connection_to_a_pod_is_denied() {
    let test = Fixture::new().await;
    let raw = &test.raw;
    let rules = json!([
        maps("*"),
        rule("", "v1", "pods/exec", "CONNECT"),
        rule("", "v1", "pods/eviction", "CREATE")
    ]);
    let spec = json!({
        "matchConstraints": test.constraints(&rules),
        "validations": [{
            "expression": "!has(request.subResource)",
            "messageExpression": "request.operation + ' ' + object.kind + ' ' + string(request.options == null) + ' ' +
                (has(object.command) ? object.command.join(' ') : '-')",
        }],
    });
    test.apply(&spec, &json!({})).await;
    let pods = "/api/v1/namespaces/{ns}/pods";
    let pod = json!({
        "metadata": { "name": "p" },
        "spec": { "containers": [{ "name": "c", "image": "i" }] },
    });
    let made = raw.post(pods, &pod).await;
    assert_eq!(made.code, 201, "{}", made.body);
    let shell = raw
        .post(
            &format!("{pods}/p/exec?command=sh&command=-c&container=c"),
            &Value::Null,
        )
        .await;
    test.assert_denied(&shell, "pods \"p\"", "CONNECT PodExecOptions true sh -c");
    let eviction = json!({ "apiVersion": "policy/v1", "kind": "Eviction", "metadata": { "name": "p" } });
    let evicted = raw.post(&format!("{pods}/p/eviction"), &eviction).await;
    test.assert_denied(&evicted, "pods \"p\"", "CREATE Eviction false -");
    assert_eq!(raw.get(&format!("{pods}/p")).await.code, 200);
}
