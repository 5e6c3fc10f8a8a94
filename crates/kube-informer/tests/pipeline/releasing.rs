//! After its end an informer holds no user code, so that captured values are freed.

use std::sync::{Arc, OnceLock, Weak};

use k8s_openapi::api::core::v1::ConfigMap;
use kube_informer::{Event, HandlerOptions, SharedInformer};
use tokio_util::sync::CancellationToken;

use crate::lifecycle::no_task_is_left;
use crate::recording::LONG;
use crate::removing::AtLast;
use crate::scripted::Server;

/// A value that refers to its informer, like user code of controllers.
type Capture = OnceLock<SharedInformer<ConfigMap>>;

fn capture(captures: &mut Vec<(&'static str, Weak<Capture>)>, name: &'static str) -> Arc<Capture> {
    let capture = Arc::new(Capture::new());
    captures.push((name, Arc::downgrade(&capture)));
    capture
}

/// Creates an informer with user code of every kind that refers to it.
fn captured() -> (SharedInformer<ConfigMap>, Vec<(&'static str, Weak<Capture>)>) {
    let mut captures = Vec::new();
    let in_error_handler = capture(&mut captures, "error handler");
    let in_transform = capture(&mut captures, "transform");
    let informer = Server::with(&["a/n0"])
        .builder()
        .watch_error_handler(move |_| drop(Arc::clone(&in_error_handler)))
        .transform(move |_| drop(Arc::clone(&in_transform)))
        .build();
    let held = capture(&mut captures, "index function");
    let values = move |object: &ConfigMap| {
        drop(Arc::clone(&held));
        object.metadata.name.clone()
    };
    informer.index("name", values).unwrap();
    for (name, options) in [
        ("handler", HandlerOptions::new()),
        ("inline handler", HandlerOptions::new().never_blocks()),
    ] {
        let held = capture(&mut captures, name);
        informer
            .add_handler_with(move |_: Event<ConfigMap>| drop(Arc::clone(&held)), options)
            .unwrap();
    }
    let held = capture(&mut captures, "async handler");
    let handler = move |_: Event<ConfigMap>| {
        let held = Arc::clone(&held);
        async move { drop(held) }
    };
    informer.add_async_handler(handler).unwrap();
    for (_, capture) in &captures {
        capture.upgrade().unwrap().set(informer.clone()).unwrap();
    }
    (informer, captures)
}

fn held(captures: &[(&'static str, Weak<Capture>)]) -> Vec<&'static str> {
    let held = captures.iter().filter(|(_, capture)| capture.strong_count() > 0);
    held.map(|(name, _)| *name).collect()
}

#[tokio::test]
async fn an_informer_that_was_shut_down_holds_no_user_code() {
    let (informer, captures) = captured();
    informer.start().unwrap();
    informer.wait_for_sync(LONG).await.unwrap();
    assert_eq!(held(&captures).len(), captures.len());
    informer.shutdown().await;
    assert_eq!(held(&captures), [""; 0]);
    // The contents of the cache can still be read.
    assert_eq!(informer.lister().len(), 1);
    assert_eq!(informer.find_index::<String>("name").unwrap().get("n0").len(), 1);
    assert!(
        informer
            .index("late", |_: &ConfigMap| [1])
            .unwrap_err()
            .is_stopped()
    );
}

#[tokio::test]
async fn an_informer_that_never_started_holds_no_user_code_after_its_shutdown() {
    let (informer, captures) = captured();
    assert_eq!(held(&captures).len(), captures.len());
    informer.shutdown().await;
    assert_eq!(held(&captures), [""; 0]);
}

/// The runtime ends, and the informer with it.
#[test]
fn an_informer_whose_runtime_ended_holds_no_user_code() {
    let (informer, captures) = captured();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        informer.start().unwrap();
        informer.wait_for_sync(LONG).await.unwrap();
    });
    drop(runtime);
    assert_eq!(held(&captures), [""; 0]);
}

#[tokio::test]
async fn an_informer_whose_run_is_cancelled_holds_no_user_code_when_its_tasks_have_ended() {
    let (informer, captures) = captured();
    {
        let run = informer.run(CancellationToken::new());
        tokio::select! {
            biased;
            _ = run => unreachable!("the run was not stopped"),
            synced = informer.wait_for_sync(LONG) => synced.unwrap(),
        }
    }
    no_task_is_left().await;
    assert_eq!(held(&captures), [""; 0]);
}

/// Otherwise waits for the end of the informer would never end.
#[tokio::test(start_paused = true)]
async fn an_informer_stops_even_if_its_user_code_panics_when_it_is_dropped() {
    let payload = || AtLast(|| panic!("dropped"));
    let held = payload();
    let informer = Server::with(&["a/n0"])
        .builder()
        .watch_error_handler(move |_| {
            let _held = &held;
        })
        .build();
    let held = payload();
    let values = move |_: &ConfigMap| {
        let _held = &held;
        [1]
    };
    informer.index("one", values).unwrap();
    informer.start().unwrap();
    informer.wait_for_sync(LONG).await.unwrap();
    tokio::time::timeout(LONG, informer.shutdown()).await.unwrap();
    assert!(informer.is_stopped());
    no_task_is_left().await;
}
