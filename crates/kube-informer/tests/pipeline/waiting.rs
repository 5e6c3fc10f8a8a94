//! Waiting for the first list, for a version, and through a restored backup.

use std::time::Duration;

use futures::FutureExt;
use k8s_openapi::api::core::v1::ConfigMap;
use kube_informer::{
    Backoff, Error, Event, InformerState, ResourceVersion, error::StatusError, snapshot_all,
};
use tokio::time::{Instant, sleep, timeout};

use crate::recording::{LONG, check_final_state, recorder};
use crate::scripted::Server;

const SECOND: Duration = Duration::from_secs(1);

fn forbidden() -> Error {
    Error::status(StatusError {
        code: 403,
        reason: "Forbidden".to_owned(),
        message: "no such luck".to_owned(),
        ..StatusError::default()
    })
}

/// Contract 8: the error contains the kind, the timeout and the cause.
#[tokio::test(start_paused = true)]
async fn contract_8_a_failed_sync_reports_the_reason() {
    let server = Server::new();
    server.fail_lists(Some(forbidden()));
    let informer = server.informer();
    informer.start().unwrap();
    let start = Instant::now();
    let error = informer.wait_for_sync(10 * SECOND).await.unwrap_err();
    assert_eq!(start.elapsed().as_secs(), 10);
    assert!(error.is_timeout() && error.is_forbidden() && !error.is_stopped());
    let text = format!("{error:#}");
    for part in ["configmaps", "10s", "403", "no such luck"] {
        assert!(text.contains(part), "{text}");
    }
    assert!(!informer.has_synced());
    assert_eq!(
        informer.status().last_error.unwrap().to_string(),
        std::error::Error::source(&error).unwrap().to_string()
    );

    server.fail_lists(None);
    informer.wait_for_sync(LONG).await.expect("it keeps retrying");
    informer.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn a_timeout_without_a_request_reports_that_no_error_was_seen() {
    let informer = Server::new().informer();
    let error = informer.wait_for_sync(SECOND).await.unwrap_err();
    assert!(error.is_timeout());
    assert!(error.to_string().contains("no errors were reported"), "{error}");
}

#[tokio::test]
async fn a_stop_ends_all_waits() {
    let server = Server::new();
    server.answer_lists(false);
    let informer = server.informer();
    informer.start().unwrap();
    let waits = {
        let [a, b, c] = [(); 3].map(|()| informer.clone());
        tokio::spawn(
            async move { tokio::join!(a.wait_for_sync(LONG), b.synced(), c.wait_for_version("7", LONG)) },
        )
    };
    tokio::task::yield_now().await;
    informer.shutdown().await;
    let (sync, synced, version) = timeout(LONG, waits).await.unwrap().unwrap();
    for result in [sync, synced, version] {
        let error = result.unwrap_err();
        assert!(
            error.is_stopped() && error.to_string().contains("configmaps"),
            "{error}"
        );
    }
    assert!(
        informer
            .wait_for_sync(LONG)
            .now_or_never()
            .unwrap()
            .unwrap_err()
            .is_stopped()
    );
}

#[tokio::test(start_paused = true)]
async fn a_version_can_be_waited_for() {
    let server = Server::with(&["a/n"]);
    let informer = server.informer();
    let early = {
        let informer = informer.clone();
        tokio::spawn(async move { informer.wait_for_version("2", LONG).await })
    };
    tokio::task::yield_now().await;
    assert!(!early.is_finished(), "before the first list");
    informer.start().unwrap();
    early.await.unwrap().unwrap();

    let version = server.put("a/n", "changed");
    informer.wait_for_version(version, LONG).await.unwrap();
    assert_eq!(
        informer
            .lister()
            .namespace("a")
            .get("n")
            .unwrap()
            .metadata
            .resource_version
            .as_deref(),
        Some("3")
    );
    informer
        .wait_for_version("1", LONG)
        .now_or_never()
        .expect("long reached")
        .unwrap();
    let version = server.delete("a/n");
    informer.wait_for_version(version, LONG).await.unwrap();
    assert!(informer.lister().is_empty());
    let version = server.bookmark();
    informer.wait_for_version(version.clone(), LONG).await.unwrap();
    assert_eq!(informer.resource_version(), Some(version));

    let start = Instant::now();
    let error = informer.wait_for_version("1000", 5 * SECOND).await.unwrap_err();
    assert_eq!(start.elapsed().as_secs(), 5);
    assert!(error.is_timeout());
    assert_eq!(
        error.to_string(),
        "configmaps: version 1000 not reached within 5s: the cache is at version 5"
    );

    let waiting = {
        let informer = informer.clone();
        tokio::spawn(async move { informer.wait_for_version("1000", LONG).await })
    };
    tokio::task::yield_now().await;
    informer.shutdown().await;
    assert!(waiting.await.unwrap().unwrap_err().is_stopped());
    informer
        .wait_for_version("5", LONG)
        .await
        .expect("a version stays reached");
}

/// Contract 12: an infinite timeout is supported.
#[tokio::test(start_paused = true)]
async fn contract_12_an_infinite_timeout_is_supported() {
    let server = Server::with(&["a/n"]);
    let informer = server.informer();
    let registration = informer.add_handler(|_: Event<ConfigMap>| {}).unwrap();
    informer.start().unwrap();
    informer.wait_for_sync(Duration::MAX).await.unwrap();
    registration.wait_for_sync(Duration::MAX).await.unwrap();
    let version = server.put("a/n", "changed");
    informer.wait_for_version(version, Duration::MAX).await.unwrap();
    let written = informer.lister().namespace("a").get("n").unwrap();
    informer.wait_for_write(&*written, Duration::MAX).await.unwrap();
    informer.shutdown().await;
}

/// Contract 12: delays of any length are supported, and end with the informer.
#[tokio::test(start_paused = true)]
async fn contract_12_infinite_delays_between_requests_are_supported() {
    let server = Server::new();
    server.fail_lists(Some(forbidden()));
    let for_ever = Backoff {
        initial: Duration::MAX,
        cap: Duration::MAX,
        reset: Duration::MAX,
        ..Backoff::default()
    };
    let builder = server.builder().watch_timeout(Duration::MAX);
    let informer = builder.backoff(for_ever).build();
    informer.start().unwrap();
    sleep(24 * 3_600 * SECOND).await;
    assert_eq!((informer.state(), server.lists()), (InformerState::Running, 1));
    let next = informer.status().next_attempt_in.expect("it waits");
    assert!(next > 300 * 24 * 3_600 * SECOND, "{next:?}");
    timeout(LONG, informer.shutdown()).await.unwrap();
}

#[tokio::test]
async fn a_version_without_an_order_is_rejected() {
    let server = Server::new();
    let informer = server.informer();
    for started in [false, true] {
        for version in ["", "0", "abc", "007"] {
            let error = informer.wait_for_version(version, LONG).await.unwrap_err();
            assert!(error.is_not_comparable(), "{error}");
        }
        if !started {
            informer.start().unwrap();
            informer.wait_for_sync(LONG).await.unwrap();
        }
    }
    informer.shutdown().await;
}

/// Contract 2: a server that went back is reported, and histories stay valid.
#[tokio::test(start_paused = true)]
async fn contract_2_a_restored_backup_is_reported_and_followed() {
    let server = Server::with(&["a/n0", "a/n1", "a/n2"]);
    let (sender, mut errors) = tokio::sync::mpsc::unbounded_channel();
    let informer = server
        .builder()
        .watch_error_handler(move |error| drop(sender.send(error.clone())))
        .build();
    let (handler, mut recording) = recorder();
    informer.add_handler(handler).unwrap();
    informer.start().unwrap();
    let before = recording.some(3).await;
    assert_eq!(before.len(), 3);
    for _ in 0..20 {
        server.put("a/n2", "changed");
    }
    informer.wait_for_version("24", LONG).await.unwrap();

    server.restore(10, &["a/n1", "a/n3"]);
    let mut went_back = errors.recv().await.unwrap();
    while !went_back.is_going_back() {
        went_back = errors.recv().await.unwrap();
    }
    let text = went_back.to_string();
    assert!(text.contains("went back from 24 to 10"), "{text}");
    sleep(10 * SECOND).await;
    assert_eq!(informer.resource_version(), Some(ResourceVersion::from(10)));
    assert!(informer.status().went_back > 0);
    let keys: Vec<_> = informer
        .snapshot()
        .iter()
        .map(|object| object.key().clone())
        .collect();
    assert_eq!(keys.len(), 2);

    server.put("a/n4", "");
    informer.wait_for_version("11", LONG).await.unwrap();
    informer.shutdown().await;
    // The initial events were taken above; the others must continue from them.
    let rest = recording.rest().await;
    assert_eq!(rest.last().unwrap().key().as_str(), "a/n4");
    assert_eq!(informer.lister().len(), 3);
}

/// The complete history through a restored backup.
#[tokio::test(start_paused = true)]
async fn contract_3_a_history_survives_a_restored_backup() {
    let server = Server::with(&["a/n0", "a/n1", "a/n2"]);
    let informer = server.informer();
    let (handler, mut recording) = recorder();
    informer.add_handler(handler).unwrap();
    informer.start().unwrap();
    informer.wait_for_sync(LONG).await.unwrap();
    server.put("a/n2", "changed");
    informer.wait_for_version("5", LONG).await.unwrap();
    server.restore(4, &["a/n1", "a/n3"]);
    sleep(60 * SECOND).await;
    informer.shutdown().await;
    check_final_state(&recording.rest().await, &informer);
}

#[tokio::test]
async fn snapshots_of_two_informers_can_be_taken_together() {
    let (some, more) = (Server::with(&["a/n0"]), Server::with(&["a/n0", "a/n1"]));
    let (first, second) = (some.informer(), more.informer());
    for informer in [&first, &second] {
        informer.start().unwrap();
        informer.wait_for_sync(LONG).await.unwrap();
    }
    let (a, b) = snapshot_all((&first.lister(), &second.lister()));
    assert_eq!((a.len(), b.len()), (1, 2));
    some.put("a/n9", "");
    first.wait_for_version(some.version(), LONG).await.unwrap();
    assert_eq!(a.len(), 1, "a snapshot stays as it is");
    let (a, b, again) = snapshot_all((&first.lister(), &second.lister(), &first.lister()));
    assert_eq!((a.len(), b.len(), again.len()), (2, 2, 2));
    for informer in [&first, &second] {
        informer.shutdown().await;
    }
}

#[tokio::test]
async fn the_status_contains_the_current_state() {
    let server = Server::with(&["a/n"]);
    let informer = server.informer();
    assert!(informer.status().version.is_none());
    informer.start().unwrap();
    informer.wait_for_sync(LONG).await.unwrap();
    let _events = informer.events().unwrap();
    let status = informer.status();
    assert!(status.has_synced);
    assert_eq!(
        (
            status.objects,
            status.queued,
            status.lists,
            status.streaming_lists
        ),
        (1, 0, 1, 0)
    );
    assert_eq!(
        (status.errors, status.went_back, status.handlers.len()),
        (0, 0, 1)
    );
    assert_eq!(status.version, Some(server.version()));
    informer.shutdown().await;
}
