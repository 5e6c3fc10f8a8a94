//! Concurrent clients: allocations are unique, and no write is lost.

use std::collections::BTreeSet;

use k8s_openapi::api::core::v1::{ConfigMap, Service};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{ListParams, Patch, PatchParams, PostParams};
use kube::{Api, Client, ResourceExt as _};
use kube_embedded::Server;
use serde_json::json;
use tokio::task::JoinSet;

async fn concurrently<F>(count: usize, make: impl Fn(usize) -> F)
where
    F: Future<Output = Result<(), kube::Error>> + Send + 'static,
{
    let mut tasks: JoinSet<_> = (0..count).map(make).collect();
    while let Some(done) = tasks.join_next().await {
        done.expect("no panic").expect("no failure");
    }
}

fn decoded<T: serde::de::DeserializeOwned>(value: serde_json::Value) -> T {
    serde_json::from_value(value).expect("an object")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn services_have_different_addresses_and_ports() {
    let server = Server::start().await.expect("a server");
    let client = server.direct_client();
    concurrently(200, |n| {
        let services: Api<Service> = Api::namespaced(client.clone(), "default");
        async move {
            let service = decoded(json!({
                "metadata": { "name": format!("s{n}") },
                "spec": { "type": "NodePort", "ports": [{ "port": 80 }] },
            }));
            services.create(&PostParams::default(), &service).await.map(drop)
        }
    })
    .await;
    let all = Api::<Service>::namespaced(client, "default")
        .list(&ListParams::default())
        .await
        .expect("a list");
    let addresses: BTreeSet<_> = all
        .iter()
        .filter_map(|s| s.spec.as_ref()?.cluster_ip.clone())
        .collect();
    let ports: BTreeSet<_> = all
        .iter()
        .filter_map(|s| s.spec.as_ref()?.ports.as_ref()?.first()?.node_port)
        .collect();
    // The server's own service has an address, but no node port.
    assert_eq!((addresses.len(), ports.len()), (201, 200));
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn every_custom_kind_is_served() {
    let server = Server::start().await.expect("a server");
    let client = server.direct_client();
    concurrently(60, |n| {
        let definitions: Api<CustomResourceDefinition> = Api::all(client.clone());
        async move {
            let definition = decoded(json!({
                "metadata": { "name": format!("things.g{n}.example.com") },
                "spec": {
                    "group": format!("g{n}.example.com"), "scope": "Cluster",
                    "names": { "plural": "things", "kind": "Thing" },
                    "versions": [{ "name": "v1", "served": true, "storage": true, "schema": { "openAPIV3Schema": {
                        "type": "object", "x-kubernetes-preserve-unknown-fields": true,
                    } } }],
                },
            }));
            definitions.create(&PostParams::default(), &definition).await?;
            let established = kube::runtime::conditions::is_crd_established();
            let name = definition.name_any();
            let waited = kube::runtime::wait::await_condition(definitions, &name, established).await;
            waited.expect("it is established");
            Ok(())
        }
    })
    .await;
    for n in 0..60 {
        let served = client
            .list_api_group_resources(&format!("g{n}.example.com/v1"))
            .await;
        assert_eq!(served.expect("it is served").resources[0].name, "things");
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn no_change_of_an_object_is_lost() {
    let server = Server::start().await.expect("a server");
    let client: Client = server.client().expect("a client");
    let maps: Api<ConfigMap> = Api::namespaced(client, "default");
    maps.create(
        &PostParams::default(),
        &decoded(json!({ "metadata": { "name": "a" } })),
    )
    .await
    .expect("created");
    concurrently(100, |n| {
        let maps = maps.clone();
        async move {
            let patch = json!({ "data": { format!("k{n}"): "v" } });
            maps.patch("a", &PatchParams::default(), &Patch::Merge(&patch))
                .await
                .map(drop)
        }
    })
    .await;
    let map = maps.get("a").await.expect("the object");
    assert_eq!(map.data.map(|d| d.len()), Some(100));
    server.stop().await;
}
