//! B12: the order in which an informer stops.

use std::pin::pin;
use std::sync::{Arc, mpsc as blocking};
use std::time::Duration;

use k8s_openapi::api::core::v1::ConfigMap;
use kube_informer::{Event, HandlerOptions};
use tokio::runtime::Handle;
use tokio::sync::mpsc;

use crate::informers::{Maps, caught_up, hearing, said, soon, started, stopped};

#[tokio::test]
async fn b12_handlers_stop_last_with_everything_delivered() {
    let maps = Maps::holding(["a"]).await;
    let informer = maps.informer();
    let (release, held) = blocking::channel::<()>();
    let (tell, mut told) = mpsc::unbounded_channel();
    let slow = move |event: Event<ConfigMap>| {
        drop(tell.send(said(&event)));
        let _ = held.recv();
    };
    let options = HandlerOptions::new().every_event();
    let slow = informer.add_handler_with(slow, options).expect("a handler");
    started(&informer).await;
    assert_eq!(soon(told.recv()).await.as_deref(), Some("*a"));
    maps.change("a", "2").await;
    maps.create("b", "1").await;
    let version = maps.change("b", "2").await;
    caught_up(&informer, version).await;
    assert_eq!(slow.backlog(), 3);

    let mut shutdown = pin!(informer.shutdown());
    assert!(futures::poll!(&mut shutdown).is_pending());
    // From here on nothing comes in, though the handler is far behind.
    maps.create("late", "1").await;
    assert!(futures::poll!(&mut shutdown).is_pending());
    assert!(informer.is_stopped());
    assert_eq!(slow.backlog(), 3);
    drop(release);
    soon(shutdown).await;
    let mut words = Vec::new();
    while let Some(word) = soon(told.recv()).await {
        words.push(word);
    }
    assert_eq!(words, ["~a", "+b", "~b"]);
    assert!(informer.lister().get_key(&maps.key("late")).is_err());
}

/// Says by its being dropped that whoever held it is gone.
#[derive(Clone)]
struct Held(Arc<()>);

#[tokio::test]
async fn b12_no_handler_and_no_task_is_left() {
    let maps = Maps::holding(["a"]).await;
    let informer = maps.informer();
    let held = Held(Arc::new(()));
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

#[tokio::test(start_paused = true)]
async fn b12_after_the_stop_nothing_runs_and_nothing_is_asked() {
    let Some(maps) = Maps::on_paused_clock(["a"]).await else {
        return;
    };
    let embedded = maps.server.embedded().expect("an embedded server");
    let tasks = Handle::current().metrics().num_alive_tasks();
    let informer = maps.builder().resync(Duration::from_secs(1)).build();
    let (handler, mut heard) = hearing();
    informer.add_handler(handler).expect("a handler");
    let (handler, _other) = hearing();
    let options = HandlerOptions::new().never_blocks();
    informer.add_handler_with(handler, options).expect("a handler");
    let _stream = informer.events().expect("a stream");
    started(&informer).await;
    assert_eq!(heard.word().await, "*a");
    assert!(Handle::current().metrics().num_alive_tasks() > tasks);

    stopped(&informer).await;
    assert_eq!(Handle::current().metrics().num_alive_tasks(), tasks);
    drop(heard.rest());
    embedded.forget_requests();
    tokio::time::sleep(Duration::from_hours(1)).await;
    assert!(embedded.requests().is_empty(), "{:?}", embedded.requests());
    assert_eq!(heard.rest(), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn b12_a_run_that_is_dropped_stops_as_well() {
    let Some(maps) = Maps::on_paused_clock(["a"]).await else {
        return;
    };
    let tasks = Handle::current().metrics().num_alive_tasks();
    let informer = maps.informer();
    let (handler, mut heard) = hearing();
    informer.add_handler(handler).expect("a handler");
    {
        let mut run = pin!(informer.run(tokio_util::sync::CancellationToken::new()));
        tokio::select! {
            _ = &mut run => panic!("it ran to its end"),
            word = heard.word() => assert_eq!(word, "*a"),
        }
    }
    assert!(informer.is_stopped());
    stopped(&informer).await;
    // Its tasks are told to end and not waited for: any time that passes is enough for them.
    tokio::time::sleep(Duration::from_millis(1)).await;
    assert_eq!(Handle::current().metrics().num_alive_tasks(), tasks);
}
