//! G. Beyond every peer: reading one's writes, snapshots, protobuf, projection, packing, a server to test against.

mod consistency;
mod custom;
mod deletion;
mod discovery;
mod going_back;
mod kube_api;
mod kube_runtime;
mod lists;
mod metrics;
mod packed_cache;
mod protobuf;
mod pruning;
mod reading_writes;
mod representations;
mod selectors;
mod snapshots;
mod watches;
mod writes;

use std::collections::BTreeMap;

use futures::{StreamExt, TryStreamExt};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, ListParams, ObjectMeta, PostParams, WatchEvent, WatchParams};
use mission::TestServer;

#[tokio::test]
async fn g7_a_server_is_there_to_test_against() -> Result<(), kube::Error> {
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
        other => panic!("the watch began with {other:?}"),
    }
    Ok(())
}
