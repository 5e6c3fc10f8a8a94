//! Handlers: memory, panics, sync and removal.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use conformance::TestServer;
use k8s_openapi::api::core::v1::ConfigMap;
use kube_informer::{Event, HandlerOptions, callbacks};
use tokio::sync::{Semaphore, mpsc};
use tokio::time::{Instant, pause, resume, timeout};

use crate::observed_informer::ObservedInformer;

/// 10. A panic in an initial add leaves the handler unsynced for ever. Here a panic counts as handled, and as a panic.
#[tokio::test]
async fn panic_in_an_initial_add_does_not_prevent_sync() {
    let server = TestServer::start().await;
    let observed = ObservedInformer::on(&server, |informer| informer);
    for name in ["a", "b", "c"] {
        observed.create(name).await;
    }
    let (tell, mut told) = mpsc::unbounded_channel();
    let handler = callbacks::<ConfigMap>().on_add(move |object, _| {
        drop(tell.send(object.key().name().to_owned()));
        assert_ne!(object.key().name(), "b", "a panic on purpose");
    });
    let registration = observed.informer.add_handler(handler).expect("a new informer");
    observed.start().await;
    let synced = timeout(observed.patience, registration.synced()).await;
    synced.expect("in time").expect("synced");
    assert_eq!(registration.panics(), 1);
    observed.create("later").await;
    let mut names = Vec::new();
    while names.last().is_none_or(|name| name != "later") {
        let next = timeout(observed.patience, told.recv()).await.expect("in time");
        names.push(next.expect("the handler lives on"));
    }
    names.sort();
    assert_eq!(names, ["a", "b", "c", "later"]);
}

/// 12. After a handler's removal its queued notifications still run. Here the removal can be awaited: it lasts as long as
/// the call that is under way, and afterwards nothing runs.
#[tokio::test]
async fn handler_removal_can_be_awaited() {
    let server = TestServer::start().await;
    let observed = ObservedInformer::on(&server, |informer| informer);
    for n in 0..20 {
        observed.create(&format!("map-{n}")).await;
    }
    let calls = Arc::new(AtomicUsize::new(0));
    let (counted, (tell, mut told)) = (Arc::clone(&calls), mpsc::unbounded_channel());
    let (let_go, hold) = std::sync::mpsc::channel::<()>();
    let handler = move |_: Event<ConfigMap>| {
        let _ = tell.send(());
        let _ = hold.recv();
        counted.fetch_add(1, Ordering::SeqCst);
    };
    let registration = observed.informer.add_handler(handler).expect("a new informer");
    observed.start().await;
    timeout(observed.patience, told.recv()).await.expect("in time");
    let mut removal = Box::pin(registration.remove_and_wait());
    assert!(futures::poll!(&mut removal).is_pending(), "the handler runs");
    drop(let_go);
    timeout(observed.patience, removal).await.expect("in time");
    assert_eq!(
        calls.load(Ordering::SeqCst),
        1,
        "the call that was under way, to its end"
    );
    observed.catches_up().await;
    assert_eq!(calls.load(Ordering::SeqCst), 1, "nothing runs after the removal");
    timeout(observed.patience, registration.remove_and_wait())
        .await
        .expect("again, at once");
}

/// 1, 27. A stalled handler's notifications pile up without bound. Here pending changes of one object are one, so that the
/// backlog is bounded by the number of objects, is shown by [`kube_informer::Registration::backlog`], and is gone once
/// they are told.
#[tokio::test]
async fn backlog_of_a_stalled_handler_is_bounded() {
    let server = TestServer::start().await;
    let observed = ObservedInformer::on(&server, |informer| informer);
    for name in ["a", "b", "c"] {
        observed.create(name).await;
    }
    observed.start().await;
    let mut stalled = observed.events();
    assert_eq!(stalled.sorted(3).await, ["+a", "+b", "+c"]);
    let mut last = 0;
    for round in 0..20 {
        for name in ["a", "b", "c"] {
            last = observed.change(name, &format!("{round}")).await;
        }
    }
    observed.reach(last).await;
    let registration = stalled.events.registration();
    assert_eq!(registration.backlog(), 3);
    let mut told = Vec::new();
    for _ in 0..3 {
        match stalled.event().await {
            Event::Updated { old, new } => {
                assert!(old.version().is_before(new.version()));
                told.push(new.version().to_string());
            }
            other => panic!("{other:?}"),
        }
    }
    told.sort_by_key(String::len);
    assert!(
        told.contains(&last.to_string()),
        "the newest state of each: {told:?}"
    );
    assert_eq!(registration.backlog(), 0);
}

/// 11. Waiting for the cache says nothing about handlers, and polls. Here each registration can be waited for, and what is
/// waited for wakes the waiter: no virtual time passes.
#[tokio::test]
async fn registration_sync_waits_for_its_handler() {
    let server = TestServer::start().await;
    let observed = ObservedInformer::on(&server, |informer| informer);
    observed.create("a").await;
    let (let_go, hold) = (Arc::new(Semaphore::new(0)), Arc::new(AtomicUsize::new(0)));
    let (gate, handled) = (Arc::clone(&let_go), Arc::clone(&hold));
    let slow = move |_| {
        let (gate, handled) = (Arc::clone(&gate), Arc::clone(&handled));
        async move {
            gate.acquire().await.expect("an open gate").forget();
            handled.fetch_add(1, Ordering::Relaxed);
        }
    };
    let registration = observed
        .informer
        .add_async_handler_with(slow, HandlerOptions::new())
        .expect("a new informer");
    observed.start().await;
    pause();
    let begin = Instant::now();
    assert!(observed.informer.has_synced() && !registration.has_synced());
    let mut wait = Box::pin(registration.synced());
    assert!(
        futures::poll!(&mut wait).is_pending(),
        "the handler is not through"
    );
    let_go.add_permits(1);
    timeout(observed.patience, wait)
        .await
        .expect("in time")
        .expect("synced");
    assert_eq!(hold.load(Ordering::Relaxed), 1);
    assert_eq!(begin.elapsed(), Duration::ZERO, "nobody polled");
    resume();
}

/// 28. Handlers have names that tell nothing. Here the name is the user's, or the type's, which says where it was written.
#[tokio::test]
async fn handlers_have_meaningful_names() {
    let server = TestServer::start().await;
    let observed = ObservedInformer::on(&server, |informer| informer);
    let named = HandlerOptions::new().name("cleaner");
    let registration = observed
        .informer
        .add_handler_with(|_: Event<ConfigMap>| {}, named)
        .expect("a new informer");
    assert_eq!(registration.name(), "cleaner");
    let registration = observed
        .informer
        .add_handler(|_: Event<ConfigMap>| {})
        .expect("a new informer");
    assert!(
        registration.name().contains("handlers_have_meaningful_names"),
        "{}",
        registration.name()
    );
}
