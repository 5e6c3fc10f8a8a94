//! Validating admission policies: which requests they deny, with which messages, and with which parameters.

mod decisions;
mod matching;
mod parameters;
mod requests;
mod validation;

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
