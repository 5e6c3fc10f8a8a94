//! Discovery: any served resource, by the names that kubectl accepts.

use std::time::Duration;

use conformance::TestServer;
use futures::StreamExt;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::Client;
use kube::api::{Api, DynamicObject, PostParams, WatchEvent, WatchParams};
use kube_informer::{
    Selector, SharedInformer,
    discovery::{DiscoveredResource, Discovery},
};
use serde_json::json;
use tokio::time::timeout;

const PATIENCE: Duration = Duration::from_secs(90);

fn full(resource: &DiscoveredResource) -> String {
    let names = resource.api_resource();
    format!("{}.{}.{}", names.plural, names.version, names.group)
}

/// Defines gizmos in a group that is unique to the test, and waits until they are established.
async fn define_gizmos(client: &Client, group: &str) {
    let definitions: Api<CustomResourceDefinition> = Api::all(client.clone());
    let schema =
        json!({ "openAPIV3Schema": { "type": "object", "x-kubernetes-preserve-unknown-fields": true } });
    let definition = serde_json::from_value(json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": { "name": format!("gizmos.{group}") },
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": { "plural": "gizmos", "singular": "gizmo", "kind": "Gizmo", "shortNames": ["gz", "gzm"] },
            "versions": [
                { "name": "v1alpha1", "served": true, "storage": false, "schema": schema },
                { "name": "v1", "served": true, "storage": true, "schema": schema },
            ],
        },
    }));
    let definition = definition.expect("a definition");
    let made = definitions.create(&PostParams::default(), &definition).await;
    let made = made.expect("a defined kind");
    let parameters = WatchParams::default().fields(&format!("metadata.name=gizmos.{group}"));
    let since = made.metadata.resource_version.unwrap_or_default();
    let mut events = definitions
        .watch(&parameters, &since)
        .await
        .expect("a watch")
        .boxed();
    while let Some(event) = events.next().await {
        let WatchEvent::Modified(definition) = event.expect("an event") else {
            continue;
        };
        let conditions = definition
            .status
            .and_then(|status| status.conditions)
            .unwrap_or_default();
        if conditions
            .iter()
            .any(|c| c.type_ == "Established" && c.status == "True")
        {
            return;
        }
    }
    panic!("the watch ended before the definition was established");
}

#[tokio::test]
async fn resources_resolve_by_every_name_in_kubectl_order() {
    let server = TestServer::start().await;
    let discovery = Discovery::fetch(&server.client).await.expect("a discovery");
    let failures: Vec<_> = discovery.failures().collect();
    assert!(failures.is_empty(), "{failures:?}");
    for (name, meant) in [
        ("deploy", "deployments.v1.apps"),
        ("Deployment", "deployments.v1.apps"),
        ("deployments.v1.apps", "deployments.v1.apps"),
        ("statefulset.apps", "statefulsets.v1.apps"),
        ("ev", "events.v1."),
        ("events.events", "events.v1.events.k8s.io"),
        ("hpa", "horizontalpodautoscalers.v2.autoscaling"),
        (
            "HorizontalPodAutoscaler.v1.autoscaling",
            "horizontalpodautoscalers.v1.autoscaling",
        ),
        ("crd", "customresourcedefinitions.v1.apiextensions.k8s.io"),
        ("svc", "services.v1."),
    ] {
        let found = discovery.resolve(name).map(full);
        assert_eq!(found.as_deref().ok(), Some(meant), "{name}: {found:?}");
    }
    assert!(
        discovery
            .resolve("pods")
            .is_ok_and(DiscoveredResource::is_namespaced)
    );
    assert!(
        discovery
            .resolve("nodes")
            .is_ok_and(|nodes| !nodes.is_namespaced())
    );

    let error = discovery.resolve("deploymnet").expect_err("a slip");
    assert!(error.is_unknown_resource(), "{error}");
    assert_eq!(
        error.to_string(),
        "unknown resource \"deploymnet\"\nhint: did you mean deployments.apps?"
    );
    let error = discovery.resolve("bindings").expect_err("no watch");
    assert!(error.is_not_watchable(), "{error}");
}

#[tokio::test]
async fn custom_resource_resolves_by_short_name_and_can_be_watched() {
    let server = TestServer::start().await;
    let group = format!("{}.example.com", server.namespace);
    let before = Discovery::fetch(&server.client).await.expect("a discovery");
    let in_group = format!("gz.{group}");
    assert!(
        before
            .resolve(&in_group)
            .is_err_and(|error| error.is_unknown_resource())
    );

    timeout(PATIENCE, define_gizmos(&server.client, &group))
        .await
        .expect("an established kind");
    // The real server reports a kind as established shortly before discovery contains it.
    let discovery = timeout(PATIENCE, async {
        loop {
            let discovery = Discovery::fetch(&server.client).await.expect("a discovery");
            if discovery.resolve(&in_group).is_ok() {
                return discovery;
            }
        }
    });
    let discovery = discovery.await.expect("a discovery with gizmos");
    let gizmos = discovery.resource(&group, "v1", "gizmos").expect("gizmos");
    assert_eq!(gizmos.short_names(), ["gz", "gzm"]);
    assert_eq!(gizmos.api_resource().kind, "Gizmo");
    assert!(gizmos.is_namespaced() && gizmos.is_watchable());
    for name in ["gz", "GZM", "gizmo", "gizmos", "Gizmo", "gizmos.v1"] {
        let found = discovery.resolve(&format!("{name}.{group}")).map(full);
        assert_eq!(found.ok(), Some(full(gizmos)), "{name}");
    }
    let alpha = discovery.resolve(&format!("gz.v1alpha1.{group}")).map(full);
    assert_eq!(alpha.ok(), Some(format!("gizmos.v1alpha1.{group}")));

    let kind = gizmos.api_resource().clone();
    let api: Api<DynamicObject> = Api::namespaced_with(server.client.clone(), &server.namespace, &kind);
    let made = api
        .create(&PostParams::default(), &DynamicObject::new("one", &kind))
        .await;
    made.expect("a gizmo");
    let informer = SharedInformer::<DynamicObject>::builder_with(server.client.clone(), kind)
        .namespace(&server.namespace)
        .build();
    informer.start().expect("a first start");
    informer.wait_for_sync(PATIENCE).await.expect("a sync");
    assert_eq!(informer.lister().list(&Selector::everything()).len(), 1);
    informer.shutdown().await;
}
