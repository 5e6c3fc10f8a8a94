//! Unexpected ends of informers, and informers that run side by side.

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::ConfigMap;
use kube_informer::{Event, HandlerOptions, SharedInformer};
use parking_lot::Mutex;
use tokio::time::timeout;

use crate::lifecycle::no_task_is_left;
use crate::logged::{Log, subscribe};
use crate::recording::{LONG, check_final_state, recorder};
use crate::scripted::Server;

/// An index value that panics when it is dropped while another one panics when it is hashed.
///
/// The library cannot recover from this panic of user code.
#[derive(PartialEq, Eq)]
struct DoublePanic {
    can_be_hashed: bool,
}

impl std::hash::Hash for DoublePanic {
    fn hash<H: std::hash::Hasher>(&self, _: &mut H) {
        assert!(self.can_be_hashed, "cannot be hashed");
    }
}

impl Drop for DoublePanic {
    fn drop(&mut self) {
        assert!(std::thread::panicking(), "cannot be dropped");
    }
}

impl std::fmt::Display for DoublePanic {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("hopeless")
    }
}

/// The controller may end by a panic, also while it applies a long list on another thread. Then the informer
/// stops and reports it, and all waits end.
#[tokio::test]
async fn contract_12_an_informer_whose_cache_cannot_be_written_stops() {
    for objects in [2, 2_500] {
        let log = Log::default();
        let _guard = subscribe(log.clone());
        let server = Server::new();
        for n in 0..objects {
            server.put(&format!("a/n{n}"), "");
        }
        let informer = server.informer();
        let hopeless = |_: &ConfigMap| [true, false].map(|can_be_hashed| DoublePanic { can_be_hashed });
        informer.index("hopeless", hopeless).unwrap();
        let (handler, mut recording) = recorder();
        informer.add_handler(handler).unwrap();
        informer.start().unwrap();
        let waited = timeout(LONG, informer.synced()).await.expect("it does not hang");
        assert!(waited.unwrap_err().is_stopped());
        assert!(informer.is_stopped());
        assert!(recording.rest().await.is_empty());
        let lines = log.lines();
        assert!(
            lines
                .iter()
                .any(|line| line.contains("controller failed: stopping the informer")),
            "{lines:?}"
        );
        timeout(LONG, informer.shutdown()).await.unwrap();
        no_task_is_left().await;
    }
}

/// Contract 12: the task of consistency checks survives any period.
#[tokio::test(start_paused = true)]
async fn contract_12_an_infinite_check_period_is_supported() {
    let log = Log::default();
    // A second subscriber prevents tracing from caching the result of another test's thread for this one.
    let _second = tracing::Dispatch::new(Log::default());
    let _logging = subscribe(log.clone());
    let server = Server::with(&["a/n"]);
    let informer = server.builder().check_consistency(Duration::MAX).build();
    informer.start().unwrap();
    informer.wait_for_sync(LONG).await.unwrap();
    tokio::time::sleep(LONG).await;
    let status = informer.status();
    assert_eq!((status.checks, status.unchecked), (0, 0));
    informer.shutdown().await;
    assert_eq!(log.lines(), [""; 0]);
}

/// A long list is applied on another thread, with the same result.
#[tokio::test]
async fn a_long_list_is_applied_completely() {
    let server = Server::new();
    for n in 0..2_500 {
        server.put(&format!("a/n{n}"), "");
    }
    let informer = server.informer();
    let index = informer
        .index("namespace", |object: &ConfigMap| {
            object.metadata.namespace.clone()
        })
        .unwrap();
    let (handler, mut recording) = recorder();
    let registration = informer.add_handler(handler).unwrap();
    informer.start().unwrap();
    registration.synced().await.unwrap();
    server.delete("a/n7");
    informer.wait_for_version(server.version(), LONG).await.unwrap();
    assert_eq!((index.get("a").len(), informer.lister().len()), (2_499, 2_499));
    informer.shutdown().await;
    let events = recording.rest().await;
    assert_eq!(events.len(), 2_501);
    check_final_state(&events, &informer);
}

/// An informer continues without its handle, and ends with the runtime; all waits end, too.
#[test]
fn the_end_of_the_runtime_ends_the_informer() {
    let runtime = || {
        tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()
            .unwrap()
    };
    let server = Server::with(&["a/n"]);
    let informer = server.informer();
    let first = runtime();
    let registration = first.block_on(async {
        let registration = informer
            .add_async_handler_with(|_| std::future::pending::<()>(), HandlerOptions::new())
            .unwrap();
        informer.start().unwrap();
        informer.wait_for_sync(LONG).await.unwrap();
        registration
    });
    drop(first);
    assert!(informer.is_stopped());
    runtime().block_on(async {
        timeout(LONG, informer.shutdown()).await.unwrap();
        timeout(LONG, registration.remove_and_wait()).await.unwrap();
    });
}

/// Indexes and handlers that are added concurrently with starts are complete.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn concurrent_additions_and_starts_are_safe() {
    for _ in 0..50 {
        let server = Server::with(&["a/n"]);
        let informer = server.informer();
        let counts = Arc::new(Mutex::new(0));
        let mut tasks = Vec::new();
        for n in 0..5 {
            let (informer, counts) = (informer.clone(), Arc::clone(&counts));
            tasks.push(tokio::spawn(async move {
                match n {
                    0 | 1 => *counts.lock() += u32::from(informer.start().is_ok()),
                    2 => drop(informer.index("index", |_| [0])),
                    _ => drop(informer.add_handler_with(|_| {}, HandlerOptions::new().never_blocks())),
                }
            }));
        }
        for task in tasks {
            task.await.unwrap();
        }
        assert_eq!(*counts.lock(), 1, "started once");
        informer.wait_for_sync(LONG).await.unwrap();
        for registration in informer.registrations() {
            registration.synced().await.unwrap();
        }
        informer.shutdown().await;
    }
}

/// Starts and stops many informers while their source changes.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn contract_11_started_and_stopped_informers_release_everything() {
    let informers = (0..20).map(|n| {
        tokio::spawn(async move {
            let server = Server::with(&["a/n0", "a/n1"]);
            let informer: SharedInformer<ConfigMap> = server.informer();
            let (handler, mut recording) = recorder();
            informer.add_handler(handler).unwrap();
            informer.start().unwrap();
            for round in 0..50 {
                server.put(&format!("a/n{}", round % 7), "");
                if n % 3 == 0 {
                    tokio::task::yield_now().await;
                }
                if round == 25 && n % 2 == 0 {
                    server.expire();
                }
            }
            if n % 4 > 0 {
                informer.wait_for_sync(LONG).await.unwrap();
            }
            informer.shutdown().await;
            let events = recording.rest().await;
            if informer.has_synced() {
                check_final_state(&events, &informer);
            } else {
                assert!(events.is_empty());
            }
        })
    });
    for informer in informers.collect::<Vec<_>>() {
        informer.await.unwrap();
    }
    no_task_is_left().await;
}

/// The handler stops the informer without waiting for itself.
#[tokio::test]
async fn an_async_handler_may_shut_down_its_informer() {
    let server = Server::with(&["a/n0", "a/n1"]);
    let informer = server.informer();
    let inside = informer.clone();
    let (through, mut passed) = tokio::sync::mpsc::unbounded_channel();
    let handler = move |_: Event<ConfigMap>| {
        let (inside, through) = (inside.clone(), through.clone());
        async move {
            inside.shutdown().await;
            let _ = through.send(());
        }
    };
    informer.add_async_handler(handler).unwrap();
    informer.start().unwrap();
    timeout(LONG, passed.recv())
        .await
        .expect("it does not wait for itself")
        .unwrap();
    // Earlier events are delivered all the same.
    timeout(LONG, passed.recv()).await.unwrap().unwrap();
    timeout(LONG, informer.shutdown()).await.unwrap();
    assert!(passed.recv().await.is_none(), "the handler has ended");
}

#[tokio::test]
async fn a_blocking_handler_may_shut_down_its_informer() {
    let server = Server::with(&["a/n0"]);
    let informer = server.informer();
    let inside = informer.clone();
    let runtime = tokio::runtime::Handle::current();
    let (through, mut passed) = tokio::sync::mpsc::unbounded_channel();
    let handler = move |_: Event<ConfigMap>| {
        runtime.block_on(inside.shutdown());
        let _ = through.send(());
    };
    informer.add_handler(handler).unwrap();
    informer.start().unwrap();
    timeout(LONG, passed.recv())
        .await
        .expect("it does not wait for itself")
        .unwrap();
    timeout(LONG, informer.shutdown()).await.unwrap();
    assert!(passed.recv().await.is_none(), "the handler has ended");
}

/// Only the handler's own informer is not waited for.
#[tokio::test]
async fn a_handler_that_shuts_down_another_informer_waits_for_it() {
    let (stopping, stopped) = (
        Server::with(&["a/n0"]).informer(),
        Server::with(&["a/n0"]).informer(),
    );
    let (release, gate) = tokio::sync::oneshot::channel::<()>();
    let mut gate = Some(gate);
    let handler = move |_: Event<ConfigMap>| {
        let gate = gate.take();
        async move {
            if let Some(gate) = gate {
                let _ = gate.await;
            }
        }
    };
    stopped.add_async_handler(handler).unwrap();
    stopped.start().unwrap();
    stopped.wait_for_sync(LONG).await.unwrap();
    let (result_sender, mut results) = tokio::sync::mpsc::unbounded_channel();
    let other = stopped.clone();
    let handler = move |_: Event<ConfigMap>| {
        let (other, result_sender) = (other.clone(), result_sender.clone());
        async move {
            let mut end = Box::pin(other.shutdown());
            let _ = result_sender.send(futures::poll!(&mut end).is_ready());
            end.await;
            let _ = result_sender.send(true);
        }
    };
    stopping.add_async_handler(handler).unwrap();
    stopping.start().unwrap();
    assert!(
        !timeout(LONG, results.recv()).await.unwrap().unwrap(),
        "its handler still runs"
    );
    drop(release);
    assert!(timeout(LONG, results.recv()).await.unwrap().unwrap());
    stopping.shutdown().await;
}
