//! Validating admission policies: which requests they deny, with which messages, and with which parameters.

use std::time::Duration;

use conformance::{Raw, Response, TestServer};
use serde_json::{Value, json};

const POLICIES: &str = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies";
const BINDINGS: &str = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings";
const MAPS: &str = "/api/v1/namespaces/{ns}/configmaps";
const LEASES: &str = "/apis/coordination.k8s.io/v1/namespaces/{ns}/leases";
const DEPLOYMENTS: &str = "/apis/apps/v1/namespaces/{ns}/deployments";
const SCALERS: &str = "/apis/autoscaling/{version}/namespaces/{ns}/horizontalpodautoscalers";

/// A server, and a policy for the namespace of the test.
struct Fixture {
    raw: Raw,
    /// Also the name of the policy and of its binding.
    namespace: String,
    _server: TestServer,
}

impl Fixture {
    async fn new() -> Fixture {
        Fixture::on(TestServer::start().await)
    }

    fn on(server: TestServer) -> Fixture {
        Fixture {
            raw: server.raw(),
            namespace: server.namespace.clone(),
            _server: server,
        }
    }

    /// Returns the rules and selectors for some resources in the namespace of the test.
    fn constraints(&self, rules: &Value) -> Value {
        let own = json!({ "kubernetes.io/metadata.name": self.namespace });
        json!({ "namespaceSelector": { "matchLabels": own }, "resourceRules": rules })
    }

    /// Creates a policy for the config maps of the test, with the other fields of its spec.
    async fn policy(&self, spec: &Value) -> Response {
        let mut policy = json!({
            "metadata": { "name": self.namespace },
            "spec": { "matchConstraints": self.constraints(&json!([maps("*")])) },
        });
        for (field, value) in spec.as_object().expect("a spec") {
            policy["spec"][field] = value.clone();
        }
        self.raw.post(POLICIES, &policy).await
    }

    /// Creates the policy and a binding.
    async fn bind(&self, spec: &Value, binding: &Value) {
        let made = self.policy(spec).await;
        assert_eq!(made.code, 201, "{}", made.body);
        let mut bound = json!({
            "metadata": { "name": self.namespace },
            "spec": { "policyName": self.namespace, "validationActions": ["Deny"] },
        });
        for (field, value) in binding.as_object().expect("a spec") {
            bound["spec"][field] = value.clone();
        }
        let made = self.raw.post(BINDINGS, &bound).await;
        assert_eq!(made.code, 201, "{}", made.body);
    }

    /// As [`Fixture::bind`], with a validation that tells when the policy is effective.
    async fn apply(&self, spec: &Value, binding: &Value) {
        let mut spec = spec.clone();
        let marker = json!({
            "expression": "!has(request.name) || request.name != 'marker'", "message": "the policy is effective",
        });
        spec["validations"]
            .as_array_mut()
            .expect("validations")
            .insert(0, marker);
        self.bind(&spec, binding).await;
        let marked = "denied request: the policy is effective";
        self.wait_for("the policy", || async {
            let answer = self.create("marker", &json!({}), "?dryRun=All").await;
            answer.message().contains(marked) || warnings(&answer).contains("the policy is effective")
        })
        .await;
    }

    /// Waits until something is so. The real server applies policies and parameters with a delay.
    async fn wait_for<F: Future<Output = bool>>(&self, what: &str, is_so: impl Fn() -> F) {
        for _ in 0..500 {
            if is_so().await {
                return;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        panic!("waited in vain for {what}");
    }

    /// Creates a config map.
    async fn create(&self, name: &str, metadata: &Value, query: &str) -> Response {
        let mut object = json!({ "metadata": { "name": name } });
        for (field, value) in metadata.as_object().expect("metadata") {
            object["metadata"][field] = value.clone();
        }
        self.raw.post(&format!("{MAPS}{query}"), &object).await
    }

    /// Asserts that the policy denied a request, and why.
    fn assert_denied(&self, answer: &Response, subject: &str, why: &str) {
        let name = &self.namespace;
        let denial =
            format!("ValidatingAdmissionPolicy '{name}' with binding '{name}' denied request: {why}");
        assert_eq!(answer.message(), format!("{subject} is forbidden: {denial}"));
        let causes = &answer.body["details"]["causes"];
        assert_eq!(causes, &json!([{ "message": denial }]));
    }
}

/// A rule for config maps.
fn maps(operation: &str) -> Value {
    rule("", "*", "configmaps", operation)
}

fn rule(group: &str, version: &str, resource: &str, operation: &str) -> Value {
    json!({
        "apiGroups": [group], "apiVersions": [version], "resources": [resource], "operations": [operation],
    })
}

fn warnings(answer: &Response) -> String {
    let warnings = answer.headers.get_all("warning").iter();
    let warnings: Vec<&str> = warnings.filter_map(|w| w.to_str().ok()).collect();
    warnings.join("\n")
}

/// A lease as the parameter of a policy fences the writes of those who do not hold it.
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

    // Without the lease, nobody writes. Deletions are not fenced.
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

/// A policy that denies everything with a description of the request.
#[tokio::test]
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
