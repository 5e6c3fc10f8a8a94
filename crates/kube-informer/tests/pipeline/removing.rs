//! Removing handlers, from outside and from inside.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures::FutureExt;
use k8s_openapi::api::core::v1::ConfigMap;
use kube_informer::{Event, HandlerOptions, Registration, SharedInformer};
use parking_lot::Mutex;
use tokio::sync::oneshot;
use tokio::time::timeout;

use crate::recording::{LONG, recorder, recording_channel};
use crate::scripted::Server;

async fn reach(informer: &SharedInformer<ConfigMap>, server: &Server) {
    informer.wait_for_version(server.version(), LONG).await.unwrap();
}

type Slot = Arc<Mutex<Option<Registration>>>;

/// Runs a function in its own thread, so that a deadlock fails the test instead of blocking it.
pub(crate) fn returns(what: impl FnOnce() + Send + 'static) {
    let (done, returned) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        what();
        let _ = done.send(());
    });
    returned.recv_timeout(LONG).expect("it returns");
}

/// Calls a function when it is dropped.
pub(crate) struct AtLast<F: FnMut()>(pub(crate) F);

impl<F: FnMut()> Drop for AtLast<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}

#[tokio::test]
async fn removing_a_handler_does_not_affect_others() {
    let server = Server::with(&["a/n"]);
    let informer = server.informer();
    let (handler, mut removed) = recorder();
    let registration = informer.add_handler(handler).unwrap();
    let (handler, mut stays) = recorder();
    informer.add_handler(handler).unwrap();
    informer.start().unwrap();
    for recording in [&mut removed, &mut stays] {
        assert_eq!(recording.next().await, "* a/n@2");
    }
    registration.remove_and_wait().await;
    server.put("a/n", "changed");
    assert_eq!(stays.next().await, "~ a/n@2>3");
    server.delete("a/n");
    assert_eq!(stays.next().await, "- a/n@4");
    informer.shutdown().await;
    assert!(removed.rest().await.is_empty());
}

/// The handler gets the event in which it removes itself, and no later one.
#[tokio::test]
async fn a_handler_may_remove_itself() {
    for options in [HandlerOptions::new(), HandlerOptions::new().never_blocks()] {
        let server = Server::with(&["a/n0", "a/n1", "a/n2"]);
        let informer = server.informer();
        let (slot, calls) = (Slot::default(), Arc::new(AtomicUsize::new(0)));
        let (inside, counted) = (Arc::clone(&slot), Arc::clone(&calls));
        let handler = move |_: Event<ConfigMap>| {
            counted.fetch_add(1, Ordering::Relaxed);
            if let Some(registration) = &*inside.lock() {
                registration.remove();
            }
        };
        let registration = informer.add_handler_with(handler, options).unwrap();
        *slot.lock() = Some(registration.clone());
        informer.start().unwrap();
        let removed = timeout(LONG, registration.synced()).await.unwrap();
        assert!(removed.unwrap_err().is_stopped());
        timeout(LONG, registration.remove_and_wait()).await.unwrap();
        assert_eq!(calls.load(Ordering::Relaxed), 1);
        assert!(!registration.has_synced());
        server.put("a/n0", "changed");
        reach(&informer, &server).await;
        informer.shutdown().await;
        assert_eq!(calls.load(Ordering::Relaxed), 1);
    }
}

#[tokio::test]
async fn an_asynchronous_handler_may_wait_for_its_own_removal() {
    let server = Server::with(&["a/n0", "a/n1"]);
    let informer = server.informer();
    let (slot, (through, mut passed)) = (Slot::default(), tokio::sync::mpsc::unbounded_channel());
    let inside = Arc::clone(&slot);
    let handler = move |_: Event<ConfigMap>| {
        let (inside, through) = (Arc::clone(&inside), through.clone());
        async move {
            let registration = inside.lock().clone().expect("it is set before the start");
            registration.remove_and_wait().await;
            let _ = through.send(());
        }
    };
    let registration = informer
        .add_async_handler_with(handler, HandlerOptions::new())
        .unwrap();
    *slot.lock() = Some(registration.clone());
    informer.start().unwrap();
    timeout(LONG, passed.recv())
        .await
        .expect("the handler does not wait for itself")
        .unwrap();
    timeout(LONG, registration.remove_and_wait()).await.unwrap();
    *slot.lock() = None;
    assert!(
        passed.recv().await.is_none(),
        "once, and the handler itself is freed"
    );
    informer.shutdown().await;
}

/// Adds a handler that removes itself and reads its informer when it is dropped.
fn guarded(informer: &SharedInformer<ConfigMap>) -> Registration {
    let (slot, looked_at) = (Slot::default(), informer.clone());
    let own = Arc::clone(&slot);
    let guard = AtLast(move || {
        let registration = own.lock().take();
        if let Some(registration) = registration {
            registration.remove();
            let _ = (
                registration.backlog(),
                looked_at.state(),
                looked_at.registrations(),
            );
        }
    });
    let handler = move |_: Event<ConfigMap>| {
        let _ = &guard;
    };
    let registration = informer.add_handler(handler).unwrap();
    *slot.lock() = Some(registration.clone());
    registration
}

#[test]
fn an_unstarted_handler_may_remove_itself_when_it_is_dropped() {
    returns(|| {
        let informer = Server::new().informer();
        let registration = guarded(&informer);
        registration.remove();
        assert!(informer.registrations().is_empty());
        assert!(registration.remove_and_wait().now_or_never().is_some());
    });
}

/// A runtime that has ended drops new tasks.
#[test]
fn a_handler_dropped_by_an_ended_runtime_may_remove_itself() {
    returns(|| {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let ended = runtime.handle().clone();
        drop(runtime);
        let informer = Server::new().informer();
        let registration = guarded(&informer);
        let _inside = ended.enter();
        informer.start().unwrap();
        assert!(informer.registrations().is_empty() && informer.is_stopped());
        assert!(registration.remove_and_wait().now_or_never().is_some());
    });
}

/// The removal of another handler is waited for.
#[tokio::test]
async fn a_handler_waits_for_the_removal_of_another() {
    let server = Server::with(&["a/n0"]);
    let informer = server.informer();
    let (release, gate) = std::sync::mpsc::channel::<()>();
    let (sender, mut recording) = recording_channel();
    let other = informer
        .add_handler(move |event| {
            let _ = sender.send(event);
            let _ = gate.recv();
        })
        .unwrap();
    informer.start().unwrap();
    recording.event().await;
    let (result_sender, mut results) = tokio::sync::mpsc::unbounded_channel();
    let removing = move |_: Event<ConfigMap>| {
        let (other, result_sender) = (other.clone(), result_sender.clone());
        async move {
            let mut removal = Box::pin(other.remove_and_wait());
            let _ = result_sender.send(futures::poll!(&mut removal).is_ready());
            removal.await;
            let _ = result_sender.send(true);
        }
    };
    informer
        .add_async_handler_with(removing, HandlerOptions::new())
        .unwrap();
    assert!(
        !timeout(LONG, results.recv()).await.unwrap().unwrap(),
        "it is still running"
    );
    drop(release);
    assert!(timeout(LONG, results.recv()).await.unwrap().unwrap());
    assert!(recording.rest().await.is_empty());
    assert_eq!(informer.registrations().len(), 1);
    informer.shutdown().await;
}

#[tokio::test]
async fn a_removed_handler_is_not_called_again() {
    let server = Server::with(&["a/n0", "a/n1"]);
    let informer = server.informer();
    let (release, gate) = std::sync::mpsc::channel::<()>();
    let (blocked, mut blocked_recording) = recording_channel();
    let blocking = informer
        .add_handler(move |event| {
            let _ = blocked.send(event);
            let _ = gate.recv();
        })
        .unwrap();
    let (finish, finished) = oneshot::channel::<()>();
    let (pending, mut pending_recording) = recording_channel();
    let mut finished = Some(finished);
    let asynchronous = informer
        .add_async_handler_with(
            move |event| {
                let _ = pending.send(event);
                let finished = finished.take();
                async move {
                    if let Some(finished) = finished {
                        let _ = finished.await;
                    }
                }
            },
            HandlerOptions::new(),
        )
        .unwrap();
    informer.start().unwrap();
    blocked_recording.event().await;
    pending_recording.event().await;

    let mut removals = [blocking.clone(), asynchronous.clone()].map(|registration| {
        tokio::spawn(async move {
            registration.remove_and_wait().await;
        })
    });
    server.put("a/n0", "changed");
    reach(&informer, &server).await;
    for removal in &mut removals {
        assert!(removal.now_or_never().is_none(), "the handler is still running");
    }
    drop((release, finish));
    for removal in removals {
        timeout(LONG, removal).await.unwrap().unwrap();
    }
    assert!(blocked_recording.rest().await.is_empty(), "nothing more");
    assert!(pending_recording.rest().await.is_empty(), "nothing more");
    for registration in [&blocking, &asynchronous] {
        assert_eq!(registration.backlog(), 0);
        assert!(!registration.has_synced());
    }
    informer.shutdown().await;
}

#[tokio::test]
async fn a_handler_can_be_removed_at_any_time_and_repeatedly() {
    let server = Server::with(&["a/n0"]);
    let informer = server.informer();
    let (handler, mut recording) = recorder();
    let early = informer.add_handler(handler).unwrap();
    timeout(LONG, early.remove_and_wait())
        .await
        .expect("before the start");
    assert!(recording.rest().await.is_empty(), "the handler is freed");
    assert!(early.synced().await.unwrap_err().is_stopped());

    let (handler, mut recording) = recorder();
    let late = informer.add_handler(handler).unwrap();
    informer.start().unwrap();
    assert_eq!(recording.next().await, "* a/n0@2");
    late.remove();
    late.remove();
    timeout(LONG, late.remove_and_wait()).await.unwrap();
    timeout(LONG, early.remove_and_wait()).await.unwrap();

    let (handler, mut recording) = recorder();
    let last = informer.add_handler(handler).unwrap();
    last.synced().await.unwrap();
    informer.shutdown().await;
    timeout(LONG, last.remove_and_wait())
        .await
        .expect("after the stop");
    assert!(last.has_synced());
    last.synced().await.unwrap();
    assert_eq!(recording.rest().await.len(), 1);
    drop(informer);
    last.remove();
    timeout(LONG, last.remove_and_wait())
        .await
        .expect("after the informer was dropped");
}

/// All threads for blocking handlers are busy while the handler is removed.
#[test]
fn a_handler_waiting_for_a_thread_is_not_called_after_its_removal() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .max_blocking_threads(1)
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let (release, gate) = std::sync::mpsc::channel::<()>();
        let busy = tokio::task::spawn_blocking(move || gate.recv());
        let server = Server::with(&["a/n0"]);
        let informer = server.informer();
        let (handler, mut recording) = recorder();
        let waiting = informer.add_handler(handler).unwrap();
        // Its task runs after that of the first handler, because it was added later.
        let (handler, mut next) = recorder();
        let never_blocks = HandlerOptions::new().never_blocks();
        informer.add_handler_with(handler, never_blocks).unwrap();
        informer.start().unwrap();
        next.event().await;
        waiting.remove();
        drop(release);
        timeout(LONG, waiting.remove_and_wait()).await.unwrap();
        assert!(
            recording.rest().await.is_empty(),
            "the handler was called after `remove` returned"
        );
        assert_eq!(waiting.delivered(), 0);
        drop(busy.await);
        informer.shutdown().await;
    });
}
