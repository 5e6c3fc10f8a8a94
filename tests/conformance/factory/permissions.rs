//! Kinds that the account may not list: a clear error, and recovery when permission is granted.

use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::api::rbac::v1::{Role, RoleBinding};
use kube::api::{Api, PostParams};
use kube::client::Body;
use kube::{Client, Resource};
use kube_embedded::{Fault, On};
use kube_informer::SharedInformerFactory;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::json;

use super::{SHORTLY, stopped};
use crate::config_maps::{ConfigMaps, OWN};
use crate::informers::PATIENCE;

/// Returns a client that impersonates an account without permissions.
fn without_permissions(client: Client) -> Client {
    let service = tower::service_fn(move |mut request: http::Request<Body>| {
        let client = client.clone();
        async move {
            let stranger = http::HeaderValue::from_static("stranger");
            request.headers_mut().insert("impersonate-user", stranger);
            client.send(request).await
        }
    });
    Client::new(service, "default")
}

async fn make<K>(maps: &ConfigMaps, object: serde_json::Value)
where
    K: Resource<DynamicType = (), Scope = kube::core::NamespaceResourceScope>,
    K: Clone + std::fmt::Debug + Serialize + DeserializeOwned,
{
    let api: Api<K> = Api::namespaced(maps.server.client.clone(), &maps.server.namespace);
    let object = serde_json::from_value(object).expect("an object of its kind");
    api.create(&PostParams::default(), &object)
        .await
        .expect("an object");
}

/// Lets that account list and watch ConfigMaps.
async fn grant(maps: &ConfigMaps) {
    let role = json!({
        "metadata": { "name": "reader" },
        "rules": [{ "apiGroups": [""], "resources": ["configmaps"], "verbs": ["list", "watch"] }],
    });
    let binding = json!({
        "metadata": { "name": "reader" },
        "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "reader" },
        "subjects": [{ "apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "stranger" }],
    });
    make::<Role>(maps, role).await;
    make::<RoleBinding>(maps, binding).await;
}

#[tokio::test]
async fn forbidden_kind_is_reported_and_recovers_when_permitted() {
    let maps = ConfigMaps::named(["a"]).await;
    // The embedded server has no permissions, so a fault replaces them.
    let fault = maps.server.embedded().map(|server| {
        server
            .faults()
            .add(On::list_or_watch("configmaps"), Fault::forbidden())
    });
    let factory = SharedInformerFactory::builder(without_permissions(maps.server.client.clone()))
        .namespace(&maps.server.namespace)
        .labels(OWN)
        .build();
    let informer = factory.informer::<ConfigMap>();
    factory.start();
    let error = factory.wait_for_sync(SHORTLY).await.expect_err("no right");
    let words = format!("{error:#}");
    assert!(error.is_forbidden(), "{words}");
    assert!(
        words.contains("configmaps in namespace") && words.contains("grant list and watch"),
        "{words}"
    );
    let status = informer.status();
    let asked = status.lists + status.streaming_lists;
    assert!((1..=6).contains(&asked), "{asked} requests in two seconds");

    if let Some(fault) = fault {
        fault.end();
    } else {
        grant(&maps).await;
    }
    factory.wait_for_sync(PATIENCE).await.expect("a sync");
    assert_eq!(informer.lister().len(), 1);
    stopped(&factory).await;
}
