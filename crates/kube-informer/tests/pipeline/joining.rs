//! Contract 7: handlers join at any time without waiting.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use futures::FutureExt;
use futures::future::join_all;
use kube_informer::{Event, HandlerOptions};

use crate::recording::{LONG, check_final_state, check_history, recorder, recording_channel};
use crate::scripted::Server;

#[tokio::test]
async fn contract_7_a_late_handler_sees_everything_once_then_every_change() {
    let server = Server::with(&["a/n0", "a/n1"]);
    let informer = server.informer();
    let (handler, mut early) = recorder();
    let early_registration = informer.add_handler(handler).unwrap();
    assert!(
        early_registration.synced().now_or_never().is_none(),
        "not before the list"
    );
    informer.start().unwrap();
    early_registration.synced().await.unwrap();
    let mut first = early.now();
    first.sort();
    assert_eq!(first, ["* a/n0@2", "* a/n1@3"]);
    server.put("a/n2", "");
    assert_eq!(early.next().await, "+ a/n2@4");

    let (handler, mut late) = recorder();
    let late_registration = informer.add_handler(handler).unwrap();
    late_registration.synced().await.unwrap();
    let mut first = late.now();
    first.sort();
    assert_eq!(first, ["* a/n0@2", "* a/n1@3", "* a/n2@4"]);
    server.delete("a/n2");
    assert_eq!(early.next().await, "- a/n2@5");
    assert_eq!(late.next().await, "- a/n2@5");
    informer.shutdown().await;
}

#[tokio::test]
async fn an_empty_list_is_complete() {
    let server = Server::new();
    let informer = server.informer();
    let (handler, mut recording) = recorder();
    let early = informer.add_handler(handler).unwrap();
    informer.start().unwrap();
    informer.wait_for_sync(LONG).await.unwrap();
    let late = informer.add_handler(|_| {}).unwrap();
    early.synced().await.unwrap();
    late.synced().await.unwrap();
    server.put("a/n", "");
    assert_eq!(recording.next().await, "+ a/n@2", "later objects are not initial");
    informer.shutdown().await;
}

/// A new handler that handles nothing yet delays neither the cache nor the others, and misses nothing.
#[tokio::test]
async fn contract_7_a_new_handler_delays_no_other_handler() {
    let server = Server::with(&["a/n0", "a/n1"]);
    let informer = server.informer();
    let (handler, mut others) = recorder();
    informer.add_handler(handler).unwrap();
    informer.start().unwrap();
    others.some(2).await;
    let (release, gate) = std::sync::mpsc::channel::<()>();
    let (sender, mut joiner) = recording_channel();
    let slow = informer
        .add_handler(move |event| {
            let _ = sender.send(event);
            let _ = gate.recv();
        })
        .unwrap();
    let first = joiner.event().await;
    for n in 0..10 {
        server.put("a/n0", "changed");
        assert_eq!(
            others.next().await,
            format!("~ a/n0@{}>{}", if n == 0 { 2 } else { 3 + n }, 4 + n)
        );
    }
    server.delete("a/n1");
    assert_eq!(others.next().await, "- a/n1@14");
    assert!(!slow.has_synced());
    assert!(slow.synced().now_or_never().is_none());
    drop(release);
    slow.synced().await.unwrap();
    informer.shutdown().await;
    let mut events = vec![first];
    events.extend(joiner.rest().await);
    check_final_state(&events, &informer);
}

/// Handlers and streams of all kinds join and leave while objects change; each gets a valid history, and the
/// remaining ones end with the contents of the cache.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn contract_5_joining_and_leaving_under_load_misses_nothing() {
    let server = Server::with(&["a/n0", "a/n1", "a/n2", "b/n0"]);
    let informer = server.informer();
    informer.start().unwrap();
    informer.wait_for_sync(LONG).await.unwrap();
    let busy = Arc::new(AtomicBool::new(true));
    let load = {
        let (server, busy) = (server.clone(), Arc::clone(&busy));
        tokio::spawn(async move {
            let mut random = fastrand::Rng::with_seed(5);
            while busy.load(Ordering::Relaxed) {
                let key = format!("a/n{}", random.u32(..20));
                let there = server.keys().iter().any(|known| known.as_str() == key);
                if there && random.u32(..3) == 0 {
                    server.delete(&key);
                } else {
                    server.put(&key, "");
                }
                tokio::task::yield_now().await;
            }
        })
    };
    let joiners = (0..8).map(|worker| {
        let informer = informer.clone();
        tokio::spawn(async move {
            let mut random = fastrand::Rng::with_seed(worker);
            let mut stayed = Vec::new();
            for round in 0..25 {
                let (handler, mut recording) = recorder();
                let mut options = HandlerOptions::new();
                if random.bool() {
                    options = options.never_blocks();
                }
                if random.bool() {
                    options = options.every_event();
                }
                let registration = informer.add_handler_with(handler, options).unwrap();
                if random.bool() {
                    registration.synced().await.unwrap();
                }
                for _ in 0..random.u32(..20) {
                    tokio::task::yield_now().await;
                }
                if round % 5 == 0 {
                    stayed.push(recording);
                } else {
                    registration.remove_and_wait().await;
                    assert_eq!(registration.backlog(), 0);
                    check_history(&recording.rest().await);
                }
            }
            stayed
        })
    });
    let mut stayed = Vec::new();
    for joiner in join_all(joiners).await {
        stayed.extend(joiner.unwrap());
    }
    busy.store(false, Ordering::Relaxed);
    load.await.unwrap();
    informer.wait_for_version(server.version(), LONG).await.unwrap();
    assert_eq!(informer.registrations().len(), stayed.len());
    informer.shutdown().await;
    assert_eq!(stayed.len(), 8 * 5);
    for mut recording in stayed {
        let events = recording.rest().await;
        check_final_state(&events, &informer);
        assert!(matches!(
            events[0],
            Event::Added {
                is_in_initial_list: true,
                ..
            }
        ));
    }
}

/// An index that is added while handlers run does not affect them.
#[tokio::test]
async fn contract_3_an_added_index_does_not_break_a_history() {
    let server = Server::with(&["a/n0", "a/n1"]);
    let informer = server.informer();
    let (handler, mut recording) = recorder();
    let options = HandlerOptions::new().every_event();
    let registration = informer.add_handler_with(handler, options).unwrap();
    informer.start().unwrap();
    registration.synced().await.unwrap();
    for n in 0..5 {
        let index = informer.index(&format!("index {n}"), |object: &_| {
            let object: &k8s_openapi::api::core::v1::ConfigMap = object;
            object.metadata.namespace.clone()
        });
        let index = index.unwrap();
        assert_eq!(index.get("a").len(), 2, "the index is complete at once");
        server.put("a/n0", "changed");
        informer.wait_for_version(server.version(), LONG).await.unwrap();
    }
    server.delete("a/n1");
    informer.wait_for_version(server.version(), LONG).await.unwrap();
    informer.shutdown().await;
    check_final_state(&recording.rest().await, &informer);
}

/// A wait for a handler has a timeout, and its error contains the handler's name and backlog.
#[tokio::test(start_paused = true)]
async fn the_error_of_an_unsynced_handler_contains_its_name_and_backlog() {
    let server = Server::with(&["a/n0", "a/n1", "a/n2"]);
    let informer = server.informer();
    let options = HandlerOptions::new().name("sleeper");
    let stuck = informer
        .add_async_handler_with(|_| std::future::pending::<()>(), options)
        .unwrap();
    informer.start().unwrap();
    informer.wait_for_sync(LONG).await.unwrap();
    let error = stuck.wait_for_sync(LONG).await.unwrap_err();
    assert!(error.is_timeout());
    let text = error.to_string();
    assert!(text.contains("sleeper") && text.contains('2'), "{text}");
    stuck.remove();
    assert!(stuck.synced().await.unwrap_err().is_stopped());
}
