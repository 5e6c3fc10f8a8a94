//! Watches on which no event arrives. The suite `embedded` tests the exact timeouts.

use std::time::Duration;

use conformance::TestServer;
use conformance::chaos::{NetworkCondition, Proxy};
use futures::StreamExt;
use kube::Client;
use kube_informer::client::watching_client;
use tokio::time::{advance, pause, resume, timeout};

use crate::observed_informer::ObservedInformer;

/// Skips time until the informer has sent another request. The connection is dead, so no other event can
/// occur.
async fn renewed(observed: &ObservedInformer, within: Duration) {
    let before = observed.tap.all().len();
    let step = Duration::from_secs(1);
    let mut skipped = Duration::ZERO;
    pause();
    while observed.tap.all().len() == before {
        assert!(skipped <= within, "{:?} after {skipped:?}", observed.tap.words());
        advance(step).await;
        skipped += step;
    }
    resume();
}

/// A connection that was dropped by a middlebox. kube's client does not detect this, so the informer must.
#[tokio::test]
async fn stalled_watch_is_restarted() {
    let server = TestServer::start().await;
    let (proxy, mut observed) = ObservedInformer::behind_proxy(&server, |informer| informer).await;
    observed.create("a").await;
    observed.start().await;
    proxy.stall();
    observed.change("a", "2").await;
    // At the latest after ten minutes, when the watch should have ended.
    renewed(&observed, Duration::from_secs(615)).await;
    let error = observed.error().await;
    assert!(error.is_connection(), "{error}");
    assert!(error.to_string().contains("no data for"), "{error}");
    observed.catches_up().await;
    assert_eq!(
        observed.tap.words(),
        ["stream newest", "watch last"],
        "renewed without a list"
    );
}

/// The client for watching sends keepalives, so it detects this within a minute.
#[tokio::test]
async fn stalled_connection_of_the_watching_client_is_detected_within_a_minute() {
    let server = TestServer::start().await;
    let mut config = server.config().await;
    let proxy = Proxy::before(&mut config).await.expect("a proxy");
    let client: Client = watching_client(config).expect("a client");
    let mut observed = ObservedInformer::with_client(&server, &client, |informer| informer);
    observed.create("a").await;
    observed.start().await;
    proxy.stall();
    observed.change("a", "2").await;
    renewed(&observed, Duration::from_mins(1)).await;
    let error = observed.error().await;
    assert!(error.is_connection(), "{error}");
    observed.catches_up().await;
    assert_eq!(
        observed.tap.words(),
        ["stream newest", "watch last"],
        "renewed without a list"
    );
}

/// A server that is unresponsive for a second, for example under load. The connection stays usable.
#[tokio::test]
async fn no_event_is_lost_when_a_frozen_server_resumes() {
    let server = TestServer::alone().await;
    let (proxy, observed) = ObservedInformer::behind_proxy(&server, |informer| informer).await;
    observed.create("a").await;
    observed.start().await;
    let mut events = observed.events();
    assert_eq!(events.next().await, "+a");
    match server.real() {
        Some(real) => real.apiserver().freeze().await.expect("a process to freeze"),
        None => proxy.set(NetworkCondition::Silent),
    }
    // On the real server, the write waits, too.
    let write = observed.change("a", "2");
    let thaw = async {
        let nothing = timeout(Duration::from_secs(1), events.events.next()).await;
        assert!(nothing.is_err(), "{nothing:?}");
        match server.real() {
            Some(real) => real.apiserver().thaw().await.expect("a process to thaw"),
            None => proxy.set(NetworkCondition::Normal),
        }
    };
    tokio::join!(write, thaw);
    assert_eq!(events.next().await, "~a");
    observed.catches_up().await;
    assert_eq!(observed.tap.words(), ["stream newest"]);
}
