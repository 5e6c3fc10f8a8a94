//! Backoff while a server is down. The suite `embedded` has the other failures.

use std::time::Duration;

use conformance::TestServer;
use kube_informer::Backoff;
use tokio::time::{Instant, advance, pause, resume, timeout};

use crate::observed_informer::ObservedInformer;

/// A refused connection needs no server, so the clock is paused while the server is down.
#[tokio::test]
async fn backoff_grows_to_its_cap_during_an_hour_long_outage() {
    let server = TestServer::alone().await;
    let default = |informer: kube_informer::InformerBuilder<_>| informer.backoff(Backoff::default());
    let mut observed = ObservedInformer::on(&server, default);
    observed.create("a").await;
    observed.start().await;
    let before = observed.tap.all().len();
    server.go_down().await;
    observed.error_that(kube_informer::Error::is_connection).await;
    pause();
    let down = Instant::now();
    tokio::time::sleep(Duration::from_hours(1)).await;
    let asked: Vec<_> = observed.tap.all()[before..]
        .iter()
        .map(|asked| asked.at)
        .collect();
    resume();
    let waits: Vec<_> = asked.windows(2).map(|pair| pair[1] - pair[0]).collect();
    // The first wait, of 0.8 s, may have started before the clock was paused.
    let bases = [1.6, 3.2, 6.4, 12.8, 25.6]
        .into_iter()
        .chain(std::iter::repeat(30.0));
    for (at, (wait, base)) in waits.iter().zip(bases).enumerate() {
        assert!(wait.as_secs_f64() >= base, "wait {at} is {wait:?}: {waits:?}");
    }
    let requests = asked.iter().filter(|at| **at > down).count();
    assert!((50..=120).contains(&requests), "{requests} requests in an hour");

    server.restart().await;
    // Skips the wait for the next attempt.
    pause();
    advance(Duration::from_mins(1)).await;
    resume();
    observed.catches_up().await;
}

/// In real time, counting connections at the server, so that a client's own retries are included.
#[tokio::test]
async fn connection_attempts_respect_the_backoff() {
    let server = TestServer::alone().await;
    let brisk = Backoff {
        initial: Duration::from_millis(100),
        factor: 2.0,
        cap: Duration::from_millis(800),
        jitter: 0.0,
        ..Backoff::default()
    };
    let (proxy, observed) = ObservedInformer::behind_proxy(&server, |informer| informer.backoff(brisk)).await;
    observed.create("a").await;
    observed.start().await;
    let connected = proxy.connections();
    let began = Instant::now();
    server.go_down().await;
    // There are waits of 0.1, 0.2, 0.4, 0.8 and 0.8 seconds before the fifth attempt.
    let attempts = timeout(Duration::from_mins(1), proxy.accepted(connected + 5)).await;
    attempts.expect("five attempts");
    assert!(
        began.elapsed() >= Duration::from_millis(2_300),
        "{:?}",
        began.elapsed()
    );
    assert!(
        observed.tap.all().len() >= 6,
        "each connection attempt is a request of the informer"
    );

    server.restart().await;
    observed.catches_up().await;
}
