//! The informer's backoff: request times over virtual hours.

use std::time::Duration;

use kube_embedded::{Fault, On};
use kube_informer::Backoff;
use tokio::time::Instant;

use crate::observed_informer::ObservedInformer;

/// Returns the times between requests, in seconds.
fn gaps(observed: &ObservedInformer) -> Vec<f64> {
    let all = observed.tap.all();
    all.windows(2)
        .map(|pair| (pair[1].at - pair[0].at).as_secs_f64())
        .collect()
}

/// Each wait is at least its base and less than twice that.
fn assert_waits(gaps: &[f64], bases: impl IntoIterator<Item = f64>) {
    for (at, (gap, base)) in gaps.iter().zip(bases).enumerate() {
        // Virtual time has the resolution of a timer, one millisecond.
        assert!(
            (base..2.0 * base + 0.002).contains(gap),
            "wait {at} is {gap} s, and should be {base} s or up to twice that: {gaps:?}"
        );
    }
}

fn growing() -> impl Iterator<Item = f64> {
    [0.8, 1.6, 3.2, 6.4, 12.8, 25.6]
        .into_iter()
        .chain(std::iter::repeat(30.0))
}

#[tokio::test(start_paused = true)]
async fn backoff_does_not_reset_during_an_hour_long_outage() {
    let (server, observed) = ObservedInformer::paused(|informer| informer.streaming_list(false)).await;
    observed.create("a").await;
    observed.start().await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    let before = observed.tap.all().len();
    server.go_down().await;
    let begin = Instant::now();
    tokio::time::sleep(Duration::from_hours(1)).await;
    let gaps = gaps(&observed);
    assert_waits(&gaps[before..], growing().skip(1));
    let first = observed.tap.all()[before].at - begin;
    assert!((800..1602).contains(&first.as_millis()), "{first:?}");
    assert!(
        (60..=120).contains(&(gaps.len() - before)),
        "{} requests in an hour",
        gaps.len()
    );
    server.restart().await.expect("the same port");
    observed.catches_up().await;
    assert_eq!(observed.tap.count("list"), 1, "an outage causes no relist");
}

#[tokio::test(start_paused = true)]
async fn backoff_does_not_reset_during_an_hour_of_failing_lists() {
    for fault in [
        Fault::unavailable(),
        Fault::forbidden(),
        Fault::internal_error(),
        Fault::Drop,
    ] {
        let (server, observed) = ObservedInformer::paused(|informer| informer.streaming_list(false)).await;
        observed.create("a").await;
        server.faults().add(On::list("configmaps"), fault.clone());
        observed.informer.start().expect("a first start");
        tokio::time::sleep(Duration::from_hours(1)).await;
        let gaps = gaps(&observed);
        assert_waits(&gaps, growing());
        assert!(
            (60..=120).contains(&gaps.len()),
            "{fault:?}: {} requests",
            gaps.len()
        );
        server.faults().clear();
        observed.synced().await;
        observed.catches_up().await;
    }
}

/// A failed stream is followed by a list at once, and only then by a wait: there are at most two requests per
/// wait.
#[tokio::test(start_paused = true)]
async fn streaming_lists_and_lists_share_one_backoff() {
    let (server, observed) = ObservedInformer::paused(|informer| informer).await;
    observed.create("a").await;
    server
        .faults()
        .add(On::list_or_watch("configmaps"), Fault::unavailable());
    observed.informer.start().expect("a first start");
    tokio::time::sleep(Duration::from_hours(1)).await;
    let waits: Vec<_> = gaps(&observed).into_iter().filter(|gap| *gap > 0.0).collect();
    assert_waits(&waits, growing());
    assert!(
        observed.tap.all().len() <= 140,
        "{} requests in an hour",
        observed.tap.all().len()
    );
    server.faults().clear();
    observed.synced().await;
    observed.catches_up().await;
}

/// A server that is healthy for a minute and a half at a time is not considered healthy.
#[tokio::test(start_paused = true)]
async fn short_recoveries_do_not_reset_the_backoff() {
    let (server, observed) = ObservedInformer::paused(|informer| informer.streaming_list(false)).await;
    observed.start().await;
    let mut waits = Vec::new();
    for _ in 0..10 {
        tokio::time::sleep(Duration::from_secs(90)).await;
        let (before, begin) = (observed.tap.all().len(), Instant::now());
        server.cut_connections();
        observed.requests(before + 1).await;
        waits.push(begin.elapsed().as_secs_f64());
    }
    assert_waits(&waits, growing());
}

#[tokio::test(start_paused = true)]
async fn two_healthy_minutes_reset_the_backoff() {
    let (server, observed) = ObservedInformer::paused(|informer| informer.streaming_list(false)).await;
    observed.start().await;
    let mut waits = Vec::new();
    for _ in 0..10 {
        tokio::time::sleep(Duration::from_secs(121)).await;
        let (before, begin) = (observed.tap.all().len(), Instant::now());
        server.cut_connections();
        observed.requests(before + 1).await;
        waits.push(begin.elapsed().as_secs_f64());
    }
    assert_waits(&waits, std::iter::repeat(0.8));
}

#[tokio::test(start_paused = true)]
async fn backoff_is_configurable() {
    let waits = Backoff {
        initial: Duration::from_secs(5),
        factor: 3.0,
        cap: Duration::from_mins(1),
        jitter: 0.0,
        ..Backoff::default()
    };
    let (server, observed) =
        ObservedInformer::paused(|informer| informer.streaming_list(false).backoff(waits)).await;
    server.faults().add(On::list("configmaps"), Fault::unavailable());
    observed.informer.start().expect("a first start");
    observed.requests(6).await;
    let gaps: Vec<_> = gaps(&observed).into_iter().map(f64::round).collect();
    assert_eq!(gaps, [5.0, 15.0, 45.0, 60.0, 60.0]);
}

/// A hundred informers that lose the same server do not reconnect at the same time.
#[tokio::test(start_paused = true)]
async fn jitter_spreads_the_retries_of_informers() {
    let mut firsts = Vec::new();
    for seed in 0..20 {
        let (server, observed) =
            ObservedInformer::paused(|informer| informer.streaming_list(false).seed(seed)).await;
        server
            .faults()
            .add(On::list("configmaps").once(), Fault::unavailable());
        observed.start().await;
        firsts.push((gaps(&observed)[0] * 1000.0).round());
    }
    firsts.sort_by(f64::total_cmp);
    firsts.dedup();
    assert!(firsts.len() > 15, "{firsts:?}");
}
