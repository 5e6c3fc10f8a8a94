//! The other requests of a client-go program.

use conformance::TestServer;
use conformance::client_go::{ClientGoProgram, ClientOptions, DEFAULT, JSON};
use serde_json::{Value, json};

/// Checks the results of the program's commands, which are the same on every server and with every content
/// type.
async fn ask_everything(options: ClientOptions) {
    let server = TestServer::start().await;
    let mut program = ClientGoProgram::on(&server, options).await;
    for (command, wanted) in [
        (
            "elect",
            json!([
                "[first] then \"\", transitions 0, seconds 1",
                "[second] then \"\", transitions 1, seconds 1",
            ]),
        ),
        (
            "apply",
            json!({
                "conflict": "Apply failed with 1 conflict: conflict with \"one\": .spec.replicas",
                "replicas": 2,
                "extracted": { "replicas": 2 },
            }),
        ),
        (
            "scale",
            json!({ "typed": 3, "generic": 5, "selector": "app=scaled", "final": 5, "generation": 3 }),
        ),
        (
            "evict",
            json!({
                "refused": "Cannot evict pod as it would violate the pod's disruption budget.",
                "retry": true,
                "noted": true,
                "allowed": 0,
                "gone": true,
            }),
        ),
        (
            "events",
            json!("Normal ConfigMap Regarded: the object was reconciled, 2 times"),
        ),
        ("until", json!(["Running", "Succeeded"])),
        (
            "pages",
            json!({ "names": 11, "sorted": true, "sizes": [3, 3, 3, 2], "remaining": null }),
        ),
        (
            "custom",
            json!({
                "spec": { "size": 3, "colour": "red" },
                "status": { "size": 4 },
                "generation": 2,
                "scale": "autoscaling/v1 Scale map[replicas:3]",
            }),
        ),
        ("metadata", json!("plain map[seen:yes], 1 listed")),
        ("collect", json!(["kept"])),
    ] {
        assert_eq!(program.run(command).await, wanted, "{command}");
    }
    let mut failures = program.run("failures").await;
    for name in ["foreign", "immutable"] {
        failures[name] = without_uids(&failures[name]).into();
    }
    assert_eq!(failures, refusals(&server.namespace));
}

/// Returns the reason and the message of each refusal.
fn refusals(namespace: &str) -> Value {
    json!({
        "exists": "AlreadyExists: configmaps \"twice\" already exists",
        "missing": "NotFound: configmaps \"missing\" not found",
        "namespace": "NotFound: namespaces \"nowhere\" not found",
        "stale": "Conflict: Operation cannot be fulfilled on configmaps \"twice\": the object has been modified; please \
            apply your changes to the latest version and try again",
        "foreign": "Conflict: Operation cannot be fulfilled on ConfigMap \"twice\": the UID in the precondition (<uid>) does \
            not match the UID in record (<uid>). The object might have been deleted and then recreated",
        "immutable": format!(
            "Conflict: Operation cannot be fulfilled on configmaps \"twice\": StorageError: invalid object, Code: 4, Key: \
             /registry/configmaps/{namespace}/twice, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in \
             precondition: <uid>, UID in object meta: <uid>"
        ),
        "name": "Invalid: ConfigMap \"Not_A_Name\" is invalid: metadata.name: Invalid value: \"Not_A_Name\": a lowercase RFC \
            1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an \
            alphanumeric character (e.g. 'example.com', regex used for validation is \
            '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
        "empty": "Invalid: Pod \"empty\" is invalid: spec.containers: Required value",
        "continue": "BadRequest: invalid continue token: continue key is not valid: invalid character '\\u009e' looking for \
            beginning of value",
        "selector": "BadRequest: \"data.greeting\" is not a known field selector: only \"metadata.name\", \
            \"metadata.namespace\"",
        "patch": "Invalid: the server rejected our request due to an error in our request",
    })
}

fn without_uids(text: &Value) -> String {
    let uid = regex::Regex::new("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}").expect("a pattern");
    uid.replace_all(text.as_str().expect("text"), "<uid>")
        .into_owned()
}

#[tokio::test]
#[ignore = "needs Go: cargo xtask test"]
async fn all_requests_work_in_json() {
    ask_everything(JSON).await;
}

#[tokio::test]
#[ignore = "needs Go: cargo xtask test"]
async fn all_requests_work_in_protobuf() {
    ask_everything(DEFAULT).await;
}

/// Alone, because discovery would contain other tests' custom resources.
#[tokio::test]
#[ignore = "needs Go: cargo xtask test"]
async fn served_resources_are_discovered() {
    let server = TestServer::alone().await;
    let mut program = ClientGoProgram::on(&server, DEFAULT).await;
    let found = program.run("discover").await;
    assert_eq!(found["version"], "v1.36.3");
    assert_eq!(found["resources"], 150);
    assert_eq!(
        found["mapped"],
        json!({
            "deploy": "apps/v1, Resource=deployments, namespace",
            "po": "/v1, Resource=pods, namespace",
            "configmap": "/v1, Resource=configmaps, namespace",
            "ingress": "networking.k8s.io/v1, Resource=ingresses, namespace",
        })
    );
    assert_eq!(
        found["preferred"],
        json!([
            "v1",
            "apiregistration.k8s.io/v1",
            "apps/v1",
            "events.k8s.io/v1",
            "authentication.k8s.io/v1",
            "authorization.k8s.io/v1",
            "autoscaling/v2",
            "batch/v1",
            "certificates.k8s.io/v1",
            "networking.k8s.io/v1",
            "policy/v1",
            "rbac.authorization.k8s.io/v1",
            "storage.k8s.io/v1",
            "admissionregistration.k8s.io/v1",
            "apiextensions.k8s.io/v1",
            "scheduling.k8s.io/v1",
            "coordination.k8s.io/v1",
            "node.k8s.io/v1",
            "discovery.k8s.io/v1",
            "resource.k8s.io/v1",
            "flowcontrol.apiserver.k8s.io/v1",
            "internal.apiserver.k8s.io/v1alpha1",
            "storagemigration.k8s.io/v1beta1",
        ])
    );
}
