//! Tests of discovery requests and of resolving names.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use http::header::{ACCEPT, CONTENT_TYPE};
use http::{HeaderValue, Request, Response};
use kube::Client;
use kube::client::Body;
use kube_embedded::Server;
use serde_json::{Value, json};
use tower::service_fn;

use super::{DiscoveredResource, Discovery};
use crate::Error;

async fn server() -> Server {
    Server::builder().seed(1).start().await.expect("a server")
}

async fn discovered() -> Discovery {
    let server = server().await;
    Discovery::fetch(&server.direct_client())
        .await
        .expect("a discovery")
}

/// A response that replaces the server's.
#[derive(Clone)]
struct CannedResponse {
    code: u16,
    content_type: &'static str,
    body: String,
}

impl CannedResponse {
    fn json(body: &Value) -> CannedResponse {
        CannedResponse {
            code: 200,
            content_type: "application/json",
            body: body.to_string(),
        }
    }

    fn failure(code: u16, message: &str) -> CannedResponse {
        let status = json!({ "kind": "Status", "status": "Failure", "code": code, "message": message });
        CannedResponse {
            code,
            ..CannedResponse::json(&status)
        }
    }

    fn response(&self) -> Response<Body> {
        Response::builder()
            .status(self.code)
            .header(CONTENT_TYPE, self.content_type)
            .body(Body::from(self.body.clone().into_bytes()))
            .expect("an answer")
    }
}

/// Returns a client for a server without aggregated discovery, with some responses replaced.
fn legacy_client(server: &Server, responses: &[(&str, CannedResponse)]) -> Client {
    let client = server.direct_client();
    let responses: Arc<BTreeMap<String, CannedResponse>> = Arc::new(
        responses
            .iter()
            .map(|(path, answer)| ((*path).to_owned(), answer.clone()))
            .collect(),
    );
    let service = service_fn(move |mut request: Request<Body>| {
        let (client, responses) = (client.clone(), Arc::clone(&responses));
        async move {
            if let Some(answer) = responses.get(request.uri().path()) {
                return Ok(answer.response());
            }
            request
                .headers_mut()
                .insert(ACCEPT, HeaderValue::from_static("application/json"));
            client.send(request).await
        }
    });
    Client::new(service, "default")
}

/// `deployments.v1.apps`.
fn full(resource: &DiscoveredResource) -> String {
    let names = resource.api_resource();
    format!("{}.{}.{}", names.plural, names.version, names.group)
}

#[tokio::test(start_paused = true)]
async fn both_forms_tell_the_same() {
    let server = server().await;
    let aggregated = Discovery::fetch(&server.direct_client())
        .await
        .expect("a discovery");
    assert_eq!(server.requests().len(), 2);
    let plain = Discovery::fetch(&legacy_client(&server, &[]))
        .await
        .expect("a discovery");
    let group_versions: BTreeSet<_> = plain
        .resources()
        .map(|resource| resource.api_resource().api_version.clone())
        .collect();
    assert_eq!(server.requests().len(), 2 + 2 + group_versions.len());

    let aggregated: Vec<_> = aggregated.resources().cloned().collect();
    let plain: Vec<_> = plain.resources().cloned().collect();
    assert_eq!(aggregated, plain);
    assert!(plain.len() > 90, "{}", plain.len());
    let deployments = plain
        .iter()
        .find(|resource| full(resource) == "deployments.v1.apps");
    let deployments = deployments.expect("deployments");
    assert_eq!(deployments.api_resource().kind, "Deployment");
    assert_eq!(deployments.api_resource().api_version, "apps/v1");
    assert_eq!(deployments.singular(), "deployment");
    assert_eq!(deployments.short_names(), ["deploy"]);
    assert!(deployments.is_namespaced() && deployments.is_watchable() && deployments.allows("patch"));
    let nodes = plain.iter().find(|resource| full(resource) == "nodes.v1.");
    assert!(nodes.is_some_and(|nodes| !nodes.is_namespaced()));
}

#[tokio::test(start_paused = true)]
async fn each_resource_is_found_by_each_of_its_names() {
    let discovery = discovered().await;
    let mut resolved = 0;
    for resource in discovery.resources().filter(|resource| resource.is_watchable()) {
        let names = resource.api_resource();
        let names_of_resource = [&names.plural, &names.kind]
            .into_iter()
            .chain(resource.short_names());
        for word in names_of_resource.map(String::as_str).chain([resource.singular()]) {
            let exactly = format!("{word}.{}.{}", names.version, names.group);
            assert_eq!(discovery.resolve(&exactly).ok(), Some(resource), "{exactly}");

            // Without a version and a group, the first in the server's order is used.
            let in_group = format!("{word}.{}", names.group);
            let first = discovery.resources().find(|other| {
                other.api_resource().group == names.group && other.api_resource().plural == names.plural
            });
            assert_eq!(discovery.resolve(&in_group).ok(), first, "{in_group}");
            let first = discovery
                .resources()
                .find(|other| other.api_resource().plural == names.plural);
            assert_eq!(discovery.resolve(word).ok(), first, "{word}");
            assert_eq!(discovery.resolve(&word.to_uppercase()).ok(), first, "{word}");
            resolved += 1;
        }
        assert_eq!(
            discovery
                .resource(&names.group, &names.version, &names.plural)
                .ok(),
            Some(resource)
        );
    }
    assert!(resolved > 250, "{resolved}");
}

#[tokio::test(start_paused = true)]
async fn names_mean_what_they_mean_to_kubectl() {
    let discovery = discovered().await;
    for (name, meant) in [
        ("deploy", "deployments.v1.apps"),
        ("Deployment", "deployments.v1.apps"),
        ("deploy.apps", "deployments.v1.apps"),
        ("Deployment.v1.apps", "deployments.v1.apps"),
        (" netpol ", "networkpolicies.v1.networking.k8s.io"),
        // A prefix of a group is sufficient, but not of a group that follows a version.
        ("ingresses.networking", "ingresses.v1.networking.k8s.io"),
        // The core group has precedence.
        ("events", "events.v1."),
        ("ev", "events.v1."),
        ("events.events.k8s.io", "events.v1.events.k8s.io"),
        ("pods.", "pods.v1."),
        ("pods.v1.", "pods.v1."),
        // The preferred version has precedence.
        ("hpa", "horizontalpodautoscalers.v2.autoscaling"),
        ("hpa.v1.autoscaling", "horizontalpodautoscalers.v1.autoscaling"),
    ] {
        let found = discovery.resolve(name).map(full);
        assert_eq!(found.as_deref().ok(), Some(meant), "{name}: {found:?}");
    }
    for name in [
        "deployments.v1.app",
        "deployments.v2.apps",
        "pods.v1",
        "pods.apps",
        "",
        ".",
    ] {
        let error = discovery.resolve(name).expect_err(name);
        assert!(error.is_unknown_resource() && error.is_not_found(), "{error}");
    }
}

/// Plural names have precedence over short names, and those over kinds, regardless of the order of groups.
#[tokio::test(start_paused = true)]
async fn the_better_name_wins() {
    let resource = |name: &str, kind: &str, short: &str| {
        json!({ "name": name, "singularName": "", "namespaced": true, "kind": kind,
                "verbs": ["list", "watch"], "shortNames": [short] })
    };
    let server = server().await;
    let groups = json!({ "kind": "APIGroupList", "groups": [
        { "name": "a.io", "versions": [{ "version": "v1" }] },
        { "name": "b.io", "versions": [{ "version": "v1beta1" }, { "version": "v1" }, { "version": "v1alpha1" }],
          "preferredVersion": { "version": "v1" } },
    ] });
    let a = json!({ "resources": [resource("ones", "Twos", "threes"), resource("fours", "Four", "f"), {}] });
    let b = json!({ "resources": [resource("twos", "Two", "four"), resource("threes", "Three", "ones")] });
    let client = legacy_client(
        &server,
        &[
            ("/api", CannedResponse::failure(404, "not here")),
            ("/apis", CannedResponse::json(&groups)),
            ("/apis/a.io/v1", CannedResponse::json(&a)),
            ("/apis/b.io/v1beta1", CannedResponse::json(&b)),
            ("/apis/b.io/v1", CannedResponse::json(&b)),
            (
                "/apis/b.io/v1alpha1",
                CannedResponse::json(&json!({ "resources": null })),
            ),
        ],
    );
    let discovery = Discovery::fetch(&client).await.expect("a discovery");
    assert_eq!(discovery.failures().count(), 0);
    for (name, meant) in [
        ("ones", "ones.v1.a.io"),
        ("twos", "twos.v1.b.io"),
        ("threes", "threes.v1.b.io"),
        ("four", "twos.v1.b.io"),
        ("two", "twos.v1.b.io"),
        ("ones.b", "threes.v1.b.io"),
        ("twos.v1beta1.b.io", "twos.v1beta1.b.io"),
    ] {
        assert_eq!(
            discovery.resolve(name).map(full).ok().as_deref(),
            Some(meant),
            "{name}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn errors_say_what_was_meant_and_what_is_missing() {
    let discovery = discovered().await;
    let said = |name: &str| discovery.resolve(name).expect_err(name).to_string();
    assert_eq!(
        said("deploymnet"),
        "unknown resource \"deploymnet\"\nhint: did you mean deployments.apps?"
    );
    assert_eq!(
        said("Deployments.batch"),
        "unknown resource \"Deployments.batch\"\nhint: did you mean deployments.apps?"
    );
    assert_eq!(
        said("certif"),
        "unknown resource \"certif\"\nhint: did you mean certificatesigningrequests.certificates.k8s.io?"
    );
    assert_eq!(said("xyzzy"), "unknown resource \"xyzzy\"");
    assert_eq!(said("xy"), "unknown resource \"xy\"");
    let long = "pod".repeat(100);
    assert_eq!(said(&long), format!("unknown resource {long:?}"));
    assert_eq!(
        said("bindings"),
        "cannot watch bindings: the server supports only create"
    );
    assert_eq!(
        said("cs"),
        "cannot watch componentstatuses: the server supports only get and list"
    );
    let error = discovery
        .resource("authentication.k8s.io", "v1", "tokenreviews")
        .expect_err("no watch");
    assert!(
        error.is_not_watchable() && !error.is_unknown_resource(),
        "{error}"
    );
    let error = discovery
        .resource("apps", "v2", "deployments")
        .expect_err("no v2");
    assert_eq!(
        error.to_string(),
        "unknown resource \"deployments.v2.apps\"\nhint: did you mean deployments.apps?"
    );
}

#[tokio::test(start_paused = true)]
async fn a_group_version_that_fails_does_not_fail_the_rest() {
    let server = server().await;
    let client = legacy_client(
        &server,
        &[("/apis/apps/v1", CannedResponse::failure(503, "no backend"))],
    );
    let discovery = Discovery::fetch(&client).await.expect("a discovery");
    let failures: Vec<_> = discovery
        .failures()
        .map(|(place, error)| (place, format!("{error:#}")))
        .collect();
    let message = "discovery request to /apis/apps/v1 failed: server returned 503: no backend";
    assert_eq!(failures, [("apps/v1".to_owned(), message.to_owned())]);
    assert!(discovery.resolve("jobs").is_ok());
    assert_eq!(
        discovery
            .resolve("statefulsets")
            .expect_err("no apps")
            .to_string(),
        "unknown resource \"statefulsets\": discovery of apps/v1 failed"
    );
}

#[tokio::test(start_paused = true)]
async fn what_is_stale_is_not_believed() {
    let kind = |kind: &str| json!({ "group": "", "version": "", "kind": kind });
    let verbs = json!(["list", "watch"]);
    let groups = json!({
        "kind": "APIGroupDiscoveryList",
        "apiVersion": "apidiscovery.k8s.io/v2beta1",
        "items": [
            { "metadata": { "name": "metrics.k8s.io" }, "versions": [{
                "version": "v1beta1", "freshness": "Stale",
                "resources": [{ "resource": "pods", "responseKind": kind("PodMetrics"), "scope": "Namespaced", "verbs": verbs }],
            }] },
            { "metadata": { "name": "b.io" }, "versions": [
                { "version": "v1", "freshness": "Current", "resources": [
                    { "resource": "things", "responseKind": kind("Thing"), "scope": "Cluster", "verbs": verbs },
                    { "resource": "parents", "subresources": [] },
                    { "resource": "nameless", "responseKind": {}, "scope": "Cluster", "verbs": verbs },
                ] },
                { "version": "v2", "resources": null },
            ] },
        ],
    });
    let server = server().await;
    let client = legacy_client(
        &server,
        &[
            ("/api", CannedResponse::failure(403, "not for you")),
            ("/apis", CannedResponse::json(&groups)),
        ],
    );
    let discovery = Discovery::fetch(&client).await.expect("a discovery");
    let names: Vec<_> = discovery.resources().map(full).collect();
    assert_eq!(names, ["things.v1.b.io"]);
    let failures: Vec<_> = discovery.failures().map(|(place, _)| place).collect();
    assert_eq!(failures, ["metrics.k8s.io/v1beta1"]);
    let said = format!("{discovery:?}");
    assert!(
        said.contains("discovery of metrics.k8s.io/v1beta1 is stale"),
        "{said}"
    );
}

async fn failed(server: &Server, core: CannedResponse, named: CannedResponse) -> Error {
    let client = legacy_client(server, &[("/api", core), ("/apis", named)]);
    Discovery::fetch(&client).await.expect_err("no discovery")
}

#[tokio::test(start_paused = true)]
async fn a_server_that_tells_no_groups_is_an_error() {
    let server = server().await;
    let forbidden = CannedResponse::failure(403, "not for you");
    let missing = CannedResponse::failure(404, "not here");
    let broken = CannedResponse::failure(500, "broken");
    let core = CannedResponse::json(&json!({ "kind": "APIVersions", "versions": ["v1"] }));
    let page = CannedResponse {
        code: 200,
        content_type: "text/html",
        body: "<html>".into(),
    };

    let error = failed(&server, forbidden.clone(), missing.clone()).await;
    assert!(error.is_forbidden(), "{error}");
    assert_eq!(
        format!("{error:#}"),
        "discovery request to /api failed: server returned 403: not for you"
    );
    assert_eq!(format!("{error:?}"), format!("Error({error:#})"));
    let error = failed(&server, missing, broken.clone()).await;
    assert_eq!(error.server_status().map(|status| status.code), Some(500));
    let error = failed(&server, core.clone(), broken).await;
    assert_eq!(error.server_status().map(|status| status.code), Some(500));
    for nonsense in [
        page,
        CannedResponse::json(&json!({ "kind": "Pod" })),
        CannedResponse::json(&json!([1])),
    ] {
        let error = failed(&server, core.clone(), nonsense).await;
        assert!(error.is_bad_data(), "{error}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_does_not_answer_is_not_waited_for_for_ever() {
    let server = server().await;
    server.go_down().await;
    let error = Discovery::fetch(&server.direct_client())
        .await
        .expect_err("no server");
    assert!(error.is_connection(), "{error}");

    let silent = service_fn(|_: Request<Body>| {
        futures::future::pending::<Result<Response<Body>, std::convert::Infallible>>()
    });
    let error = Discovery::fetch(&Client::new(silent, "default"))
        .await
        .expect_err("no answer");
    assert!(error.is_connection(), "{error}");
    assert!(format!("{error:#}").contains("no response within 32s"), "{error}");
}
