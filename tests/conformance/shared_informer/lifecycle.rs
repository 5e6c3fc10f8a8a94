//! The states of an informer.

use std::pin::pin;
use std::time::Duration;

use conformance::TestServer;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::DynamicObject;
use kube::core::{ApiResource, GroupVersionKind};
use kube_informer::{Error, Event, InformerState, SharedInformer};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::config_maps::ConfigMaps;
use crate::informers::{PATIENCE, caught_up, soon, started, stopped};

#[tokio::test]
async fn state_is_new_then_running_then_stopped() {
    let maps = ConfigMaps::named([]).await;
    let made = maps.create("a", "1").await;
    let informer = maps.informer();
    assert_eq!(informer.state(), InformerState::New);
    assert!(!informer.has_synced() && !informer.is_stopped());
    assert_eq!(informer.resource_version(), None);

    started(&informer).await;
    assert_eq!(informer.state(), InformerState::Running);
    assert!(informer.has_synced());
    let listed = informer.resource_version().expect("a version");
    assert!(!listed.is_before(&made));
    let changed = maps.change("a", "2").await;
    caught_up(&informer, changed.clone()).await;
    assert!(
        informer
            .resource_version()
            .is_some_and(|now| !now.is_before(&changed))
    );

    stopped(&informer).await;
    assert_eq!(informer.state(), InformerState::Stopped);
    // The cache and its sync state can still be read.
    assert!(informer.is_stopped() && informer.has_synced());
    assert_eq!(informer.lister().len(), 1);
    stopped(&informer).await;
}

fn refused<T>(outcome: Result<T, Error>) -> Error {
    match outcome {
        Err(error) => error,
        Ok(_) => panic!("not refused"),
    }
}

#[tokio::test]
async fn second_run_is_rejected() {
    let maps = ConfigMaps::named([]).await;
    let informer = maps.informer();
    let clone = informer.clone();
    started(&informer).await;
    assert!(refused(clone.start()).is_already_started());
    assert!(refused(soon(clone.run(CancellationToken::new())).await).is_already_started());
    // The first informer is not affected.
    let version = maps.create("a", "1").await;
    caught_up(&clone, version).await;
    stopped(&informer).await;
    assert!(refused(informer.start()).is_stopped());
    assert!(refused(soon(clone.run(CancellationToken::new())).await).is_stopped());
}

#[tokio::test]
async fn stopped_informer_accepts_nothing_new() {
    let maps = ConfigMaps::named([]).await;
    let informer = maps.informer();
    started(&informer).await;
    stopped(&informer).await;
    let error = refused(informer.add_handler(|_: Event<ConfigMap>| {}));
    assert!(error.is_stopped());
    let text = error.to_string();
    assert!(text.contains("configmaps") && text.contains("stopped"), "{text}");
    assert!(refused(informer.events()).is_stopped());
    assert!(refused(informer.index("none", |_: &ConfigMap| None::<String>)).is_stopped());
}

#[tokio::test]
async fn run_ends_by_its_token_or_by_shutdown() {
    let maps = ConfigMaps::named(["a"]).await;
    for by_token in [true, false] {
        let informer = maps.informer();
        let stop = CancellationToken::new();
        let run = informer.run(stop.clone());
        let (ran, ()) = soon(async {
            tokio::join!(run, async {
                informer.wait_for_sync(PATIENCE).await.expect("a sync");
                if by_token {
                    stop.cancel();
                } else {
                    informer.shutdown().await;
                }
            })
        })
        .await;
        ran.expect("a run");
        assert!(informer.is_stopped());
    }
}

#[tokio::test]
async fn unstarted_informer_can_be_stopped() {
    let maps = ConfigMaps::named(["a"]).await;
    let informer = maps.informer();
    let mut waiting = pin!(informer.synced());
    assert!(futures::poll!(&mut waiting).is_pending());
    stopped(&informer).await;
    assert!(informer.is_stopped());
    assert!(refused(waiting.await).is_stopped());
    assert!(refused(informer.start()).is_stopped());
}

#[tokio::test]
async fn failed_wait_reports_what_was_awaited_and_why() {
    let server = TestServer::start().await;
    let ghosts = ApiResource::from_gvk(&GroupVersionKind::gvk("nowhere.example.com", "v1", "Ghost"));
    let (sender, mut receiver) = mpsc::unbounded_channel();
    let informer = SharedInformer::<DynamicObject>::builder_with(server.client.clone(), ghosts)
        .watch_error_handler(move |error| drop(sender.send(error.clone())))
        .build();
    informer.start().expect("a start");
    let error = soon(receiver.recv()).await.expect("an error");
    assert!(error.is_not_served() && error.is_not_found(), "{error}");
    let error = refused(informer.wait_for_sync(Duration::ZERO).await);
    assert!(error.is_timeout() && error.is_not_served() && error.is_not_found());
    let text = format!("{error:#}");
    for word in [
        "ghosts.nowhere.example.com",
        "did not sync within",
        "404",
        "does not serve nowhere.example.com/v1 Ghost",
        "is the CustomResourceDefinition ghosts.nowhere.example.com installed?",
    ] {
        assert!(text.contains(word), "{word}: {text}");
    }
    let mut waiting = pin!(informer.wait_for_sync(PATIENCE));
    assert!(futures::poll!(&mut waiting).is_pending());
    stopped(&informer).await;
    let error = refused(soon(waiting).await);
    assert!(
        error.is_stopped() && format!("{error:#}").contains("404"),
        "{error:#}"
    );
    assert!(!informer.has_synced());
}
