//! Watches on which nothing arrives any more. The suite `embedded` tests the exact timeouts.

use std::time::Duration;

use conformance::TestServer;
use conformance::chaos::{Proxy, Weather};
use futures::StreamExt;
use kube::Client;
use kube_informer::watching_client;
use tokio::time::{advance, pause, resume, timeout};

use crate::scene::Scene;

/// Skips time until the informer has sent another request. Nothing else is waited for meanwhile: the connection is dead.
async fn renewed(scene: &Scene, within: Duration) {
    let before = scene.tap.all().len();
    let step = Duration::from_secs(1);
    let mut skipped = Duration::ZERO;
    pause();
    while scene.tap.all().len() == before {
        assert!(skipped <= within, "{:?} after {skipped:?}", scene.tap.words());
        advance(step).await;
        skipped += step;
    }
    resume();
}

/// A connection that something on the way has forgotten. kube's client does not notice it, so the informer has to.
#[tokio::test]
async fn stalled_watch_is_restarted() {
    let server = TestServer::start().await;
    let (proxy, mut scene) = Scene::proxied(&server, |informer| informer).await;
    scene.make("a").await;
    scene.start().await;
    proxy.stall();
    scene.change("a", "2").await;
    // At the latest when the watch should have ended, after ten minutes.
    renewed(&scene, Duration::from_secs(615)).await;
    let error = scene.error().await;
    assert!(error.is_connection(), "{error}");
    assert!(error.to_string().contains("nothing came for"), "{error}");
    scene.catches_up().await;
    assert_eq!(
        scene.tap.words(),
        ["stream newest", "watch last"],
        "renewed without a list"
    );
}

/// The client for watching asks whether the other side is there, so that it takes less than a minute.
#[tokio::test]
async fn stalled_connection_of_the_watching_client_is_detected_within_a_minute() {
    let server = TestServer::start().await;
    let mut config = server.config().await;
    let proxy = Proxy::before(&mut config).await.expect("a proxy");
    let client: Client = watching_client(config).expect("a client");
    let mut scene = Scene::through(&server, &client, |informer| informer);
    scene.make("a").await;
    scene.start().await;
    proxy.stall();
    scene.change("a", "2").await;
    renewed(&scene, Duration::from_mins(1)).await;
    let error = scene.error().await;
    assert!(error.is_connection(), "{error}");
    scene.catches_up().await;
    assert_eq!(
        scene.tap.words(),
        ["stream newest", "watch last"],
        "renewed without a list"
    );
}

/// A server that is silent for a second and goes on, as a machine under load does. The connection is as good as before.
#[tokio::test]
async fn no_event_is_lost_when_a_frozen_server_resumes() {
    let server = TestServer::alone().await;
    let (proxy, scene) = Scene::proxied(&server, |informer| informer).await;
    scene.make("a").await;
    scene.start().await;
    let mut told = scene.events();
    assert_eq!(told.next().await, "+a");
    match server.real() {
        Some(real) => real.apiserver().freeze().await.expect("a process to freeze"),
        None => proxy.set(Weather::Silent),
    }
    // On the real server the write waits as well.
    let write = scene.change("a", "2");
    let thaw = async {
        let nothing = timeout(Duration::from_secs(1), told.events.next()).await;
        assert!(nothing.is_err(), "{nothing:?}");
        match server.real() {
            Some(real) => real.apiserver().thaw().await.expect("a process to thaw"),
            None => proxy.set(Weather::Fair),
        }
    };
    tokio::join!(write, thaw);
    assert_eq!(told.next().await, "~a");
    scene.catches_up().await;
    assert_eq!(scene.tap.words(), ["stream newest"]);
}
