//! Informers of every kind of object: typed, dynamic, metadata only, custom, cluster-scoped.

use std::fmt::Debug;

use conformance::TestServer;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::api::rbac::v1::ClusterRole;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Api, DeleteParams, DynamicObject, Patch, PatchParams, PostParams};
use kube::core::{ApiResource, GroupVersionKind, PartialObjectMeta};
use kube::runtime::wait::{await_condition, conditions};
use kube::{CustomResource, CustomResourceExt, Resource};
use kube_informer::{Kind, SharedInformer};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::config_maps::version_of;
use crate::informers::{SHORT_BACKOFF, caught_up, recording_handler, soon, started, stopped};

fn decoded<K: DeserializeOwned>(object: Value) -> K {
    serde_json::from_value(object).expect("an object of its kind")
}

fn pod(name: &str) -> Value {
    json!({
        "metadata": { "name": name },
        "spec": { "containers": [{ "name": "main", "image": "example.com/image" }] },
    })
}

/// Creates, changes and deletes an object; a handler receives each event, and the cache contains the object
/// in between.
async fn follows_an_object<A, K>(api: Api<A>, informer: SharedInformer<K>, object: A)
where
    A: Resource + Clone + Debug + Serialize + DeserializeOwned,
    K: Kind,
{
    let name = object.meta().name.clone().expect("a name");
    let (handler, mut received) = recording_handler();
    informer.add_handler(handler).expect("a handler");
    started(&informer).await;
    assert!(informer.lister().is_empty());

    let made = api
        .create(&PostParams::default(), &object)
        .await
        .expect("an object");
    caught_up(&informer, version_of(&made)).await;
    let added = received.next().await;
    assert_eq!(*added.object().version(), version_of(&made));
    let key = added.key().clone();
    assert_eq!(key.namespace(), made.meta().namespace.as_deref());
    let cached = informer.lister().get_key(&key).expect("the object");
    assert_eq!(cached.meta().uid, made.meta().uid);

    let patch = Patch::Merge(json!({ "metadata": { "annotations": { "changed": "yes" } } }));
    let changed = api.patch(&name, &PatchParams::default(), &patch).await;
    let changed = changed.expect("an object");
    let updated = received.next().await;
    assert_eq!(*updated.object().version(), version_of(&changed));
    assert_eq!(updated.object().meta().annotations, changed.meta().annotations);

    api.delete(&name, &DeleteParams::default().grace_period(0))
        .await
        .expect("a deletion");
    // A pod is terminating before it is deleted. Whether there is an event for that depends on the speed of
    // the deletion.
    let words = received.until(&format!("-{name}")).await;
    assert!(words.len() <= 2, "{words:?}");
    assert!(
        informer
            .lister()
            .get_key(&key)
            .is_err_and(|error| error.is_not_found())
    );
    stopped(&informer).await;
}

#[tokio::test]
async fn typed_kind() {
    let server = TestServer::start().await;
    let api: Api<Deployment> = Api::namespaced(server.client.clone(), &server.namespace);
    let informer = SharedInformer::builder(server.client.clone()).namespace(&server.namespace);
    let deployment = json!({
        "metadata": { "name": "web" },
        "spec": {
            "selector": { "matchLabels": { "app": "web" } },
            "template": { "metadata": { "labels": { "app": "web" } }, "spec": pod("web")["spec"] },
        },
    });
    follows_an_object::<Deployment, Deployment>(api, informer.build(), decoded(deployment)).await;
}

#[tokio::test]
async fn kind_known_at_run_time() {
    let server = TestServer::start().await;
    let pods = ApiResource::from_gvk(&GroupVersionKind::gvk("", "v1", "Pod"));
    let api: Api<DynamicObject> = Api::namespaced_with(server.client.clone(), &server.namespace, &pods);
    let informer = SharedInformer::<DynamicObject>::builder_with(server.client.clone(), pods.clone());
    let informer = informer.namespace(&server.namespace).build();
    let mut object = DynamicObject::new("web", &pods);
    object.data = json!({ "spec": pod("web")["spec"] });
    follows_an_object(api, informer, object).await;
}

#[tokio::test]
async fn metadata_only() {
    let server = TestServer::start().await;
    let api: Api<Pod> = Api::namespaced(server.client.clone(), &server.namespace);
    let informer = SharedInformer::<PartialObjectMeta<Pod>>::builder(server.client.clone());
    follows_an_object(
        api,
        informer.namespace(&server.namespace).build(),
        decoded(pod("web")),
    )
    .await;
}

#[derive(CustomResource, Deserialize, Serialize, Clone, Debug, JsonSchema)]
#[kube(group = "b1.example.com", version = "v1", kind = "Ship", namespaced)]
struct ShipSpec {
    masts: u32,
}

#[tokio::test]
async fn derived_custom_kind() {
    let server = TestServer::start().await;
    let definitions: Api<CustomResourceDefinition> = Api::all(server.client.clone());
    definitions
        .create(&PostParams::default(), &Ship::crd())
        .await
        .expect("a definition");
    let name = Ship::crd().metadata.name.unwrap_or_default();
    soon(await_condition(
        definitions,
        &name,
        conditions::is_crd_established(),
    ))
    .await
    .expect("an established kind");
    let api: Api<Ship> = Api::namespaced(server.client.clone(), &server.namespace);
    // The real server reports a kind as established shortly before it serves it: the informer waits for that.
    let informer = SharedInformer::<Ship>::builder(server.client.clone()).backoff(SHORT_BACKOFF);
    let informer = informer.namespace(&server.namespace).build();
    follows_an_object(api, informer, Ship::new("beagle", ShipSpec { masts: 3 })).await;
}

#[tokio::test]
async fn cluster_scoped_kind() {
    let server = TestServer::start().await;
    let api: Api<ClusterRole> = Api::all(server.client.clone());
    let label = format!("of={}", server.namespace);
    let informer = SharedInformer::builder(server.client.clone()).labels(label);
    let role = json!({ "metadata": { "name": &server.namespace, "labels": { "of": &server.namespace } }, "rules": [] });
    follows_an_object::<ClusterRole, ClusterRole>(api, informer.build(), decoded(role)).await;
}
