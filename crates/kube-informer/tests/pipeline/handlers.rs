//! Handlers that are slow, stuck or panic do not affect other handlers.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use k8s_openapi::api::core::v1::ConfigMap;
use kube_informer::{Event, EventHandler, HandlerOptions, Object, Registration, SharedInformer, callbacks};
use tokio::sync::Semaphore;

use crate::logged::{Log, subscribe};
use crate::recording::{LONG, check_final_state, recorder, recording_channel, short};
use crate::scripted::{Server, text};

async fn reach(informer: &SharedInformer<ConfigMap>, server: &Server) {
    informer.wait_for_version(server.version(), LONG).await.unwrap();
}

/// Changes each of its objects many times, and adds and deletes others.
fn churn(server: &Server, rounds: usize) {
    for round in 0..rounds {
        for n in 0..5 {
            server.put(&format!("a/n{n}"), &round.to_string());
        }
        server.put(&format!("a/passing{round}"), "");
        server.delete(&format!("a/passing{round}"));
    }
}

/// Contract 6: blocking handlers and long lists share the runtime's threads for blocking code.
#[test]
fn contract_6_stuck_handlers_do_not_keep_all_threads_from_a_long_list() {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .max_blocking_threads(1)
        .enable_all()
        .build()
        .unwrap();
    let (release, gate) = std::sync::mpsc::channel::<()>();
    let (stuck, is_stuck) = std::sync::mpsc::channel();
    runtime.block_on(async {
        let informer = Server::with(&["a/one"]).informer();
        let handler = move |_: Event<ConfigMap>| {
            let _ = stuck.send(());
            let _ = gate.recv();
        };
        informer.add_handler(handler).unwrap();
        informer.start().unwrap();
        informer.wait_for_sync(LONG).await.unwrap();
        is_stuck.recv().unwrap();
        let names: Vec<String> = (0..2_001).map(|n| format!("a/{n}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let other = Server::with(&names).informer();
        other.start().unwrap();
        other.wait_for_sync(LONG).await.unwrap();
        assert_eq!(other.lister().len(), 2_001);
    });
    drop(release);
}

/// Contract 6, for a handler that blocks its thread and one whose future never finishes: the store and the
/// other handlers continue, the backlog does not exceed the number of objects, and the final state is
/// correct.
#[tokio::test]
async fn contract_6_a_stuck_handler_delays_no_other_handler() {
    let server = Server::with(&["a/n0", "a/n1", "a/n2", "a/n3", "a/n4"]);
    let informer = server.informer();
    let (release, gate) = std::sync::mpsc::channel::<()>();
    let (blocked, mut blocked_recording) = recording_channel();
    let blocking = informer
        .add_handler(move |event| {
            let _ = blocked.send(event);
            let _ = gate.recv();
        })
        .unwrap();
    let (pending, mut pending_recording) = recording_channel();
    let permits = Arc::new(Semaphore::new(0));
    let wait = Arc::clone(&permits);
    let asynchronous = informer
        .add_async_handler_with(
            move |event| {
                let (pending, wait) = (pending.clone(), Arc::clone(&wait));
                async move {
                    let _ = pending.send(event);
                    wait.acquire().await.unwrap().forget();
                }
            },
            HandlerOptions::new(),
        )
        .unwrap();
    let (handler, mut free) = recorder();
    informer.add_handler(handler).unwrap();
    informer.start().unwrap();
    let stuck = [blocked_recording.event().await, pending_recording.event().await];

    churn(&server, 200);
    reach(&informer, &server).await;
    let last = server.put("a/last", "");
    let mut seen = Vec::new();
    while seen
        .last()
        .is_none_or(|event: &Event<ConfigMap>| *event.object().version() != last)
    {
        seen.push(free.event().await);
    }
    check_final_state(&seen, &informer);
    for registration in [&blocking, &asynchronous] {
        assert!(!registration.has_synced());
        // Four initial objects are pending, and six objects have changed.
        assert_eq!(registration.backlog(), 4 + 6, "{registration:?}");
    }

    drop(release);
    permits.add_permits(1_000);
    informer.shutdown().await;
    let [first_blocked, first_pending] = stuck;
    for (first, mut recording) in [
        (first_blocked, blocked_recording),
        (first_pending, pending_recording),
    ] {
        let mut events = vec![first];
        events.extend(recording.rest().await);
        assert_eq!(events.len(), 5 + 6);
        check_final_state(&events, &informer);
    }
}

/// Coalescing is optional.
#[tokio::test]
async fn a_handler_can_get_every_event() {
    let server = Server::with(&["a/n"]);
    let informer = server.informer();
    let (release, gate) = std::sync::mpsc::channel::<()>();
    let (sender, mut recording) = recording_channel();
    let handler = move |event| {
        let _ = sender.send(event);
        let _ = gate.recv();
    };
    let options = HandlerOptions::new().every_event();
    let registration = informer.add_handler_with(handler, options).unwrap();
    informer.start().unwrap();
    assert_eq!(recording.next().await, "* a/n@2");
    for _ in 0..50 {
        server.put("a/n", "");
        server.put("a/passing", "");
        server.delete("a/passing");
    }
    reach(&informer, &server).await;
    server.bookmark();
    reach(&informer, &server).await;
    assert_eq!(registration.backlog(), 150);
    drop(release);
    informer.shutdown().await;
    let events = recording.rest().await;
    let versions: Vec<String> = events
        .iter()
        .map(|event| event.object().version().to_string())
        .collect();
    assert_eq!(
        versions,
        (3..153).map(|version| version.to_string()).collect::<Vec<_>>()
    );
    assert_eq!(registration.backlog(), 0);
}

/// A handler that panics at each kind of event.
struct PanickingHandler {
    calls: Arc<AtomicUsize>,
}

impl EventHandler<ConfigMap> for PanickingHandler {
    fn handle(&mut self, event: Event<ConfigMap>) {
        self.calls.fetch_add(1, Ordering::Relaxed);
        panic!("at {}", short(&event));
    }
}

fn panicking(calls: &Arc<AtomicUsize>) -> PanickingHandler {
    PanickingHandler {
        calls: Arc::clone(calls),
    }
}

/// Contract 8: a panic during an initial event does not prevent the sync. Each event is delivered once, and
/// each panic is counted and logged with the handler's name.
#[tokio::test]
async fn contract_6_a_panic_costs_one_event() {
    let log = Log::default();
    let _guard = subscribe(log.clone());
    let server = Server::with(&["a/n0", "a/n1"]);
    let informer = server.informer();
    let calls = Arc::new(AtomicUsize::new(0));
    let options = HandlerOptions::new().every_event();
    let in_the_future = {
        let calls = Arc::clone(&calls);
        move |event: Event<ConfigMap>| {
            let calls = Arc::clone(&calls);
            async move {
                calls.fetch_add(1, Ordering::Relaxed);
                tokio::task::yield_now().await;
                panic!("at {}", short(&event));
            }
        }
    };
    let in_the_call = {
        let mut handler = panicking(&calls);
        move |event| {
            handler.handle(event);
            std::future::ready(())
        }
    };
    let registrations: Vec<Registration> = vec![
        informer
            .add_handler_with(panicking(&calls), options.clone().name("blocking"))
            .unwrap(),
        informer
            .add_handler_with(panicking(&calls), options.clone().name("inline").never_blocks())
            .unwrap(),
        informer
            .add_async_handler_with(in_the_future, options.clone().name("future"))
            .unwrap(),
        informer
            .add_async_handler_with(in_the_call, options.clone().name("call"))
            .unwrap(),
    ];
    let (handler, mut sound) = recorder();
    informer.add_handler_with(handler, options).unwrap();
    informer.start().unwrap();
    for registration in &registrations {
        registration.synced().await.unwrap();
        assert_eq!(registration.panics(), 2);
    }
    server.put("a/n0", "changed");
    server.delete("a/n1");
    reach(&informer, &server).await;
    informer.shutdown().await;
    for registration in &registrations {
        assert_eq!(registration.panics(), 4, "{registration:?}");
        assert_eq!(registration.backlog(), 0);
    }
    assert_eq!(calls.load(Ordering::Relaxed), 4 * registrations.len());
    assert_eq!(sound.rest().await.len(), 4);
    // Blocking handlers run on other threads, which this log does not cover.
    let lines = log.lines();
    for name in ["inline", "future", "call"] {
        for what in ["* a/n0@2", "* a/n1@3", "~ a/n0@2>4", "- a/n1@5"] {
            let fits = |line: &&String| line.contains(&format!("handler={name} ")) && line.contains(what);
            assert_eq!(lines.iter().filter(fits).count(), 1, "{name} {what} {lines:#?}");
        }
    }
}

/// Contract 4.
#[tokio::test]
async fn contract_4_the_cache_is_ahead_of_every_handler() {
    let server = Server::with(&["a/n0"]);
    let informer = server.informer();
    let by_text = informer.index("text", text).unwrap();
    let (cache, options) = (informer.clone(), HandlerOptions::new().every_event());
    let (sender, mut recording) = recording_channel();
    let check = move |event: Event<ConfigMap>| {
        let snapshot = cache.snapshot();
        assert!(!snapshot.version().unwrap().is_before(event.object().version()));
        if let Some(object) = snapshot.get(event.key()) {
            let value = text(&object).unwrap();
            assert!(
                snapshot
                    .by(&by_text, value.as_str())
                    .iter()
                    .any(|found| Object::ptr_eq(found, &object))
            );
        }
        let _ = sender.send(event);
    };
    let registration = informer.add_handler_with(check, options).unwrap();
    informer.start().unwrap();
    churn(&server, 100);
    reach(&informer, &server).await;
    informer.shutdown().await;
    check_final_state(&recording.rest().await, &informer);
    assert_eq!(registration.panics(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_recreated_object_is_deleted_and_added() {
    let server = Server::with(&["a/n"]);
    let informer = server.informer();
    let (handler, mut recording) = recorder();
    let options = HandlerOptions::new().every_event();
    informer.add_handler_with(handler, options).unwrap();
    informer.start().unwrap();
    assert_eq!(recording.next().await, "* a/n@2");
    server.delete("a/n");
    server.put("a/n", "another");
    assert_eq!(recording.some(2).await, ["- a/n@3", "+ a/n@4"]);

    // The same without a watch: the list contains only the second object.
    server.answer_lists(false);
    server.expire();
    server.delete("a/n");
    server.put("a/n", "a third");
    server.answer_lists(true);
    assert_eq!(recording.some(2).await, ["? a/n@4", "+ a/n@6"]);
    informer.shutdown().await;
}

/// The trait's methods, closures, and a handler of any event get the same events.
#[tokio::test]
async fn all_forms_of_handlers_get_the_same_events() {
    struct Methods(tokio::sync::mpsc::UnboundedSender<String>);

    impl EventHandler<ConfigMap> for Methods {
        fn on_add(&mut self, object: &Object<ConfigMap>, is_in_initial_list: bool) {
            let _ = self.0.send(format!("add {} {is_in_initial_list}", object.key()));
        }

        fn on_delete(&mut self, deleted: &kube_informer::handler::DeletedObject<ConfigMap>) {
            let _ = self.0.send(format!("delete {}", deleted.key()));
        }
    }

    let server = Server::with(&["a/n"]);
    let informer = server.informer();
    let (by_methods, mut methods) = tokio::sync::mpsc::unbounded_channel();
    let (by_closures, mut closures) = tokio::sync::mpsc::unbounded_channel();
    let [on_add, on_update, on_delete] = [(); 3].map(|()| by_closures.clone());
    drop(by_closures);
    informer.add_handler(Methods(by_methods)).unwrap();
    let closures_handler = callbacks::<ConfigMap>()
        .on_add(move |object, initial| drop(on_add.send(format!("add {} {initial}", object.key()))))
        .on_update(move |old, new| {
            drop(on_update.send(format!("update {}>{}", old.version(), new.version())));
        })
        .on_delete(move |deleted| drop(on_delete.send(format!("delete {}", deleted.key()))));
    informer.add_handler(closures_handler).unwrap();
    informer.add_handler(callbacks::<ConfigMap>()).unwrap();
    informer.start().unwrap();
    for registration in informer.registrations() {
        registration.synced().await.unwrap();
    }
    assert_eq!(closures.recv().await.unwrap(), "add a/n true");
    server.put("a/n", "changed");
    assert_eq!(closures.recv().await.unwrap(), "update 2>3");
    server.delete("a/n");
    assert_eq!(closures.recv().await.unwrap(), "delete a/n");
    informer.shutdown().await;
    assert_eq!(methods.recv().await.unwrap(), "add a/n true");
    assert_eq!(
        methods.recv().await.unwrap(),
        "delete a/n",
        "methods without an implementation do nothing"
    );
    assert!(methods.recv().await.is_none());
}

#[tokio::test]
async fn a_handler_has_a_name() {
    let informer = Server::new().informer();
    let named = informer
        .add_handler_with(|_| {}, HandlerOptions::new().name("cleaner"))
        .unwrap();
    let unnamed = informer
        .add_handler(PanickingHandler {
            calls: Arc::default(),
        })
        .unwrap();
    assert_eq!(named.name(), "cleaner");
    assert!(
        unnamed.name().ends_with("handlers::PanickingHandler"),
        "{}",
        unnamed.name()
    );
    assert_eq!(informer.events().unwrap().registration().name(), "stream");
    let names: Vec<String> = informer
        .registrations()
        .iter()
        .map(|r| r.name().to_owned())
        .collect();
    assert_eq!(names.len(), 2, "the stream was removed: {names:?}");
}

/// A handler that is added twice is called twice.
#[tokio::test]
async fn a_handler_added_twice_is_called_twice() {
    #[derive(Clone)]
    struct Count(Arc<AtomicUsize>);

    impl EventHandler<ConfigMap> for Count {
        fn handle(&mut self, _: Event<ConfigMap>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    let server = Server::with(&["a/n0", "a/n1"]);
    let informer = server.informer();
    let count = Count(Arc::default());
    let first = informer.add_handler(count.clone()).unwrap();
    informer.add_handler(count.clone()).unwrap();
    informer.start().unwrap();
    first.synced().await.unwrap();
    first.remove_and_wait().await;
    assert_eq!(informer.registrations().len(), 1);
    informer.shutdown().await;
    assert_eq!(count.0.load(Ordering::Relaxed), 4);
}

/// A panic payload that panics when it is dropped.
pub(crate) struct PanicOnDrop;

impl Drop for PanicOnDrop {
    fn drop(&mut self) {
        // A second panic during the first would abort the process.
        assert!(std::thread::panicking(), "dropped");
    }
}

#[tokio::test(start_paused = true)]
async fn a_panic_payload_that_panics_on_drop_does_not_end_a_handler() {
    let server = Server::with(&["a/n0", "a/n1"]);
    let informer = server.informer();
    let (sender, mut calls) = tokio::sync::mpsc::unbounded_channel();
    let handler = |sender: tokio::sync::mpsc::UnboundedSender<()>| {
        move |_: Event<ConfigMap>| {
            let _ = sender.send(());
            std::panic::panic_any(PanicOnDrop)
        }
    };
    let options = HandlerOptions::new;
    let blocking = informer.add_handler(handler(sender.clone())).unwrap();
    let inline = informer
        .add_handler_with(handler(sender.clone()), options().never_blocks())
        .unwrap();
    let panicking = handler(sender.clone());
    let asynchronous = informer
        .add_async_handler(move |event| {
            panicking(event);
            std::future::ready(())
        })
        .unwrap();
    informer.start().unwrap();
    for _ in 0..6 {
        tokio::time::timeout(LONG, calls.recv()).await.unwrap().unwrap();
    }
    for registration in [&blocking, &inline, &asynchronous] {
        registration.wait_for_sync(LONG).await.unwrap();
        assert_eq!(registration.panics(), 2, "{}", registration.name());
    }
    informer.shutdown().await;
}
