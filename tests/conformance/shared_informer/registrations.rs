//! Registrations: sync, and removal of handlers.

use std::pin::pin;
use std::sync::mpsc as blocking;

use k8s_openapi::api::core::v1::ConfigMap;
use kube_informer::{Event, HandlerOptions, Registration};
use tokio::sync::{mpsc, oneshot};

use crate::config_maps::ConfigMaps;
use crate::informers::{caught_up, event_word, recording_handler, soon, started, stopped};

#[tokio::test]
async fn registration_syncs_after_its_handler_handled_all_initial_objects() {
    let maps = ConfigMaps::named(["a", "b", "c"]).await;
    let informer = maps.informer();
    let (release, held) = blocking::channel::<()>();
    let (sender, mut receiver) = mpsc::unbounded_channel();
    let slow = move |event: Event<ConfigMap>| {
        drop(sender.send(event_word(&event)));
        let _ = held.recv();
    };
    let slow = informer.add_handler(slow).expect("a handler");
    let (handler, mut received) = recording_handler();
    let quick = informer.add_handler(handler).expect("a handler");
    assert!(!quick.has_synced());
    started(&informer).await;

    soon(quick.synced()).await.expect("a sync");
    assert!(quick.has_synced());
    assert_eq!(received.rest().len(), 3);
    // The informer has synced, but not this handler: it is still in its first event.
    soon(receiver.recv()).await.expect("a first object");
    assert!(!slow.has_synced());
    let mut waiting = pin!(slow.synced());
    assert!(futures::poll!(&mut waiting).is_pending());
    assert_eq!(slow.backlog(), 2);
    for _ in 0..2 {
        release.send(()).expect("a handler");
        soon(receiver.recv()).await.expect("the next object");
        assert!(!slow.has_synced(), "the last object is being handled");
    }
    release.send(()).expect("a handler");
    soon(waiting).await.expect("a sync");
    assert!(slow.has_synced());
    stopped(&informer).await;
}

#[tokio::test]
async fn registration_syncs_with_an_empty_cache() {
    let maps = ConfigMaps::named([]).await;
    let informer = maps.informer();
    let (handler, _heard) = recording_handler();
    let registration = informer.add_handler(handler).expect("a handler");
    started(&informer).await;
    soon(registration.synced()).await.expect("a sync");
    let (handler, _heard) = recording_handler();
    let late = informer.add_handler(handler).expect("a handler");
    soon(late.synced()).await.expect("a sync");
    stopped(&informer).await;
}

#[tokio::test]
async fn wait_ends_when_the_handler_can_no_longer_sync() {
    let maps = ConfigMaps::named(["a"]).await;
    let informer = maps.informer();
    let (handler, _heard) = recording_handler();
    let removed = informer.add_handler(handler).expect("a handler");
    let (handler, _heard) = recording_handler();
    let stopped = informer.add_handler(handler).expect("a handler");
    let (first, second, ()) = soon(async {
        tokio::join!(removed.synced(), stopped.synced(), async {
            removed.remove();
            informer.shutdown().await;
        })
    })
    .await;
    assert!(first.is_err_and(|error| error.is_stopped()));
    assert!(second.is_err_and(|error| error.is_stopped()));
}

#[tokio::test]
async fn removed_handler_receives_no_more_events() {
    let maps = ConfigMaps::named([]).await;
    let informer = maps.informer();
    let (handler, mut received) = recording_handler();
    let registration = informer.add_handler(handler).expect("a handler");
    let (handler, mut others) = recording_handler();
    informer.add_handler(handler).expect("a handler");
    started(&informer).await;
    maps.create("a", "1").await;
    assert_eq!(received.word().await, "+a");
    // Removal can be repeated, from anywhere.
    registration.remove();
    soon(registration.remove_and_wait()).await;
    registration.clone().remove();
    soon(registration.remove_and_wait()).await;
    assert_eq!(informer.registrations().len(), 1);
    maps.create("b", "1").await;
    assert_eq!(others.until("+b").await, ["+a", "+b"]);
    assert_eq!(received.rest(), [""; 0]);
    stopped(&informer).await;
    soon(registration.remove_and_wait()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn threads_can_remove_handlers_concurrently() {
    let maps = ConfigMaps::named(["a"]).await;
    let informer = maps.informer();
    let registrations: Vec<Registration> = (0..8)
        .map(|_| informer.add_handler(|_: Event<ConfigMap>| {}).expect("a handler"))
        .collect();
    let (handler, mut received) = recording_handler();
    informer.add_handler(handler).expect("a handler");
    started(&informer).await;
    std::thread::scope(|threads| {
        for _ in 0..4 {
            threads.spawn(|| registrations.iter().for_each(Registration::remove));
        }
    });
    for registration in &registrations {
        soon(registration.remove_and_wait()).await;
    }
    assert_eq!(informer.registrations().len(), 1);
    maps.create("b", "1").await;
    assert_eq!(received.until("+b").await, ["*a", "+b"]);
    stopped(&informer).await;
}

#[tokio::test]
async fn removal_can_be_awaited() {
    let maps = ConfigMaps::named(["a"]).await;
    let informer = maps.informer();
    let (release, held) = blocking::channel::<()>();
    let (sender, mut receiver) = mpsc::unbounded_channel();
    let slow = move |event: Event<ConfigMap>| {
        drop(sender.send(event_word(&event)));
        let _ = held.recv();
    };
    let slow = informer.add_handler(slow).expect("a handler");
    started(&informer).await;
    assert_eq!(soon(receiver.recv()).await.as_deref(), Some("*a"));
    let version = maps.create("b", "1").await;
    caught_up(&informer, version).await;

    // The handler is removed at once; the wait is for its current event.
    let mut removed = pin!(slow.remove_and_wait());
    assert!(futures::poll!(&mut removed).is_pending());
    assert!(informer.registrations().is_empty());
    drop(release);
    soon(removed).await;
    // The handler is dropped, and never received b.
    assert_eq!(soon(receiver.recv()).await, None);
    stopped(&informer).await;
}

#[tokio::test]
async fn handler_can_remove_itself() {
    let maps = ConfigMaps::named(["a", "b", "c"]).await;
    let informer = maps.informer();
    let (sender, mut receiver) = mpsc::unbounded_channel();
    let (give, given) = oneshot::channel::<Registration>();
    let mut given = Some(given);
    let handler = move |event: Event<ConfigMap>| {
        let (sender, given) = (sender.clone(), given.take());
        async move {
            let myself = given.expect("only once").await.expect("a registration");
            // The handler does not wait for its own call.
            myself.remove_and_wait().await;
            drop(sender.send(event_word(&event)));
        }
    };
    let registration = informer
        .add_async_handler_with(handler, HandlerOptions::new())
        .expect("a handler");
    drop(give.send(registration.clone()));
    started(&informer).await;
    soon(registration.remove_and_wait()).await;
    assert!(soon(receiver.recv()).await.is_some());
    assert_eq!(soon(receiver.recv()).await, None);
    assert_eq!(registration.panics(), 0);
    stopped(&informer).await;
}
