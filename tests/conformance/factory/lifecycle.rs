//! Start, repeated and late; shutdown, repeated and complete.

use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube_informer::{CancellationToken, InformerState};
use tokio::runtime::Handle;

use super::{factory, started, stopped};
use crate::config_maps::ConfigMaps;
use crate::informers::{PATIENCE, soon};

#[tokio::test]
async fn second_start_starts_only_new_informers() {
    let maps = ConfigMaps::named(["a"]).await;
    let factory = factory(&maps).build();
    let first = factory.informer::<ConfigMap>();
    factory.start();
    factory.start();
    factory.wait_for_sync(PATIENCE).await.expect("a sync");
    let requests = first.status().streaming_lists + first.status().lists;

    let late = factory.informer::<Secret>();
    assert_eq!(
        late.state(),
        InformerState::New,
        "informers do not start by themselves"
    );
    assert!(!factory.has_synced());
    factory
        .wait_for_sync(PATIENCE)
        .await
        .expect("all started informers have synced");
    factory.start();
    factory.wait_for_sync(PATIENCE).await.expect("a sync");
    assert!(late.has_synced() && factory.has_synced());
    let status = first.status();
    assert_eq!(
        status.streaming_lists + status.lists,
        requests,
        "it is not started again"
    );
    stopped(&factory).await;
}

#[tokio::test]
async fn informer_can_be_started_on_its_own() {
    let maps = ConfigMaps::named(["a"]).await;
    let factory = factory(&maps).build();
    let informer = factory.informer::<ConfigMap>();
    informer.start().expect("a start");
    started(&factory).await;
    assert_eq!(informer.lister().len(), 1);
    stopped(&factory).await;
    assert!(informer.is_stopped());
}

#[tokio::test]
async fn nothing_starts_after_shutdown() {
    let maps = ConfigMaps::named(["a"]).await;
    let factory = factory(&maps).build();
    let informer = factory.informer::<ConfigMap>();
    started(&factory).await;
    stopped(&factory).await;
    let late = factory.informer::<Secret>();
    factory.start();
    assert_eq!(
        (informer.state(), late.state()),
        (InformerState::Stopped, InformerState::New)
    );
    assert_eq!(informer.lister().len(), 1, "the cache can still be read");
}

#[tokio::test]
async fn shutdown_leaves_no_task_and_is_idempotent() {
    let maps = ConfigMaps::named(["a"]).await;
    let tasks = Handle::current().metrics().num_alive_tasks();
    let factory = factory(&maps).build();
    let maps_informer = factory.informer::<ConfigMap>();
    maps_informer.add_handler(|_| {}).expect("a handler");
    maps_informer.add_async_handler(|_| async {}).expect("a handler");
    let _metadata = factory.metadata::<ConfigMap>();
    started(&factory).await;
    let never_started = factory.informer::<Secret>();
    assert!(Handle::current().metrics().num_alive_tasks() > tasks);
    soon(async { tokio::join!(factory.shutdown(), factory.shutdown()) }).await;
    stopped(&factory).await;
    assert!(maps_informer.is_stopped() && never_started.is_stopped());
    // Connections of the client are closed by the client, after some time.
    soon(async {
        while Handle::current().metrics().num_alive_tasks() > tasks {
            tokio::task::yield_now().await;
        }
    })
    .await;
}

#[tokio::test]
async fn run_ends_when_its_token_is_cancelled() {
    let maps = ConfigMaps::named(["a"]).await;
    let factory = factory(&maps).build();
    let informer = factory.informer::<ConfigMap>();
    let stop = CancellationToken::new();
    let running = tokio::spawn({
        let (factory, stop) = (factory.clone(), stop.clone());
        async move { factory.run(stop).await }
    });
    informer.wait_for_sync(PATIENCE).await.expect("a sync");
    stop.cancel();
    soon(running).await.expect("an end");
    assert!(informer.is_stopped());
}

#[tokio::test]
async fn a_dropped_run_stops_the_informers() {
    let maps = ConfigMaps::named(["a"]).await;
    let factory = factory(&maps).build();
    let informer = factory.informer::<ConfigMap>();
    let running = tokio::spawn({
        let factory = factory.clone();
        async move { factory.run(CancellationToken::new()).await }
    });
    informer.wait_for_sync(PATIENCE).await.expect("a sync");
    running.abort();
    let ended = informer.wait_for_version(u64::MAX.to_string(), PATIENCE).await;
    assert!(ended.expect_err("an end").is_stopped());
}
