//! The clients of a server.

use std::collections::BTreeMap;
use std::pin::pin;

use futures::TryStreamExt as _;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{
    Api, DeleteParams, ListParams, ObjectMeta, Patch, PatchParams, PostParams, WatchEvent, WatchParams,
};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config, ResourceExt as _};
use kube_embedded::{Fault, On, Server};
use serde_json::json;

/// Returns a client over HTTPS that does not retry.
fn https(server: &Server) -> Client {
    let mut config = server.client_config();
    config.default_retry = false;
    Client::try_from(config).expect("a client")
}

fn http(server: &Server) -> Client {
    let mut config = Config::new(server.http_url().parse().expect("a URL"));
    config.default_retry = false;
    Client::try_from(config).expect("a client")
}

/// Returns clients over HTTPS, over HTTP, and without a socket.
pub(crate) fn clients(server: &Server) -> [(&'static str, Client); 3] {
    [
        ("https", https(server)),
        ("http", http(server)),
        ("direct", server.direct_client()),
    ]
}

pub(crate) fn config_map(name: &str, value: &str) -> ConfigMap {
    ConfigMap {
        metadata: ObjectMeta {
            name: Some(name.into()),
            ..ObjectMeta::default()
        },
        data: Some(BTreeMap::from([("value".into(), value.into())])),
        ..ConfigMap::default()
    }
}

#[tokio::test]
async fn all_clients_get_the_same_objects() -> Result<(), kube::Error> {
    let server = Server::start().await.expect("a server");
    for (way, client) in clients(&server) {
        let api: Api<ConfigMap> = Api::default_namespaced(client);
        let from = api
            .list(&ListParams::default())
            .await?
            .metadata
            .resource_version
            .unwrap_or_default();
        let mut events = pin!(api.watch(&WatchParams::default(), &from).await?);
        let made = api.create(&PostParams::default(), &config_map(way, "1")).await?;
        assert_eq!(api.get(way).await?, made);
        let patch = Patch::Merge(json!({ "data": { "value": "2" } }));
        api.patch(way, &PatchParams::default(), &patch).await?;
        api.delete(way, &DeleteParams::default()).await?;
        for expected in ["added", "modified", "deleted"] {
            let (seen, object) = match events.try_next().await? {
                Some(WatchEvent::Added(object)) => ("added", object),
                Some(WatchEvent::Modified(object)) => ("modified", object),
                Some(WatchEvent::Deleted(object)) => ("deleted", object),
                other => panic!("{way}: {other:?}"),
            };
            assert_eq!((seen, object.name_any()), (expected, way.to_owned()));
        }
        let seen = server.requests().pop().expect("a request");
        assert_eq!(seen.connection == 0, way == "direct", "{way}");
    }
    Ok(())
}

#[tokio::test]
async fn a_kubeconfig_connects_to_the_server() {
    let server = Server::start().await.expect("a server");
    let kubeconfig = Kubeconfig::from_yaml(&server.kubeconfig()).expect("a kubeconfig");
    let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default())
        .await
        .expect("a config");
    assert_eq!(config.default_namespace, "default");
    let client = Client::try_from(config).expect("a client");
    assert_eq!(
        client.apiserver_version().await.expect("a version").git_version,
        kube_embedded::KUBERNETES_VERSION
    );
}

#[tokio::test]
async fn the_default_client_retries() {
    let server = Server::start().await.expect("a server");
    let rule = server
        .faults()
        .add(On::list("configmaps").times(2), Fault::too_many_requests(0));
    let api: Api<ConfigMap> = Api::default_namespaced(server.client().expect("a client"));
    api.list(&ListParams::default())
        .await
        .expect("a list after retries");
    assert_eq!((rule.hits(), server.requests().len()), (2, 3));
}

#[tokio::test]
async fn failures_are_errors_of_kube() {
    let server = Server::start().await.expect("a server");
    for (way, client) in clients(&server) {
        let api: Api<ConfigMap> = Api::default_namespaced(client);
        server.faults().script(
            On::list("configmaps"),
            [Fault::too_many_requests(3), Fault::Drop, Fault::BrokenJson(0)],
        );
        match api.list(&ListParams::default()).await {
            Err(kube::Error::Api(status)) => {
                assert_eq!((status.code, status.reason.as_str()), (429, "TooManyRequests"));
                assert_eq!(status.details.map(|d| d.retry_after_seconds), Some(3));
            }
            other => panic!("{way}: {other:?}"),
        }
        let dropped = api.list(&ListParams::default()).await;
        assert!(
            matches!(dropped, Err(kube::Error::Service(_) | kube::Error::HyperError(_))),
            "{way}: {dropped:?}"
        );
        let broken = api.list(&ListParams::default()).await;
        assert!(
            matches!(broken, Err(kube::Error::SerdeError(_))),
            "{way}: {broken:?}"
        );
    }
}
