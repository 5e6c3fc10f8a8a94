//! The order in which an informer stops.

use std::pin::pin;
use std::sync::{Arc, mpsc as blocking};

use k8s_openapi::api::core::v1::ConfigMap;
use kube_informer::{Event, HandlerOptions};
use tokio::sync::mpsc;

use crate::config_maps::ConfigMaps;
use crate::informers::{caught_up, event_word, soon, started, stopped};

#[tokio::test]
async fn handlers_stop_last_after_delivering_everything() {
    let maps = ConfigMaps::named(["a"]).await;
    let informer = maps.informer();
    let (release, held) = blocking::channel::<()>();
    let (sender, mut receiver) = mpsc::unbounded_channel();
    let slow = move |event: Event<ConfigMap>| {
        drop(sender.send(event_word(&event)));
        let _ = held.recv();
    };
    let options = HandlerOptions::new().every_event();
    let slow = informer.add_handler_with(slow, options).expect("a handler");
    started(&informer).await;
    assert_eq!(soon(receiver.recv()).await.as_deref(), Some("*a"));
    maps.change("a", "2").await;
    maps.create("b", "1").await;
    let version = maps.change("b", "2").await;
    caught_up(&informer, version).await;
    assert_eq!(slow.backlog(), 3);

    let mut shutdown = pin!(informer.shutdown());
    assert!(futures::poll!(&mut shutdown).is_pending());
    // From here on no event is accepted, although the handler has a backlog.
    maps.create("late", "1").await;
    assert!(futures::poll!(&mut shutdown).is_pending());
    assert!(informer.is_stopped());
    assert_eq!(slow.backlog(), 3);
    drop(release);
    soon(shutdown).await;
    let mut words = Vec::new();
    while let Some(word) = soon(receiver.recv()).await {
        words.push(word);
    }
    assert_eq!(words, ["~a", "+b", "~b"]);
    assert!(informer.lister().get_key(&maps.key("late")).is_err());
}

/// Dropping this shows that its owner was dropped.
#[derive(Clone)]
struct DropSignal(Arc<()>);

#[tokio::test]
async fn no_handler_and_no_task_remains() {
    let maps = ConfigMaps::named(["a"]).await;
    let informer = maps.informer();
    let held = DropSignal(Arc::new(()));
    let (one, two, three) = (held.clone(), held.clone(), held.clone());
    informer
        .add_handler(move |_: Event<ConfigMap>| drop(one.clone()))
        .expect("a handler");
    informer
        .add_handler_with(
            move |_: Event<ConfigMap>| drop(two.clone()),
            HandlerOptions::new().never_blocks(),
        )
        .expect("a handler");
    informer
        .add_async_handler_with(
            move |_: Event<ConfigMap>| {
                let held = three.clone();
                async move { drop(held) }
            },
            HandlerOptions::new(),
        )
        .expect("a handler");
    started(&informer).await;
    assert!(Arc::strong_count(&held.0) >= 4);
    stopped(&informer).await;
    assert_eq!(Arc::strong_count(&held.0), 1);
}
