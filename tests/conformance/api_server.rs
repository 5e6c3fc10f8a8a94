//! The API: the embedded server and a real one behave the same for every client.

mod admission_policies;
mod authorization;
mod custom;
mod deletion;
mod discovery;
mod kube_api;
mod kube_runtime;
mod lists;
mod representations;
mod selectors;
mod watches;
mod writes;

use std::collections::BTreeMap;

use conformance::TestServer;
use futures::{StreamExt, TryStreamExt};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, ListParams, ObjectMeta, PostParams, WatchEvent, WatchParams};

#[tokio::test]
async fn server_creates_lists_and_watches_objects() -> Result<(), kube::Error> {
    let server = TestServer::start().await;
    let config_maps: Api<ConfigMap> = Api::namespaced(server.client.clone(), &server.namespace);
    let before = config_maps
        .list(&ListParams::default())
        .await?
        .metadata
        .resource_version;

    let written = ConfigMap {
        metadata: ObjectMeta {
            name: Some("greeting".into()),
            ..ObjectMeta::default()
        },
        data: Some(BTreeMap::from([("hello".into(), "world".into())])),
        ..ConfigMap::default()
    };
    let created = config_maps.create(&PostParams::default(), &written).await?;
    assert_eq!(config_maps.get("greeting").await?, created);
    assert_eq!(created.data, written.data);

    let from = before.unwrap_or_default();
    let mut events = config_maps
        .watch(&WatchParams::default().timeout(30), &from)
        .await?
        .boxed();
    let first = events.try_next().await?;
    match first {
        Some(WatchEvent::Added(seen)) => assert_eq!(seen, created),
        other => panic!("the watch started with {other:?}"),
    }
    Ok(())
}
