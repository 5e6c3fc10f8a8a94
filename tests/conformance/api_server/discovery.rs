//! Discovery, version, health and OpenAPI.

use conformance::TestServer;
use serde_json::{Value, json};

const AGGREGATED: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

fn find<'a>(list: &'a Value, key: &str, name: &str) -> &'a Value {
    let found = list.as_array().and_then(|l| l.iter().find(|e| e[key] == name));
    found.unwrap_or_else(|| panic!("no {name} in {list}"))
}

#[tokio::test]
async fn version_and_health_are_served() {
    let raw = TestServer::start().await.raw();
    let version = raw.get("/version").await.body;
    assert_eq!(
        (&version["major"], &version["minor"]),
        (&json!("1"), &json!("36"))
    );
    for path in ["/healthz", "/livez", "/readyz"] {
        let health = raw.get(path).await;
        assert_eq!((health.code, health.body.as_str()), (200, Some("ok")), "{path}");
    }
    let nowhere = raw.get("/no/such/page").await;
    assert_eq!(
        (nowhere.code, nowhere.body.as_str()),
        (404, Some("404 page not found\n"))
    );
    let nowhere = raw.get("/apis/no.such.group/v1/things").await;
    assert_eq!(
        (nowhere.code, nowhere.body.as_str()),
        (404, Some("404 page not found\n"))
    );
    let nowhere = raw.get("/apis/apps/v9").await;
    assert_eq!(
        (nowhere.code, nowhere.message()),
        (404, "the server could not find the requested resource")
    );
}

#[tokio::test]
async fn health_lists_its_checks_on_request() {
    let raw = TestServer::start().await.raw();
    for (path, own, last) in [
        ("healthz", "[+]etcd ok", "healthz check passed"),
        ("livez", "[+]etcd ok", "livez check passed"),
        ("readyz", "[+]informer-sync ok", "readyz check passed"),
    ] {
        let health = raw.get(&format!("/{path}?verbose")).await;
        let text = health.body.as_str().expect("text");
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.first(), Some(&"[+]ping ok"));
        assert_eq!(lines.last(), Some(&last));
        assert!(lines.contains(&own), "{text}");
        assert!(lines.contains(&"[+]autoregister-completion ok"), "{text}");
        assert!(
            lines.contains(&"[+]poststarthook/crd-informer-synced ok"),
            "{text}"
        );
    }
    let single = raw.get("/livez/ping?verbose").await;
    assert_eq!(single.body.as_str(), Some("ok"));
}

#[tokio::test]
async fn invalid_timeout_is_rejected() {
    let raw = TestServer::start().await.raw();
    for path in ["/version", "/api/v1/namespaces"] {
        for valid in ["0s", "3m", "1.5h"] {
            assert_eq!(raw.get(&format!("{path}?timeout={valid}")).await.code, 200);
        }
        let refused = raw.get(&format!("{path}?timeout=soon")).await;
        assert_eq!(
            (refused.code, refused.message()),
            (
                400,
                "invalid timeout specified in the request URL - time: invalid duration \"soon\""
            )
        );
    }
}

#[tokio::test]
async fn aggregated_and_single_discovery_agree() {
    let raw = TestServer::start().await.raw();
    assert_eq!(raw.get("/api").await.body["versions"], json!(["v1"]));
    let core = raw.get("/api/v1").await.body;
    let pods = find(&core["resources"], "name", "pods");
    assert_eq!(
        *pods,
        json!({
            "name": "pods", "singularName": "pod", "namespaced": true, "kind": "Pod",
            "verbs": ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"],
            "shortNames": ["po"], "categories": ["all"], "storageVersionHash": "xPOwRZ+Yhw8=",
        })
    );
    let eviction = find(&core["resources"], "name", "pods/eviction");
    assert_eq!(
        (&eviction["group"], &eviction["version"], &eviction["kind"]),
        (&json!("policy"), &json!("v1"), &json!("Eviction"))
    );
    let groups = raw.get("/apis").await.body;
    let apps = find(&groups["groups"], "name", "apps");
    assert_eq!(
        apps["preferredVersion"],
        json!({ "groupVersion": "apps/v1", "version": "v1" })
    );
    assert_eq!(raw.get("/apis/apps").await.body["versions"], apps["versions"]);

    let all = raw.get_as("/apis", AGGREGATED).await;
    assert_eq!(
        all.headers.get("content-type").and_then(|v| v.to_str().ok()),
        Some(AGGREGATED)
    );
    let apps = all.body["items"]
        .as_array()
        .and_then(|l| l.iter().find(|g| g["metadata"]["name"] == "apps"))
        .expect("apps");
    let deployments = find(&apps["versions"][0]["resources"], "resource", "deployments");
    assert_eq!(
        deployments["responseKind"],
        json!({ "group": "", "version": "", "kind": "Deployment" })
    );
    assert_eq!(
        (&deployments["scope"], &deployments["shortNames"]),
        (&json!("Namespaced"), &json!(["deploy"]))
    );
    let scale = find(&deployments["subresources"], "subresource", "scale");
    assert_eq!(
        scale["responseKind"],
        json!({ "group": "autoscaling", "version": "v1", "kind": "Scale" })
    );
    // Both formats contain the same resources.
    let listed = raw.get("/apis/apps/v1").await.body;
    let plain: Vec<&str> = listed["resources"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|r| r["name"].as_str())
        .filter(|n| !n.contains('/'))
        .collect();
    let aggregated: Vec<&str> = apps["versions"][0]["resources"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|r| r["resource"].as_str())
        .collect();
    assert_eq!(plain, aggregated);
}

#[tokio::test]
async fn openapi_serves_what_kubectl_needs() {
    let raw = TestServer::start().await.raw();
    let index = raw.get("/openapi/v3").await.body;
    let path = index["paths"]["apis/apps/v1"]["serverRelativeURL"]
        .as_str()
        .expect("a path")
        .to_owned();
    let document = raw.get(&path).await.body;
    let schema = &document["components"]["schemas"]["io.k8s.api.apps.v1.Deployment"];
    assert_eq!(
        schema["x-kubernetes-group-version-kind"],
        json!([{ "group": "apps", "kind": "Deployment", "version": "v1" }])
    );
    let containers =
        &document["components"]["schemas"]["io.k8s.api.core.v1.PodSpec"]["properties"]["containers"];
    assert_eq!(
        (
            &containers["x-kubernetes-patch-merge-key"],
            &containers["x-kubernetes-patch-strategy"]
        ),
        (&json!("name"), &json!("merge"))
    );
    let patch =
        &document["paths"]["/apis/apps/v1/namespaces/{namespace}/deployments/{name}"]["patch"]["parameters"];
    assert_eq!(find(patch, "name", "fieldValidation")["in"], "query");
    assert_eq!(find(patch, "name", "dryRun")["in"], "query");
}
