//! Start, run, stop and cleanup.

use k8s_openapi::api::core::v1::ConfigMap;
use kube_informer::{Event, HandlerOptions, InformerState};
use tokio::runtime::Handle;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::recording::{LONG, check_final_state, recorder, recording_channel};
use crate::scripted::Server;

/// Waits until every task except this test has ended; a task that does not end fails it.
pub(crate) async fn no_task_is_left() {
    let ended = async {
        while Handle::current().metrics().num_alive_tasks() > 0 {
            tokio::task::yield_now().await;
        }
    };
    timeout(LONG, ended).await.expect("a task was left behind");
}

fn tasks() -> usize {
    Handle::current().metrics().num_alive_tasks()
}

#[tokio::test]
async fn an_informer_starts_once_and_stops_once() {
    let informer = Server::new().informer();
    assert_eq!(informer.state(), InformerState::New);
    informer.start().unwrap();
    assert_eq!(informer.state(), InformerState::Running);
    assert!(informer.start().unwrap_err().is_already_started());
    assert!(
        informer
            .run(CancellationToken::new())
            .await
            .unwrap_err()
            .is_already_started()
    );
    informer.wait_for_sync(LONG).await.unwrap();
    informer.shutdown().await;
    assert_eq!(informer.state(), InformerState::Stopped);
    assert!(informer.is_stopped());
    assert!(informer.start().unwrap_err().is_stopped());
    let error = informer.run(CancellationToken::new()).await.unwrap_err();
    assert!(
        error.is_stopped() && error.to_string().contains("configmaps"),
        "{error}"
    );
    timeout(LONG, informer.shutdown()).await.expect("again");
    no_task_is_left().await;
}

#[tokio::test]
async fn nothing_is_added_to_a_stopped_informer() {
    for started in [true, false] {
        let informer = Server::new().informer();
        if started {
            informer.start().unwrap();
        }
        informer.shutdown().await;
        let errors = [
            informer.add_handler(|_| {}).unwrap_err(),
            informer
                .add_async_handler_with(|_| std::future::ready(()), HandlerOptions::new())
                .unwrap_err(),
            informer.events().unwrap_err(),
            informer.index("index", |_| [0]).unwrap_err(),
        ];
        for error in errors {
            assert!(error.is_stopped(), "{error}");
            assert!(error.to_string().contains("configmaps"), "{error}");
        }
    }
}

/// The cache can be read after the stop.
#[tokio::test]
async fn a_stopped_informer_can_be_read() {
    let server = Server::with(&["a/n"]);
    let informer = server.informer();
    let index = informer
        .index("namespace", |object: &ConfigMap| {
            object.metadata.namespace.clone()
        })
        .unwrap();
    informer.start().unwrap();
    informer.wait_for_sync(LONG).await.unwrap();
    informer.shutdown().await;
    server.put("a/later", "");
    assert_eq!(informer.lister().len(), 1);
    assert_eq!(index.get("a").len(), 1);
    assert!(informer.has_synced());
    informer.wait_for_sync(LONG).await.unwrap();
}

/// Contract 11: handlers get all earlier events, and nothing runs afterwards.
#[tokio::test]
async fn contract_11_a_stop_delivers_pending_events_and_releases_everything() {
    let server = Server::with(&["a/n0", "a/n1"]);
    let informer = server.informer();
    let (every_event, options) = (
        HandlerOptions::new().every_event(),
        HandlerOptions::new().never_blocks(),
    );
    let (blocking, mut blocking_recording) = recorder();
    informer.add_handler_with(blocking, every_event.clone()).unwrap();
    let (inline, mut inline_recording) = recorder();
    informer.add_handler_with(inline, options).unwrap();
    let (sender, mut async_recording) = recording_channel();
    let slow = move |event: Event<ConfigMap>| {
        let sender = sender.clone();
        async move {
            tokio::task::yield_now().await;
            let _ = sender.send(event);
        }
    };
    informer.add_async_handler_with(slow, every_event).unwrap();
    informer.start().unwrap();
    for round in 0..200 {
        server.put("a/n0", &round.to_string());
        server.put(&format!("a/new{round}"), "");
    }
    informer.wait_for_version(server.version(), LONG).await.unwrap();
    informer.shutdown().await;
    assert!(
        tasks() <= 1,
        "only the task that waits for all others may still be ending"
    );
    assert_eq!(server.watches(), 0);
    for recording in [
        &mut blocking_recording,
        &mut inline_recording,
        &mut async_recording,
    ] {
        check_final_state(&recording.rest().await, &informer);
    }
    no_task_is_left().await;
}

#[tokio::test]
async fn run_ends_by_its_token_and_by_a_shutdown() {
    for by_token in [true, false] {
        let server = Server::with(&["a/n"]);
        let informer = server.informer();
        let (handler, mut recording) = recorder();
        informer.add_handler(handler).unwrap();
        let stop = CancellationToken::new();
        let running = {
            let (informer, stop) = (informer.clone(), stop.clone());
            tokio::spawn(async move { informer.run(stop).await })
        };
        assert_eq!(recording.next().await, "* a/n@2");
        if by_token {
            stop.cancel();
        } else {
            informer.shutdown().await;
        }
        timeout(LONG, running).await.unwrap().unwrap().unwrap();
        assert!(informer.is_stopped());
        assert_eq!(tasks(), 0, "every task was waited for");
        assert!(recording.rest().await.is_empty());
    }
}

/// A token that is cancelled before the start ends the run immediately.
#[tokio::test]
async fn a_run_that_is_cancelled_before_its_start_ends() {
    let informer = Server::new().informer();
    let (handler, mut recording) = recorder();
    let registration = informer.add_handler(handler).unwrap();
    let stop = CancellationToken::new();
    stop.cancel();
    timeout(LONG, informer.run(stop)).await.unwrap().unwrap();
    assert!(recording.rest().await.is_empty());
    assert!(registration.synced().await.unwrap_err().is_stopped());
    no_task_is_left().await;
}

#[tokio::test]
async fn a_dropped_run_stops_the_informer() {
    let server = Server::with(&["a/n"]);
    let informer = server.informer();
    let (handler, mut recording) = recorder();
    let registration = informer.add_handler(handler).unwrap();
    let events = informer.events().unwrap();
    let stopped = timeout(LONG, async {
        tokio::select! {
            result = informer.run(CancellationToken::new()) => result.unwrap(),
            () = async { registration.synced().await.unwrap() } => {}
        }
    });
    stopped.await.unwrap();
    timeout(LONG, informer.shutdown()).await.unwrap();
    assert!(informer.is_stopped());
    no_task_is_left().await;
    assert_eq!(recording.rest().await.len(), 1, "and the handler is freed");
    assert_eq!(server.watches(), 0);
    drop(events);
}

/// The end is not reported before it happens, even if the wait for a handler is cancelled.
#[tokio::test]
async fn a_run_dropped_while_it_waits_for_a_handler_does_not_report_the_end() {
    let server = Server::with(&["a/n"]);
    let informer = server.informer();
    let (release, gate) = std::sync::mpsc::channel::<()>();
    let (sender, mut recording) = recording_channel();
    let stuck = informer
        .add_handler(move |event| {
            let _ = sender.send(event);
            let _ = gate.recv();
        })
        .unwrap();
    let stop = CancellationToken::new();
    let running = {
        let (informer, stop) = (informer.clone(), stop.clone());
        tokio::spawn(async move { informer.run(stop).await })
    };
    recording.event().await;
    stop.cancel();
    while !informer.is_stopped() {
        tokio::task::yield_now().await;
    }
    running.abort();
    assert!(running.await.unwrap_err().is_cancelled());
    let mut removed = Box::pin(stuck.remove_and_wait());
    assert!(
        futures::poll!(&mut removed).is_pending(),
        "the handler is still running"
    );
    drop(release);
    timeout(LONG, removed).await.unwrap();
    no_task_is_left().await;
}

/// After a shutdown nothing runs, even if the future of `run` was dropped before.
#[tokio::test]
async fn contract_11_a_shutdown_after_a_dropped_run_waits_for_the_handler() {
    let server = Server::with(&["a/n"]);
    let informer = server.informer();
    let (release, gate) = std::sync::mpsc::channel::<()>();
    let (sender, mut recording) = recording_channel();
    let handler = move |event| {
        let _ = sender.send(event);
        let _ = gate.recv();
    };
    informer.add_handler(handler).unwrap();
    let running = {
        let informer = informer.clone();
        tokio::spawn(async move { informer.run(CancellationToken::new()).await })
    };
    recording.event().await;
    running.abort();
    assert!(running.await.unwrap_err().is_cancelled());
    while !informer.is_stopped() {
        tokio::task::yield_now().await;
    }
    let mut shutdown = Box::pin(informer.shutdown());
    for _ in 0..100 {
        assert!(
            futures::poll!(&mut shutdown).is_pending(),
            "the handler is still running"
        );
        tokio::task::yield_now().await;
    }
    drop(release);
    timeout(LONG, shutdown).await.unwrap();
    no_task_is_left().await;
}

/// A stream that is never polled cannot notice the end itself.
#[tokio::test]
async fn a_wait_for_a_stream_ends_if_the_informer_stops_before_its_first_list() {
    let server = Server::new();
    server.answer_lists(false);
    let informer = server.informer();
    let events = informer.events().unwrap();
    informer.start().unwrap();
    let registration = events.registration();
    let synced = tokio::spawn(async move { registration.synced().await });
    informer.shutdown().await;
    let error = timeout(LONG, synced)
        .await
        .expect("the wait ends")
        .unwrap()
        .unwrap_err();
    assert!(error.is_stopped(), "{error}");
}

#[tokio::test]
async fn an_unstarted_informer_can_be_stopped() {
    let informer = Server::new().informer();
    let (handler, mut recording) = recorder();
    let registration = informer.add_handler(handler).unwrap();
    let events = informer.events().unwrap();
    timeout(LONG, informer.shutdown()).await.unwrap();
    assert!(registration.synced().await.unwrap_err().is_stopped());
    assert!(events.registration().synced().await.unwrap_err().is_stopped());
    drop((informer, registration, events));
    assert!(recording.rest().await.is_empty(), "the handler is freed");
    assert_eq!(tasks(), 0);
}
