//! Handlers do not affect each other, and late handlers miss nothing.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc as blocking};

use k8s_openapi::api::core::v1::ConfigMap;
use kube_informer::{Event, HandlerOptions, Object, Selector};
use tokio::sync::{mpsc, oneshot};

use crate::config_maps::{ConfigMaps, value};
use crate::informers::{caught_up, event_word, recording_handler, soon, started, stopped};

#[tokio::test]
async fn handler_receives_one_event_at_a_time() {
    let maps = ConfigMaps::named(["a", "b", "c"]).await;
    let informer = maps.informer();
    let busy = Arc::new(AtomicBool::new(false));
    let (sender, mut receiver) = mpsc::unbounded_channel();
    let handler = move |event: Event<ConfigMap>| {
        let (busy, sender) = (Arc::clone(&busy), sender.clone());
        async move {
            let alone = !busy.swap(true, Ordering::SeqCst);
            for _ in 0..10 {
                tokio::task::yield_now().await;
            }
            busy.store(false, Ordering::SeqCst);
            drop(sender.send((alone, event_word(&event))));
        }
    };
    informer
        .add_async_handler_with(handler, HandlerOptions::new().every_event())
        .expect("a handler");
    started(&informer).await;
    for name in ["a", "b", "c"] {
        maps.change(name, "2").await;
    }
    let mut words = Vec::new();
    for _ in 0..6 {
        let (alone, word) = soon(receiver.recv()).await.expect("an event");
        assert!(alone, "{word} was delivered during another call");
        words.push(word);
    }
    assert_eq!(words[3..], ["~a", "~b", "~c"]);
    stopped(&informer).await;
}

#[tokio::test]
async fn blocked_handler_delays_no_other_and_its_backlog_is_bounded() {
    let maps = ConfigMaps::named(["a", "b", "c"]).await;
    let informer = maps.informer();
    let (release, held) = blocking::channel::<()>();
    let (sender, mut receiver) = mpsc::unbounded_channel();
    let blocked = move |event: Event<ConfigMap>| {
        drop(sender.send(event));
        let _ = held.recv();
    };
    let blocked = informer.add_handler(blocked).expect("a handler");
    let (handler, mut received) = recording_handler();
    let options = HandlerOptions::new().every_event();
    informer.add_handler_with(handler, options).expect("a handler");
    started(&informer).await;
    received.listed(3).await;
    soon(receiver.recv()).await.expect("a first object");

    let mut last = None;
    for round in 2..20 {
        for name in ["a", "b", "c"] {
            last = Some(maps.change(name, &round.to_string()).await);
            assert_eq!(received.word().await, format!("~{name}"));
        }
    }
    // The store is current and the other handler has received everything. The backlog has at most two events
    // per object: its state at the start and its current state.
    caught_up(&informer, last.expect("a change")).await;
    assert!(
        informer
            .lister()
            .list(&Selector::everything())
            .iter()
            .all(|map| value(map) == "19")
    );
    assert!(blocked.backlog() <= 2 + 3, "{}", blocked.backlog());

    // The remaining events are coalesced and correct: for each object, from the last delivered to the current
    // state.
    drop(release);
    let mut seen: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for _ in 0..5 {
        let event = soon(receiver.recv()).await.expect("an event");
        if let Event::Updated { old, new } = &event {
            assert_eq!((value(old), value(new)), ("1", "19"));
        }
        seen.entry(event.key().name().into())
            .or_default()
            .push(event_word(&event));
    }
    stopped(&informer).await;
    assert_eq!(
        soon(receiver.recv()).await.map(|event| event_word(&event)),
        None,
        "three initial, three updates"
    );
    for (name, words) in seen {
        assert_eq!(words.last(), Some(&format!("~{name}")));
    }
    assert_eq!(blocked.backlog(), 0);
}

#[tokio::test]
async fn at_most_one_change_per_object_is_pending() {
    let maps = ConfigMaps::named(["a", "b", "c"]).await;
    let informer = maps.informer();
    let (release, held) = blocking::channel::<()>();
    let (sender, mut receiver) = mpsc::unbounded_channel();
    let busy = informer.add_handler(move |event: Event<ConfigMap>| {
        if let Event::Updated { .. } = event {
            drop(sender.send(event_word(&event)));
            let _ = held.recv();
        }
    });
    let busy = busy.expect("a handler");
    started(&informer).await;
    soon(busy.synced()).await.expect("a sync");
    maps.change("a", "2").await;
    assert_eq!(soon(receiver.recv()).await.as_deref(), Some("~a"));
    for round in 3..13 {
        for name in ["c", "a", "b"] {
            let version = maps.change(name, &round.to_string()).await;
            caught_up(&informer, version).await;
        }
        assert_eq!(busy.backlog(), 3);
    }
    drop(release);
    stopped(&informer).await;
    // In the order of their first changes.
    for wanted in [Some("~c"), Some("~a"), Some("~b"), None] {
        assert_eq!(soon(receiver.recv()).await.as_deref(), wanted);
    }
}

#[tokio::test]
async fn object_created_and_deleted_while_a_handler_is_busy_is_not_delivered() {
    let maps = ConfigMaps::named(["a"]).await;
    let informer = maps.informer();
    let (release, held) = blocking::channel::<()>();
    let (sender, mut receiver) = mpsc::unbounded_channel();
    let busy = move |event: Event<ConfigMap>| {
        drop(sender.send(event_word(&event)));
        let _ = held.recv();
    };
    let busy = informer.add_handler(busy).expect("a handler");
    started(&informer).await;
    assert_eq!(soon(receiver.recv()).await.as_deref(), Some("*a"));
    for _ in 0..5 {
        maps.create("brief", "1").await;
        maps.delete("brief").await;
    }
    let version = maps.create("end", "1").await;
    caught_up(&informer, version).await;
    assert_eq!(busy.backlog(), 1);
    drop(release);
    assert_eq!(soon(receiver.recv()).await.as_deref(), Some("+end"));
    stopped(&informer).await;
}

#[tokio::test]
async fn async_handler_that_never_returns_delays_no_other() {
    let maps = ConfigMaps::named(["a"]).await;
    let informer = maps.informer();
    let stuck = informer.add_async_handler_with(
        |_: Event<ConfigMap>| std::future::pending(),
        HandlerOptions::new(),
    );
    let stuck = stuck.expect("a handler");
    let (handler, mut received) = recording_handler();
    informer.add_handler(handler).expect("a handler");
    started(&informer).await;
    maps.change("a", "2").await;
    assert_eq!(received.until("~a").await, ["*a", "~a"]);
    assert!(!stuck.has_synced());
    stuck.remove();
}

#[tokio::test]
async fn panicking_handler_affects_only_itself() {
    let maps = ConfigMaps::named(["a", "b"]).await;
    let informer = maps.informer();
    let sync = informer
        .add_handler(|event: Event<ConfigMap>| panic!("I cannot stand {}", event.key()))
        .expect("a handler");
    let inline = informer
        .add_handler_with(
            |_: Event<ConfigMap>| panic!("never"),
            HandlerOptions::new().never_blocks(),
        )
        .expect("a handler");
    let asynchronous = informer
        .add_async_handler_with(
            |event: Event<ConfigMap>| async move {
                tokio::task::yield_now().await;
                assert!(event.key().name().is_empty(), "a panic");
            },
            HandlerOptions::new(),
        )
        .expect("a handler");
    let (handler, mut received) = recording_handler();
    informer.add_handler(handler).expect("a handler");
    started(&informer).await;
    assert_eq!(received.listed(2).await, ["*a", "*b"]);
    // A panic counts as handled, and the next event is delivered.
    for registration in [&sync, &inline, &asynchronous] {
        soon(registration.synced()).await.expect("a sync");
        assert_eq!(registration.panics(), 2);
    }
    maps.change("a", "2").await;
    assert_eq!(received.word().await, "~a");
    stopped(&informer).await;
    for registration in [&sync, &inline, &asynchronous] {
        assert_eq!(registration.panics(), 3);
    }
}

#[tokio::test]
async fn late_handler_receives_every_object_once_then_every_change() {
    let maps = ConfigMaps::named(["a", "b", "c"]).await;
    let informer = maps.informer();
    started(&informer).await;
    let version = maps.change("a", "2").await;
    caught_up(&informer, version).await;
    maps.delete("b").await;
    let version = maps.create("d", "1").await;
    caught_up(&informer, version).await;

    let (handler, mut received) = recording_handler();
    let registration = informer.add_handler(handler).expect("a handler");
    assert_eq!(received.listed(3).await, ["*a", "*c", "*d"]);
    soon(registration.synced()).await.expect("a sync");
    maps.change("c", "2").await;
    assert_eq!(received.word().await, "~c");
    maps.create("e", "1").await;
    assert_eq!(received.word().await, "+e");
    stopped(&informer).await;
}

/// Handlers join all the time; each receives the complete history of every object.
#[tokio::test]
async fn joining_during_changes_misses_nothing() {
    let maps = ConfigMaps::named(["a", "b"]).await;
    let informer = maps.informer();
    started(&informer).await;
    let mut all_received = Vec::new();
    for round in 2..22 {
        let (handler, received) = recording_handler();
        let options = HandlerOptions::new().every_event();
        informer.add_handler_with(handler, options).expect("a handler");
        all_received.push(received);
        for name in ["a", "b"] {
            maps.change(name, &round.to_string()).await;
        }
    }
    maps.create("end", "1").await;
    for received in &mut all_received {
        let mut last: BTreeMap<String, Event<ConfigMap>> = BTreeMap::new();
        loop {
            let event = received.next().await;
            let name = event.key().name().to_owned();
            if name == "end" {
                break;
            }
            match (&event, last.get(&name)) {
                (
                    Event::Added {
                        is_in_initial_list: true,
                        ..
                    },
                    None,
                ) => {}
                (Event::Updated { old, new }, Some(before)) => {
                    assert!(Object::ptr_eq(old, before.object()));
                    let (old, new): (u32, u32) =
                        (value(old).parse().unwrap_or(0), value(new).parse().unwrap_or(0));
                    assert_eq!(old + 1, new);
                }
                (event, before) => panic!("{} after {:?}", event_word(event), before.map(event_word)),
            }
            last.insert(name, event);
        }
        assert!(last.values().all(|event| value(event.object()) == "21"));
        assert_eq!(last.len(), 2);
    }
    stopped(&informer).await;
}

#[tokio::test]
async fn joining_handler_delays_no_other() {
    let maps = ConfigMaps::named(["a", "b", "c"]).await;
    let informer = maps.informer();
    let (handler, mut received) = recording_handler();
    informer.add_handler(handler).expect("a handler");
    started(&informer).await;
    received.listed(3).await;
    // The late handler is blocked in its first event.
    let (arrive, arrived) = oneshot::channel();
    let (release, held) = blocking::channel::<()>();
    let mut arrive = Some(arrive);
    let late = informer.add_handler(move |_: Event<ConfigMap>| {
        if let Some(arrive) = arrive.take() {
            let _ = arrive.send(());
        }
        let _ = held.recv();
    });
    let late = late.expect("a handler");
    soon(arrived).await.expect("a first object");
    let version = maps.change("a", "2").await;
    assert_eq!(received.word().await, "~a");
    caught_up(&informer, version).await;
    let (handler, mut later_still) = recording_handler();
    informer.add_handler(handler).expect("a handler");
    assert_eq!(later_still.listed(3).await, ["*a", "*b", "*c"]);
    assert!(!late.has_synced());
    drop(release);
    soon(late.synced()).await.expect("a sync");
    stopped(&informer).await;
}
