//! Tables of requests that match, and the limits of policies.

use std::sync::Arc;

use ring::hmac;
use serde_json::{Value as Json, json};

use super::matching::MatchResources;
use super::{Admission, BINDINGS, Operation, POLICIES, Request, State, check_policy};
use crate::api::Registry;
use crate::auth::{Access, Authorization, User};
use crate::status::Result;
use crate::store::{EventKind, Key, Store, Write};

struct Fixture {
    store: Store,
    admission: Admission,
    user: User,
    access: Access,
}

impl Fixture {
    fn new() -> Fixture {
        let fixture = Fixture {
            store: Store::new(10),
            admission: Admission::default(),
            user: User::named("jane"),
            access: Access::new(Authorization::Rbac, hmac::Key::new(hmac::HMAC_SHA256, b"test")),
        };
        let labels = json!({ "stage": "test" });
        fixture.put(
            "/namespaces",
            "shop",
            json!({ "metadata": { "name": "shop", "labels": labels } }),
        );
        fixture
    }

    fn put(&self, collection: &str, name: &str, object: Json) {
        let key = Key::new(None, name);
        let known = self.store.get(collection, &key);
        let write = Write {
            collection: &collection.into(),
            key,
            expected: known.as_ref().map(|known| known.revision),
            kind: EventKind::Modified,
            object,
            fields: Box::default(),
            schema: 0,
        };
        self.store.write(write).expect("written");
    }

    /// Stores a policy for config maps, and a binding.
    fn bind(&self, mut spec: Json, actions: &[&str]) {
        spec["matchConstraints"] = json!({ "resourceRules": [rule("configmaps")] });
        assert_eq!(check_policy(&json!({ "spec": spec })), []);
        self.put(
            POLICIES,
            "p",
            json!({ "metadata": { "name": "p" }, "spec": spec }),
        );
        let spec = json!({ "policyName": "p", "validationActions": actions });
        self.put(
            BINDINGS,
            "b",
            json!({ "metadata": { "name": "b" }, "spec": spec }),
        );
    }

    /// Creates an object of a resource, given as its plural with a subresource if it is about one.
    fn create(&self, resource: &str, object: &Json) -> (Vec<String>, Result<()>) {
        let (plural, subresource) = resource.split_once('/').unwrap_or((resource, ""));
        let registry = Registry::builtin();
        let mut resources = registry.all();
        let resource = resources.find(|r| r.plural == plural).expect("a resource");
        let request = Request {
            operation: Operation::Create,
            resource,
            subresource,
            namespace: "shop",
            name: "x",
            object: Some(object),
            old: None,
            options: &Json::Null,
            dry_run: false,
            user: &self.user,
        };
        let state = State {
            store: &self.store,
            registry,
            access: &self.access,
        };
        let policies = self.admission.policies(&self.store).expect("policies");
        policies.check(state, &request)
    }

    /// Returns why the creation of a config map is denied.
    fn denial(&self, object: &Json) -> String {
        let (_, result) = self.create("configmaps", object);
        let message = result.expect_err("a denial").message;
        let prefix =
            "configmaps \"x\" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: ";
        message.strip_prefix(prefix).unwrap_or(&message).to_owned()
    }
}

fn rule(resource: &str) -> Json {
    json!({ "apiGroups": ["*"], "apiVersions": ["*"], "operations": ["*"], "resources": [resource] })
}

/// Requests for the object `x`, the fields in which a rule differs from one for everything but parts, and whether the rule
/// matches.
fn match_rows() -> [(&'static str, Json, bool); 30] {
    [
        ("UPDATE v1 pods", json!({}), true),
        ("UPDATE v1 pods", json!({ "operations": ["CREATE"] }), false),
        (
            "UPDATE v1 pods",
            json!({ "operations": ["CREATE", "UPDATE"] }),
            true,
        ),
        ("DELETE v1 pods", json!({ "operations": ["DELETE"] }), true),
        (
            "CONNECT v1 pods/exec",
            json!({ "operations": ["CONNECT"], "resources": ["pods/exec"] }),
            true,
        ),
        ("UPDATE v1 pods", json!({ "apiGroups": [""] }), true),
        ("UPDATE v1 pods", json!({ "apiGroups": ["apps"] }), false),
        (
            "UPDATE apps/v1 deployments",
            json!({ "apiGroups": ["", "apps"] }),
            true,
        ),
        ("UPDATE v1 pods", json!({ "apiVersions": ["v2"] }), false),
        (
            "UPDATE v1 pods",
            json!({ "resources": ["services", "pods"] }),
            true,
        ),
        ("UPDATE v1 pods", json!({ "resources": ["services"] }), false),
        ("UPDATE v1 pods/status", json!({ "resources": ["pods"] }), false),
        ("UPDATE v1 pods/status", json!({ "resources": ["*"] }), false),
        ("UPDATE v1 pods/status", json!({ "resources": ["*/*"] }), true),
        ("UPDATE v1 pods", json!({ "resources": ["*/*"] }), true),
        ("UPDATE v1 pods/status", json!({ "resources": ["pods/*"] }), true),
        (
            "UPDATE v1 pods/status",
            json!({ "resources": ["services/*"] }),
            false,
        ),
        (
            "UPDATE v1 pods/status",
            json!({ "resources": ["*/status"] }),
            true,
        ),
        (
            "UPDATE v1 pods/status",
            json!({ "resources": ["*/scale"] }),
            false,
        ),
        ("UPDATE v1 pods", json!({ "resourceNames": ["x"] }), true),
        ("UPDATE v1 pods", json!({ "resourceNames": ["y"] }), false),
        ("UPDATE v1 pods", json!({ "scope": "Namespaced" }), true),
        ("UPDATE v1 pods", json!({ "scope": "Cluster" }), false),
        ("UPDATE v1 nodes", json!({ "scope": "Namespaced" }), false),
        ("UPDATE v1 nodes", json!({ "scope": "Cluster" }), true),
        // A namespace is an object of the cluster, although its requests have a namespace.
        ("UPDATE v1 namespaces", json!({ "scope": "Namespaced" }), false),
        ("UPDATE v1 namespaces", json!({ "scope": "Cluster" }), true),
        (
            "UPDATE autoscaling/v1 horizontalpodautoscalers",
            json!({ "apiVersions": ["v2"] }),
            true,
        ),
        (
            "UPDATE v1 events",
            json!({ "apiGroups": ["events.k8s.io"] }),
            true,
        ),
        ("UPDATE v1 pods", json!({ "apiGroups": ["events.k8s.io"] }), false),
    ]
}

#[test]
fn rules_match_requests() {
    let fixture = Fixture::new();
    let registry = Registry::builtin();
    for (line, fields, expected) in match_rows() {
        let words: Vec<&str> = line.split(' ').collect();
        let [operation, version, resource] = words[..] else {
            panic!("{line}")
        };
        let operation = match operation {
            "UPDATE" => Operation::Update,
            "DELETE" => Operation::Delete,
            _ => Operation::Connect,
        };
        let (group, version) = version.split_once('/').unwrap_or(("", version));
        let (plural, subresource) = resource.split_once('/').unwrap_or((resource, ""));
        let resource = registry.find(group, version, plural).expect("a resource");
        let is_in_namespace = resource.namespaced || plural == "namespaces";
        let mut rule = rule("*");
        for (field, value) in fields.as_object().expect("fields") {
            rule[field] = value.clone();
        }
        let object = json!({ "metadata": { "labels": { "a": "b" } } });
        let request = Request {
            operation,
            resource,
            subresource,
            namespace: if is_in_namespace { "shop" } else { "" },
            name: "x",
            object: Some(&object),
            old: None,
            options: &Json::Null,
            dry_run: false,
            user: &fixture.user,
        };
        let state = State {
            store: &fixture.store,
            registry,
            access: &fixture.access,
        };
        let matches = |constraints: Json| MatchResources::read(&constraints).matches(state, &request);
        let found = matches(json!({ "resourceRules": [rule] })).expect("a namespace");
        assert_eq!(found.is_some(), expected, "{line} {fields}");
        // What a rule matches can be excluded.
        let constraints = json!({ "resourceRules": [self::rule("*/*")], "excludeResourceRules": [rule] });
        let found = matches(constraints).expect("a namespace");
        assert_eq!(found.is_none(), expected, "{line} without {fields}");
        let selector = json!({ "matchLabels": { "a": "c" } });
        let found = matches(json!({ "resourceRules": [rule], "objectSelector": selector }));
        assert!(found.expect("a namespace").is_none(), "{line} {fields}");
    }
}

#[test]
fn other_version_of_a_resource_does_not_match_exactly() {
    let fixture = Fixture::new();
    let object = json!({ "metadata": {} });
    let registry = Registry::builtin();
    for (policy, found) in [("Equivalent", Some("v2")), ("Exact", None)] {
        let mut rule = rule("horizontalpodautoscalers");
        rule["apiVersions"] = json!(["v2"]);
        let constraints = json!({ "matchPolicy": policy, "resourceRules": [rule] });
        let request = Request {
            operation: Operation::Create,
            resource: registry
                .find("autoscaling", "v1", "horizontalpodautoscalers")
                .expect("a resource"),
            subresource: "",
            namespace: "shop",
            name: "x",
            object: Some(&object),
            old: None,
            options: &Json::Null,
            dry_run: false,
            user: &fixture.user,
        };
        let state = State {
            store: &fixture.store,
            registry,
            access: &fixture.access,
        };
        let matched = MatchResources::read(&constraints).matches(state, &request);
        let matched = matched.expect("a namespace").map(|matched| matched.0);
        assert_eq!(matched.as_ref().map(|resource| resource.version.as_str()), found);
    }
}

#[test]
fn namespaces_are_selected_by_their_labels() {
    let fixture = Fixture::new();
    let object = json!({ "metadata": { "labels": { "stage": "new" } } });
    let registry = Registry::builtin();
    let matches = |plural: &str, namespace: &str, stage: &str| {
        let selector = json!({ "matchLabels": { "stage": stage } });
        let constraints = json!({ "namespaceSelector": selector });
        let request = Request {
            operation: Operation::Update,
            resource: registry.find("", "v1", plural).expect("a resource"),
            subresource: "",
            namespace,
            name: "x",
            object: Some(&object),
            old: None,
            options: &Json::Null,
            dry_run: false,
            user: &fixture.user,
        };
        let state = State {
            store: &fixture.store,
            registry,
            access: &fixture.access,
        };
        let matched = MatchResources::read(&constraints).matches(state, &request);
        matched.map(|matched| matched.is_some())
    };
    assert_eq!(matches("configmaps", "shop", "test"), Ok(true));
    assert_eq!(matches("configmaps", "shop", "new"), Ok(false));
    let missing = Err("namespaces \"gone\" not found".to_owned());
    assert_eq!(matches("configmaps", "gone", "test"), missing);
    // Objects of the cluster are never exempt.
    assert_eq!(matches("nodes", "", "test"), Ok(true));
    // A namespace that is written has its new labels.
    assert_eq!(matches("namespaces", "shop", "new"), Ok(true));
    assert_eq!(matches("namespaces", "shop", "test"), Ok(false));
}

#[test]
fn policies_are_compiled_once() {
    let fixture = Fixture::new();
    let policies = || fixture.admission.policies(&fixture.store);
    assert!(policies().is_none(), "there are no bindings");
    let spec = json!({ "validations": [{ "expression": "true" }] });
    fixture.bind(spec.clone(), &["Deny"]);
    let first = policies().expect("policies");
    assert!(Arc::ptr_eq(&first, &policies().expect("policies")));
    let other = json!({ "metadata": { "name": "c" }, "spec": { "policyName": "p" } });
    fixture.put(BINDINGS, "c", other);
    let second = policies().expect("policies");
    let ((policy, _), (same, bindings)) = (&first.policies[0], &second.policies[0]);
    assert!(Arc::ptr_eq(policy, same));
    assert_eq!(bindings.len(), 2);
    fixture.bind(spec, &["Deny"]);
    let third = policies().expect("policies");
    assert!(!Arc::ptr_eq(policy, &third.policies[0].0));
}

#[test]
fn policies_do_not_apply_to_policies() {
    let fixture = Fixture::new();
    let spec = json!({ "validations": [{ "expression": "false" }] });
    fixture.bind(spec, &["Deny"]);
    let mut policy = fixture
        .store
        .get(POLICIES, &Key::new(None, "p"))
        .expect("a policy")
        .value();
    policy["spec"]["matchConstraints"]["resourceRules"] = json!([rule("*/*")]);
    fixture.put(POLICIES, "p", policy);
    let object = json!({ "metadata": {} });
    for (resource, is_denied) in [
        ("pods", true),
        ("pods/status", true),
        ("validatingadmissionpolicies", false),
        ("validatingadmissionpolicies/status", false),
        ("validatingadmissionpolicybindings", false),
        ("mutatingadmissionpolicies", false),
        ("mutatingadmissionpolicybindings", false),
        ("validatingwebhookconfigurations", true),
    ] {
        let (_, result) = fixture.create(resource, &object);
        assert_eq!(result.is_err(), is_denied, "{resource}");
    }
}

#[test]
fn cost_of_an_expression_is_limited() {
    let fixture = Fixture::new();
    let expression = "object.items.all(a, object.items.all(b, a + b >= 0))";
    fixture.bind(
        json!({ "validations": [{ "expression": expression }] }),
        &["Deny"],
    );
    let items: Vec<u32> = (0..500).collect();
    assert_eq!(
        fixture.denial(&json!({ "items": items })),
        format!(
            "expression '{expression}' resulted in error: operation cancelled: actual cost limit exceeded"
        )
    );
}

#[test]
fn cost_of_a_policy_is_limited() {
    let fixture = Fixture::new();
    let validation = json!({ "expression": "!object.text.contains('y')" });
    let object = json!({ "text": "x".repeat(5_000_000) });
    let exhausted =
        "validation failed due to running out of cost budget, no further validation rules will be run";
    fixture.bind(json!({ "validations": vec![validation.clone(); 19] }), &["Deny"]);
    assert_eq!(fixture.create("configmaps", &object).1, Ok(()));
    fixture.bind(json!({ "validations": vec![validation; 20] }), &["Deny"]);
    assert_eq!(fixture.denial(&object), exhausted);
    // Messages share the budget, and variables count.
    let message = json!({ "expression": "true", "messageExpression": "string(object.text.contains('y'))" });
    fixture.bind(json!({ "validations": vec![message; 20] }), &["Deny"]);
    assert_eq!(
        fixture.denial(&object),
        format!("failed messageExpression: {exhausted}")
    );
    let variables: Vec<Json> = (0..20)
        .map(|at| json!({ "name": format!("v{at}"), "expression": "object.text.contains('y')" }))
        .collect();
    let used: Vec<String> = (0..20).map(|at| format!("variables.v{at}")).collect();
    let expression = format!("!({})", used.join(" || "));
    let spec = json!({ "variables": variables, "validations": [{ "expression": expression }] });
    fixture.bind(spec, &["Deny"]);
    assert_eq!(fixture.denial(&object), exhausted);
    // Match conditions have a smaller budget.
    let conditions: Vec<Json> = (0..5)
        .map(|at| json!({ "name": format!("c{at}"), "expression": "!object.text.contains('y')" }))
        .collect();
    let mut spec = json!({ "matchConditions": conditions, "validations": [{ "expression": "true" }] });
    fixture.bind(spec.clone(), &["Deny"]);
    assert_eq!(fixture.denial(&object), exhausted);
    spec["failurePolicy"] = "Ignore".into();
    fixture.bind(spec, &["Deny"]);
    assert_eq!(fixture.create("configmaps", &object).1, Ok(()));
}

#[test]
fn variable_is_evaluated_once() {
    let fixture = Fixture::new();
    let used = vec!["variables.v"; 50].join(" || ");
    let spec = json!({
        "variables": [{ "name": "v", "expression": "object.text.contains('y')" }],
        "validations": [{ "expression": format!("!({used})") }, { "expression": "!variables.v" }],
    });
    fixture.bind(spec, &["Deny"]);
    let object = json!({ "text": "x".repeat(9_000_000) });
    assert_eq!(fixture.create("configmaps", &object).1, Ok(()));
}

#[test]
fn name_of_a_macro_hides_the_variables() {
    let fixture = Fixture::new();
    let spec = json!({
        "variables": [{ "name": "v", "expression": "1" }],
        "validations": [{ "expression": "[{'v': 2}].all(variables, variables.v == 2) && has(variables.v)" }],
    });
    fixture.bind(spec, &["Deny"]);
    assert_eq!(fixture.create("configmaps", &json!({})).1, Ok(()));
}

#[test]
fn long_chains_of_variables_are_evaluated_or_refused() {
    let chain = |length: usize| {
        let next = |at: usize| json!({ "name": format!("v{}", at + 1), "expression": format!("variables.v{at} + 1") });
        let mut variables = vec![json!({ "name": "v0", "expression": "0" })];
        variables.extend((0..length).map(next));
        let expression = format!("variables.v{length} == {length}");
        json!({ "variables": variables, "validations": [{ "expression": expression }] })
    };
    let fixture = Fixture::new();
    fixture.bind(chain(300), &["Deny"]);
    assert_eq!(fixture.create("configmaps", &json!({})).1, Ok(()));
    let errors = check_policy(&json!({ "spec": chain(2_000) }));
    let error = errors.first().expect("an error").to_string();
    assert!(
        error.ends_with("expression refers to more than 1000 nested expressions"),
        "{error}"
    );
}

#[test]
fn broken_audit_annotation_denies_whatever_the_actions() {
    let fixture = Fixture::new();
    let mut spec = json!({
        "validations": [{ "expression": "false", "message": "no" }],
        "auditAnnotations": [{ "key": "k", "valueExpression": "object.missing + ''" }],
    });
    fixture.bind(spec.clone(), &["Warn"]);
    let (warnings, result) = fixture.create("configmaps", &json!({}));
    assert_eq!(
        warnings,
        ["Validation failed for ValidatingAdmissionPolicy 'p' with binding 'b': no"]
    );
    let message = result.expect_err("a denial").message;
    let why = "denied request: expression 'object.missing + ''' resulted in error: no such key: missing";
    assert!(message.ends_with(why), "{message}");
    spec["failurePolicy"] = "Ignore".into();
    fixture.bind(spec, &["Audit"]);
    let (warnings, result) = fixture.create("configmaps", &json!({}));
    assert_eq!((warnings, result), (Vec::new(), Ok(())));
}

#[test]
fn expressions_check_permissions() {
    let fixture = Fixture::new();
    let rules = json!([{ "apiGroups": [""], "resources": ["secrets"], "verbs": ["get"] }]);
    let group = "rbac.authorization.k8s.io";
    let subjects = json!([
        { "kind": "User", "name": "jane" }, { "kind": "ServiceAccount", "namespace": "shop", "name": "robot" },
    ]);
    fixture.put(
        "rbac.authorization.k8s.io/clusterroles",
        "reader",
        json!({ "metadata": { "name": "reader" }, "rules": rules }),
    );
    fixture.put(
        "rbac.authorization.k8s.io/clusterrolebindings",
        "readers",
        json!({
            "metadata": { "name": "readers" }, "subjects": subjects,
            "roleRef": { "apiGroup": group, "kind": "ClusterRole", "name": "reader" },
        }),
    );
    let secrets = "authorizer.group('').resource('secrets').namespace('shop')";
    for (expression, expected) in [
        (format!("{secrets}.check('get').allowed()"), "true"),
        (
            format!("{secrets}.name('x').subresource('y').check('get').allowed()"),
            "false",
        ),
        (format!("{secrets}.check('list').allowed()"), "false"),
        (
            format!("{secrets}.check('list').reason() == '' && !{secrets}.check('get').errored()"),
            "true",
        ),
        (
            "authorizer.requestResource.check('create').allowed()".into(),
            "false",
        ),
        (
            "authorizer.path('/healthz').check('get').allowed()".into(),
            "false",
        ),
        (
            "authorizer.serviceAccount('shop', 'robot').group('').resource('secrets').check('get').allowed()"
                .into(),
            "true",
        ),
        (
            "authorizer.serviceAccount('shop', 'other').group('').resource('secrets').check('get').allowed()"
                .into(),
            "false",
        ),
        (
            "authorizer.path(' ').check('get').allowed()".into(),
            "path must not be empty",
        ),
        (
            "authorizer.group('').resource('').check('get').allowed()".into(),
            "resource must not be empty",
        ),
        (
            "authorizer.serviceAccount('shop', 'A b').path('/').check('get').allowed()".into(),
            "Invalid service account name",
        ),
        (
            "authorizer.serviceAccount('a.b', 'robot').path('/').check('get').allowed()".into(),
            "Invalid service account namespace",
        ),
        (
            format!("[1, 2, 3].all(n, {secrets}.check('get').allowed())"),
            "operation cancelled: actual cost limit exceeded",
        ),
    ] {
        let spec = json!({ "validations": [{ "expression": expression, "message": "no" }] });
        fixture.bind(spec, &["Deny"]);
        let (_, result) = fixture.create("configmaps", &json!({}));
        match (expected, result) {
            ("true", result) => assert_eq!(result, Ok(()), "{expression}"),
            ("false", result) => {
                let message = result.expect_err("a denial").message;
                assert!(message.ends_with("denied request: no"), "{expression}: {message}");
            }
            (why, result) => {
                let message = result.expect_err("an error").message;
                let why = format!("resulted in error: {why}");
                assert!(message.ends_with(&why), "{expression}: {message}");
            }
        }
    }
    let message = json!({ "expression": "true", "messageExpression": "string(authorizer == null)" });
    let errors = check_policy(&json!({ "spec": { "validations": [message] } }));
    let error = errors.first().expect("an error").to_string();
    assert!(error.contains("undeclared reference to 'authorizer'"), "{error}");
}
