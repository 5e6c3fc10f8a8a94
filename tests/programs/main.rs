//! The examples of `kube-informer` and the command line, run as programs on a server: their output and their
//! exit.

mod kubectl_informer;
mod program;

use conformance::TestServer;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Api, DeleteParams, DynamicObject, Patch, PatchParams, PostParams};
use kube::core::{ApiResource, TypeMeta};
use program::ProgramProcess;
use serde_json::{Value, json};

fn resource(group: &str, version: &str, kind: &str) -> ApiResource {
    ApiResource::from_gvk(&kube::core::GroupVersionKind::gvk(group, version, kind))
}

/// Creates an object in the test's namespace.
async fn make(server: &TestServer, resource: &ApiResource, object: Value) -> DynamicObject {
    let api = api(server, resource);
    let mut object: DynamicObject = serde_json::from_value(object).expect("an object");
    object.types = Some(TypeMeta {
        api_version: resource.api_version.clone(),
        kind: resource.kind.clone(),
    });
    api.create(&PostParams::default(), &object)
        .await
        .expect("an object")
}

fn api(server: &TestServer, resource: &ApiResource) -> Api<DynamicObject> {
    Api::namespaced_with(server.client.clone(), &server.namespace, resource)
}

fn stateful_set(name: &str) -> Value {
    json!({
        "metadata": { "name": name },
        "spec": {
            "serviceName": name,
            "selector": { "matchLabels": { "app": name } },
            "template": {
                "metadata": { "labels": { "app": name } },
                "spec": { "containers": [{ "name": "main", "image": "example.com/image" }] },
            },
        },
    })
}

fn map(name: &str) -> Value {
    json!({ "metadata": { "name": name } })
}

#[tokio::test]
async fn stateful_sets() {
    let server = TestServer::alone().await;
    let sets = resource("apps", "v1", "StatefulSet");
    let namespace = server.namespace.as_str();
    make(&server, &sets, stateful_set("db")).await;
    let mut program = ProgramProcess::start(&server, "stateful_sets", &[namespace]).await;
    let lines = program.sorted(3).await;
    assert_eq!(lines[0], "  db");
    assert_eq!(lines[1], format!("1 stateful sets in {namespace}:"));
    assert_eq!(lines[2], format!("added {namespace}/db with 1 replicas"));

    make(&server, &sets, stateful_set("queue")).await;
    assert_eq!(
        program.line().await,
        format!("added {namespace}/queue with 1 replicas")
    );
    let scale = Patch::Merge(json!({ "spec": { "replicas": 3 } }));
    api(&server, &sets)
        .patch("db", &PatchParams::default(), &scale)
        .await
        .expect("an object");
    assert_eq!(
        program.line().await,
        format!("updated {namespace}/db from 1 to 3 replicas")
    );
    api(&server, &sets)
        .delete("queue", &DeleteParams::default())
        .await
        .expect("an object");
    let mut line = program.line().await;
    // The real server first marks objects that it deletes in the background.
    if line.starts_with("updated") {
        line = program.line().await;
    }
    assert_eq!(line, format!("deleted {namespace}/queue"));
    program.stop().await;
}

#[tokio::test]
async fn dynamic() {
    let server = TestServer::alone().await;
    let sets = resource("apps", "v1", "StatefulSet");
    make(&server, &sets, stateful_set("db")).await;
    // By its short name.
    let mut program = ProgramProcess::start(&server, "dynamic", &["sts"]).await;
    assert_eq!(program.line().await, "watching statefulsets.apps");
    let key = format!("{}/db", server.namespace);
    assert_eq!(
        program.sorted(2).await,
        [format!("  {key}"), "1 objects".to_owned()]
    );
    make(&server, &sets, stateful_set("queue")).await;
    assert_eq!(program.line().await, format!("+ {}/queue", server.namespace));
    program.stop().await;
}

#[tokio::test]
async fn projection() {
    let server = TestServer::alone().await;
    let pods = resource("", "v1", "Pod");
    for (name, node) in [("a", Some("north")), ("b", Some("north")), ("c", None)] {
        let mut pod = json!({
            "metadata": { "name": name, "annotations": { "unread": "by this program" } },
            "spec": { "containers": [{ "name": "main", "image": format!("example.com/{name}") }] },
        });
        if let Some(node) = node {
            pod["spec"]["nodeName"] = node.into();
        }
        make(&server, &pods, pod).await;
    }
    let mut program = ProgramProcess::start(&server, "projection", &[]).await;
    for expected in [
        "(no node)",
        "  example.com/c",
        "north",
        "  example.com/a",
        "  example.com/b",
    ] {
        assert_eq!(program.line().await, expected);
    }
    program.stop().await;
}

#[tokio::test]
async fn metadata() {
    let server = TestServer::alone().await;
    let maps = resource("", "v1", "ConfigMap");
    let owner = make(&server, &maps, map("owner")).await;
    let mut owned = map("owned");
    owned["metadata"]["ownerReferences"] = json!([{
        "apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner.metadata.uid,
    }]);
    make(&server, &maps, owned).await;
    let mut program = ProgramProcess::start(&server, "metadata", &["cm"]).await;
    let namespace = &server.namespace;
    loop {
        // Servers create their own config maps in namespaces.
        if program.line().await == format!("{namespace}/owner") {
            break;
        }
    }
    assert_eq!(program.line().await, format!("  {namespace}/owned"));
    program.stop().await;
}

#[tokio::test]
async fn custom_resource() {
    let server = TestServer::alone().await;
    let mut program = ProgramProcess::start(&server, "custom_resource", &[]).await;
    let waiting = program.line().await;
    assert!(
        waiting.starts_with("still waiting: lighthouses.example.com"),
        "{waiting}"
    );
    assert_eq!(
        program.line().await,
        "hint: is the CustomResourceDefinition lighthouses.example.com installed?"
    );

    let definition = json!({
        "metadata": { "name": "lighthouses.example.com" },
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": { "plural": "lighthouses", "singular": "lighthouse", "kind": "Lighthouse" },
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "schema": { "openAPIV3Schema": {
                    "type": "object", "x-kubernetes-preserve-unknown-fields": true,
                } },
            }],
        },
    });
    let definitions: Api<CustomResourceDefinition> = Api::all(server.client.clone());
    let definition = serde_json::from_value(definition).expect("a definition");
    definitions
        .create(&PostParams::default(), &definition)
        .await
        .expect("a definition");
    assert_eq!(program.line().await, "0 red ones");
    let house = json!({ "metadata": { "name": "pharos" }, "spec": { "height": 100, "colour": "red" } });
    make(&server, &resource("example.com", "v1", "Lighthouse"), house).await;
    assert_eq!(
        program.line().await,
        format!("{}/pharos is 100 m high", server.namespace)
    );
    program.stop().await;
}

#[tokio::test]
async fn namespaces() {
    let server = TestServer::alone().await;
    let maps = resource("", "v1", "ConfigMap");
    make(&server, &maps, map("a")).await;
    let namespace = server.namespace.as_str();
    let mut program = ProgramProcess::start(&server, "namespaces", &[namespace, "default"]).await;
    // Handlers run asynchronously.
    let (heard, ready) = (format!("{namespace}/a"), "ready".to_owned());
    let mut lines = Vec::new();
    while !(lines.contains(&heard) && lines.contains(&ready)) {
        lines.push(program.line().await);
    }
    let summary = "[+] configmaps in namespaces default, ";
    assert!(lines.iter().any(|line| line.starts_with(summary)), "{lines:?}");
    make(&server, &maps, map("b")).await;
    // A server may add its own objects in between.
    while program.line().await != format!("{namespace}/b") {}
    program.stop().await;
}

#[tokio::test]
async fn controller() {
    let server = TestServer::alone().await;
    let namespace = &server.namespace;
    let mut program = ProgramProcess::start(&server, "controller", &[]).await;
    assert_eq!(program.line().await, "0 websites");

    let websites = resource("example.com", "v1", "Website");
    let website = json!({ "metadata": { "name": "shop" }, "spec": { "image": "nginx:1.27", "replicas": 2 } });
    make(&server, &websites, website).await;
    // The cache may be older than the controller's own writes, so a step may be repeated and printed twice.
    let line = |what: &str| format!("{namespace}/shop: {what}");
    let (made, waiting, ready) = (line("2 × nginx:1.27"), line("0 of 2 ready"), line("2 of 2 ready"));
    program.after(&[], &made).await;
    program.after(&[&made], &waiting).await;

    // The deployment becomes ready when its status says so.
    let deployments = api(&server, &resource("apps", "v1", "Deployment"));
    let owned = deployments.get("shop").await.expect("the deployment");
    assert_eq!(
        owned.metadata.owner_references.expect("an owner")[0].kind,
        "Website"
    );
    let patch = Patch::Merge(json!({ "status": { "replicas": 2, "readyReplicas": 2 } }));
    deployments
        .patch_status("shop", &PatchParams::default(), &patch)
        .await
        .expect("the deployment");
    program.after(&[&made, &waiting], &ready).await;
    let shop = api(&server, &websites).get("shop").await;
    assert!(shop.expect("the website").data["status"]["ready"] == 2);

    // Changes by others are reverted.
    let meddle = Patch::Merge(json!({ "spec": { "replicas": 7 } }));
    deployments
        .patch("shop", &PatchParams::default(), &meddle)
        .await
        .expect("the deployment");
    program.after(&[&ready], &made).await;

    api(&server, &websites)
        .delete("shop", &DeleteParams::default())
        .await
        .expect("the website");
    program.after(&[&made], &line("cleaned up")).await;
    program.stop().await;
    assert_eq!(
        api(&server, &websites).get_opt("shop").await.expect("an answer"),
        None
    );
}
