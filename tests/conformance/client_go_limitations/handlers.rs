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

/// 10. A panic in an initial add leaves the handler unsynced forever. Here the event counts as handled, and
/// the panic is counted.
#[tokio::test]
async fn panic_in_an_initial_add_does_not_prevent_sync() {
    let server = TestServer::start().await;
    let observed = ObservedInformer::on(&server, |informer| informer);
    for name in ["a", "b", "c"] {
        observed.create(name).await;
    }
    let (sender, mut receiver) = mpsc::unbounded_channel();
    let handler = callbacks::<ConfigMap>().on_add(move |object, _| {
        drop(sender.send(object.key().name().to_owned()));
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
        let next = timeout(observed.patience, receiver.recv())
            .await
            .expect("in time");
        names.push(next.expect("the handler continues"));
    }
    names.sort();
    assert_eq!(names, ["a", "b", "c", "later"]);
}

/// 12. After the removal of a handler, its queued notifications still run. Here the removal can be awaited:
/// it ends with the current call, and afterwards the handler is not called.
#[tokio::test]
async fn handler_removal_can_be_awaited() {
    let server = TestServer::start().await;
    let observed = ObservedInformer::on(&server, |informer| informer);
    for n in 0..20 {
        observed.create(&format!("map-{n}")).await;
    }
    let calls = Arc::new(AtomicUsize::new(0));
    let (counted, (sender, mut receiver)) = (Arc::clone(&calls), mpsc::unbounded_channel());
    let (let_go, hold) = std::sync::mpsc::channel::<()>();
    let handler = move |_: Event<ConfigMap>| {
        let _ = sender.send(());
        let _ = hold.recv();
        counted.fetch_add(1, Ordering::SeqCst);
    };
    let registration = observed.informer.add_handler(handler).expect("a new informer");
    observed.start().await;
    timeout(observed.patience, receiver.recv())
        .await
        .expect("in time");
    let mut removal = Box::pin(registration.remove_and_wait());
    assert!(futures::poll!(&mut removal).is_pending(), "the handler runs");
    drop(let_go);
    timeout(observed.patience, removal).await.expect("in time");
    assert_eq!(calls.load(Ordering::SeqCst), 1, "the current call has finished");
    observed.catches_up().await;
    assert_eq!(calls.load(Ordering::SeqCst), 1, "nothing runs after the removal");
    timeout(observed.patience, registration.remove_and_wait())
        .await
        .expect("again, at once");
}

/// 1, 27. A stalled handler's notifications grow without bound. Here pending changes of one object are
/// coalesced, so the backlog is bounded by the number of objects. [`kube_informer::Registration::backlog`]
/// returns it.
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
    let mut receiver = Vec::new();
    for _ in 0..3 {
        match stalled.event().await {
            Event::Updated { old, new } => {
                assert!(old.version().is_before(new.version()));
                receiver.push(new.version().to_string());
            }
            other => panic!("{other:?}"),
        }
    }
    receiver.sort_by_key(String::len);
    assert!(
        receiver.contains(&last.to_string()),
        "the newest state of each: {receiver:?}"
    );
    assert_eq!(registration.backlog(), 0);
}

/// 11. Waiting for the cache does not include handlers, and polls. Here each registration can be awaited, and
/// the waiter is woken: no virtual time passes.
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
        "the handler has not finished"
    );
    let_go.add_permits(1);
    timeout(observed.patience, wait)
        .await
        .expect("in time")
        .expect("synced");
    assert_eq!(hold.load(Ordering::Relaxed), 1);
    assert_eq!(begin.elapsed(), Duration::ZERO, "no polling");
    resume();
}

/// 28. Names of handlers are meaningless. Here the user sets the name, or it is that of the type, which
/// contains its module.
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
