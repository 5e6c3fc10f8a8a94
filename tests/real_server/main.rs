//! The features of a real server that the other suites rely on.

use std::error::Error;
use std::time::Duration;

use conformance::{RealServer, TestServer};
use futures::{StreamExt, TryStreamExt};
use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use kube::api::{Api, DeleteParams, ListParams, ObjectMeta, PostParams, WatchEvent, WatchParams};
use kube::{Resource, ResourceExt};
use serde::de::DeserializeOwned;

type TestResult<T = ()> = Result<T, Box<dyn Error>>;

#[tokio::test]
#[ignore = "needs a real server: cargo xtask test --real"]
async fn deleted_namespace_disappears() -> TestResult {
    let server = TestServer::start().await;
    server.require_controllers();
    config_maps(&server)
        .create(&PostParams::default(), &named("inside"))
        .await?;

    let namespaces: Api<Namespace> = Api::all(server.client.clone());
    namespaces
        .delete(&server.namespace, &DeleteParams::default())
        .await?;

    until_deleted(&namespaces, &server.namespace).await
}

#[tokio::test]
#[ignore = "needs a real server: cargo xtask test --real"]
async fn dependents_are_deleted_with_their_owner() -> TestResult {
    let server = TestServer::start().await;
    server.require_controllers();
    let config_maps = config_maps(&server);
    let owner = config_maps
        .create(&PostParams::default(), &named("owner"))
        .await?;
    let mut child = named("owned");
    child.metadata.owner_references = owner.owner_ref(&()).map(|reference| vec![reference]);
    config_maps.create(&PostParams::default(), &child).await?;

    config_maps.delete("owner", &DeleteParams::background()).await?;

    until_deleted(&config_maps, "owned").await
}

#[tokio::test]
#[ignore = "needs a real server: cargo xtask test --real"]
async fn kubectl_connects() -> TestResult {
    let server = TestServer::start().await;
    let mut kubectl = real(&server)?.kubectl()?;
    let output = kubectl
        .args(["get", "namespace", &server.namespace, "--output=name"])
        .output()?;
    assert_eq!(
        String::from_utf8(output.stdout)?.trim(),
        format!("namespace/{}", server.namespace)
    );
    Ok(())
}

#[tokio::test]
#[ignore = "needs a real server: cargo xtask test --real"]
async fn compacted_version_is_gone() -> TestResult {
    let server = TestServer::alone().await;
    let config_maps = config_maps(&server);
    let old = config_maps.list(&ListParams::default()).await?;
    config_maps
        .create(&PostParams::default(), &named("later"))
        .await?;

    real(&server)?.forget_history().await?;

    let version = old.metadata.resource_version.ok_or("a list without a version")?;
    let first = config_maps
        .watch(&WatchParams::default().timeout(30), &version)
        .await?
        .boxed()
        .try_next()
        .await?;
    match first {
        Some(WatchEvent::Error(status)) => assert_eq!(status.code, 410, "{status:?}"),
        other => panic!("the watch from a compacted version started with {other:?}"),
    }
    assert_eq!(config_maps.get("later").await?.name_any(), "later");
    Ok(())
}

#[tokio::test]
#[ignore = "needs a real server: cargo xtask test --real"]
async fn killed_server_restarts_with_its_objects() -> TestResult {
    let server = TestServer::alone().await;
    let config_maps = config_maps(&server);
    let before = config_maps.create(&PostParams::default(), &named("kept")).await?;

    real(&server)?.apiserver().kill().await;
    assert!(config_maps.get("kept").await.is_err(), "a killed server answered");

    real(&server)?.apiserver().restart().await?;
    assert_eq!(config_maps.get("kept").await?, before);
    Ok(())
}

#[tokio::test]
#[ignore = "needs a real server: cargo xtask test --real"]
async fn frozen_server_answers_only_after_it_thaws() -> TestResult {
    let server = TestServer::alone().await;
    let config_maps = config_maps(&server);
    config_maps.create(&PostParams::default(), &named("kept")).await?;

    real(&server)?.apiserver().freeze().await?;
    let answer = tokio::time::timeout(Duration::from_millis(500), config_maps.get("kept")).await;
    assert!(answer.is_err(), "a frozen server answered: {answer:?}");

    real(&server)?.apiserver().thaw().await?;
    assert_eq!(config_maps.get("kept").await?.name_any(), "kept");
    Ok(())
}

fn real(server: &TestServer) -> TestResult<&RealServer> {
    server
        .real()
        .ok_or_else(|| "KUBE_INFORMER_TEST_SERVER is not `real`".into())
}

fn config_maps(server: &TestServer) -> Api<ConfigMap> {
    Api::namespaced(server.client.clone(), &server.namespace)
}

fn named(name: &str) -> ConfigMap {
    ConfigMap {
        metadata: ObjectMeta {
            name: Some(name.into()),
            ..ObjectMeta::default()
        },
        ..ConfigMap::default()
    }
}

/// Waits until the object is deleted, for at most a minute.
async fn until_deleted<K>(api: &Api<K>, name: &str) -> TestResult
where
    K: Resource + Clone + DeserializeOwned + std::fmt::Debug,
{
    let only = format!("metadata.name={name}");
    let listed = api.list(&ListParams::default().fields(&only)).await?;
    if listed.items.is_empty() {
        return Ok(());
    }
    let version = listed
        .metadata
        .resource_version
        .ok_or("a list without a version")?;
    let mut events = api
        .watch(&WatchParams::default().fields(&only).timeout(60), &version)
        .await?
        .boxed();
    while let Some(event) = events.try_next().await? {
        if matches!(event, WatchEvent::Deleted(_)) {
            return Ok(());
        }
    }
    Err(format!("{name} was not deleted within a minute").into())
}
