//! Events as a stream.

use futures::{FutureExt, StreamExt};
use kube_informer::HandlerOptions;
use tokio::time::timeout;

use crate::recording::{LONG, check_final_state, short};
use crate::scripted::Server;

#[tokio::test]
async fn a_stream_gets_the_events_of_a_handler() {
    let server = Server::with(&["a/n0"]);
    let informer = server.informer();
    let mut events = informer.events_with(HandlerOptions::new().name("mine")).unwrap();
    assert!(events.next().now_or_never().is_none());
    assert_eq!(events.registration().name(), "mine");
    informer.start().unwrap();
    assert_eq!(
        short(&timeout(LONG, events.next()).await.unwrap().unwrap()),
        "* a/n0@2"
    );
    assert!(
        !events.registration().has_synced(),
        "the last initial event was not followed by another poll"
    );
    assert!(events.next().now_or_never().is_none());
    assert!(events.registration().has_synced());
    server.put("a/n0", "changed");
    assert_eq!(
        short(&timeout(LONG, events.next()).await.unwrap().unwrap()),
        "~ a/n0@2>3"
    );
    server.delete("a/n0");
    assert_eq!(
        short(&timeout(LONG, events.next()).await.unwrap().unwrap()),
        "- a/n0@4"
    );
    informer.shutdown().await;
    assert!(events.next().await.is_none());
}

/// The stop does not wait for streams, whose earlier events can still be taken.
#[tokio::test]
async fn a_stream_ends_after_all_events_were_taken() {
    let server = Server::with(&["a/n0", "a/n1", "a/n2"]);
    let informer = server.informer();
    let mut events = informer.events().unwrap();
    informer.start().unwrap();
    informer.wait_for_sync(LONG).await.unwrap();
    server.put("a/n0", "changed");
    server.delete("a/n1");
    informer.wait_for_version(server.version(), LONG).await.unwrap();
    timeout(LONG, informer.shutdown())
        .await
        .expect("it does not wait for streams");
    assert_eq!(events.registration().backlog(), 5);
    let rest: Vec<_> = events.by_ref().collect().await;
    assert_eq!(rest.len(), 5);
    check_final_state(&rest, &informer);
    assert!(events.next().await.is_none(), "the stream stays ended");
    assert!(events.registration().has_synced());
}

#[tokio::test]
async fn a_dropped_stream_is_removed() {
    let server = Server::with(&["a/n0"]);
    let informer = server.informer();
    let events = informer.events().unwrap();
    let registration = events.registration();
    informer.start().unwrap();
    informer.wait_for_sync(LONG).await.unwrap();
    assert_eq!((informer.registrations().len(), registration.backlog()), (1, 1));
    drop(events);
    assert_eq!((informer.registrations().len(), registration.backlog()), (0, 0));
    assert!(registration.synced().await.unwrap_err().is_stopped());
    timeout(LONG, registration.remove_and_wait()).await.unwrap();
    informer.shutdown().await;
}

/// A stream has no task, so its removal takes effect at once, even for its owner.
#[tokio::test]
async fn a_removed_stream_ends() {
    let server = Server::with(&["a/n0"]);
    let informer = server.informer();
    let mut events = informer.events().unwrap();
    informer.start().unwrap();
    informer.wait_for_sync(LONG).await.unwrap();
    let registration = events.registration();
    timeout(LONG, registration.remove_and_wait())
        .await
        .expect("the removal waits for nothing");
    assert!(events.next().await.is_none());
    assert!(!registration.has_synced());
    informer.shutdown().await;
}

/// A poll is woken by the removal.
#[tokio::test]
async fn a_waiting_stream_is_woken_by_its_removal_and_by_the_stop() {
    for stop in [true, false] {
        let informer = Server::new().informer();
        let mut events = informer.events().unwrap();
        let registration = events.registration();
        let waiting = tokio::spawn(async move { events.next().await.is_none() });
        informer.start().unwrap();
        informer.wait_for_sync(LONG).await.unwrap();
        registration.synced().await.unwrap();
        if stop {
            informer.shutdown().await;
        } else {
            registration.remove();
        }
        assert!(timeout(LONG, waiting).await.unwrap().unwrap());
        informer.shutdown().await;
    }
}

/// The stream never received its initial events, so a wait for its sync fails.
#[tokio::test]
async fn a_stream_of_an_informer_that_never_listed_does_not_sync() {
    let server = Server::new();
    server.answer_lists(false);
    let informer = server.informer();
    let mut events = informer.events().unwrap();
    let registration = events.registration();
    informer.start().unwrap();
    let waiting = tokio::spawn(async move { registration.synced().await });
    informer.shutdown().await;
    assert!(events.next().await.is_none());
    assert!(
        timeout(LONG, waiting)
            .await
            .unwrap()
            .unwrap()
            .unwrap_err()
            .is_stopped()
    );
}
