//! Cleanup after an informer has stopped.

use std::pin::pin;
use std::time::Duration;

use kube_informer::HandlerOptions;
use tokio::runtime::Handle;

use crate::config_maps::ConfigMaps;
use crate::informers::{recording_handler, started, stopped};

#[tokio::test(start_paused = true)]
async fn no_task_runs_and_no_request_is_sent_after_stop() {
    let maps = ConfigMaps::paused(["a"]).await;
    let embedded = maps.server.embedded().expect("an embedded server");
    let tasks = Handle::current().metrics().num_alive_tasks();
    let informer = maps.builder().resync(Duration::from_secs(1)).build();
    let (handler, mut received) = recording_handler();
    informer.add_handler(handler).expect("a handler");
    let (handler, _other) = recording_handler();
    let options = HandlerOptions::new().never_blocks();
    informer.add_handler_with(handler, options).expect("a handler");
    let _stream = informer.events().expect("a stream");
    started(&informer).await;
    assert_eq!(received.word().await, "*a");
    assert!(Handle::current().metrics().num_alive_tasks() > tasks);

    stopped(&informer).await;
    assert_eq!(Handle::current().metrics().num_alive_tasks(), tasks);
    drop(received.rest());
    embedded.forget_requests();
    tokio::time::sleep(Duration::from_hours(1)).await;
    assert!(embedded.requests().is_empty(), "{:?}", embedded.requests());
    assert_eq!(received.rest(), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn dropping_the_run_future_stops_the_informer() {
    let maps = ConfigMaps::paused(["a"]).await;
    let tasks = Handle::current().metrics().num_alive_tasks();
    let informer = maps.informer();
    let (handler, mut received) = recording_handler();
    informer.add_handler(handler).expect("a handler");
    {
        let mut run = pin!(informer.run(tokio_util::sync::CancellationToken::new()));
        tokio::select! {
            _ = &mut run => panic!("it ran to its end"),
            word = received.word() => assert_eq!(word, "*a"),
        }
    }
    // The informer stops in order, without further calls.
    stopped(&informer).await;
    assert!(informer.is_stopped());
    assert_eq!(Handle::current().metrics().num_alive_tasks(), tasks);
}
