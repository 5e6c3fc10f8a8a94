//! Resync periods and the handlers that get resyncs.

use std::time::Duration;

use k8s_openapi::api::core::v1::ConfigMap;
use kube_informer::{HandlerOptions, SharedInformer};
use tokio::time::{Instant, sleep};

use crate::recording::{LONG, Recording, recorder};
use crate::scripted::Server;

const SECOND: Duration = Duration::from_secs(1);

fn every(seconds: u64) -> HandlerOptions {
    HandlerOptions::new()
        .never_blocks()
        .resync(SECOND * u32::try_from(seconds).unwrap())
}

fn add(informer: &SharedInformer<ConfigMap>, options: HandlerOptions) -> Recording {
    let (handler, recording) = recorder();
    informer.add_handler_with(handler, options).unwrap();
    recording
}

/// Returns the number of resyncs within a minute, and checks that there are no other events.
async fn in_a_minute(recording: &mut [Recording]) -> Vec<usize> {
    for recording in recording.iter_mut() {
        recording.now();
    }
    sleep(60 * SECOND + SECOND / 2).await;
    recording
        .iter_mut()
        .map(|recording| {
            let events = recording.now();
            assert!(events.iter().all(|event| event.starts_with('=')), "{events:?}");
            events.len()
        })
        .collect()
}

#[tokio::test(start_paused = true)]
async fn each_handler_has_its_own_period() {
    let server = Server::with(&["a/n"]);
    let informer = server.builder().resync(20 * SECOND).build();
    let mut recording = [
        add(&informer, HandlerOptions::new().never_blocks()),
        add(&informer, every(2)),
        add(&informer, every(3)),
        add(&informer, every(0)),
        add(
            &informer,
            HandlerOptions::new()
                .resync(Duration::from_millis(10))
                .never_blocks(),
        ),
    ];
    informer.start().unwrap();
    informer.wait_for_sync(LONG).await.unwrap();
    assert_eq!(
        in_a_minute(&mut recording).await,
        [3, 30, 20, 0, 60],
        "the shortest is a second"
    );
    informer.shutdown().await;
}

/// After the start, a handler can have a longer period than the shortest one, but not a shorter one.
#[tokio::test(start_paused = true)]
async fn after_the_start_a_handler_cannot_have_a_shorter_resync_period() {
    let server = Server::with(&["a/n"]);
    let informer = server.builder().resync(10 * SECOND).build();
    informer.start().unwrap();
    informer.wait_for_sync(LONG).await.unwrap();
    let mut recording = [
        add(&informer, every(1)),
        add(&informer, every(30)),
        add(&informer, every(0)),
        add(&informer, HandlerOptions::new().never_blocks()),
    ];
    sleep(SECOND / 10).await;
    assert_eq!(in_a_minute(&mut recording).await, [6, 2, 0, 6]);
    informer.shutdown().await;
}

/// As in client-go, an informer without a resync period has no resyncs.
#[tokio::test(start_paused = true)]
async fn without_a_resync_period_of_the_informer_there_are_no_resyncs() {
    let server = Server::with(&["a/n"]);
    let informer = server.informer();
    let mut recording = [
        add(&informer, every(1)),
        add(&informer, HandlerOptions::new().never_blocks()),
    ];
    informer.start().unwrap();
    informer.wait_for_sync(LONG).await.unwrap();
    recording[0].next().await;
    recording[1].next().await;
    server.expire();
    assert_eq!(in_a_minute(&mut recording).await, [0, 0]);
    assert_eq!(server.lists(), 2, "not by a list either");
    informer.shutdown().await;
}

/// Contract 12: a resync period may be of any length.
#[tokio::test(start_paused = true)]
async fn contract_12_an_infinite_resync_period_means_no_resyncs() {
    let for_ever = || HandlerOptions::new().never_blocks().resync(Duration::MAX);
    let server = Server::with(&["a/n"]);
    let informer = server.builder().resync(Duration::MAX).build();
    let mut recording = vec![
        add(&informer, HandlerOptions::new().never_blocks()),
        add(&informer, for_ever()),
    ];
    informer.start().unwrap();
    informer.wait_for_sync(LONG).await.unwrap();
    recording.push(add(&informer, for_ever()));
    sleep(SECOND).await;
    assert_eq!(in_a_minute(&mut recording).await, [0, 0, 0]);
    informer.shutdown().await;

    let informer = server.builder().resync(Duration::MAX).build();
    let mut recording = [add(&informer, for_ever()), add(&informer, every(2))];
    informer.start().unwrap();
    informer.wait_for_sync(LONG).await.unwrap();
    assert_eq!(in_a_minute(&mut recording).await, [0, 30], "others have theirs");
    informer.shutdown().await;
}

/// A resync sends no requests.
#[tokio::test(start_paused = true)]
async fn a_resync_repeats_the_cache_to_handlers_with_a_period() {
    let server = Server::with(&["a/n0", "a/n1"]);
    let informer = server.builder().resync(10 * SECOND).build();
    let mut recording = add(&informer, HandlerOptions::new());
    informer.start().unwrap();
    recording.some(2).await;
    let start = Instant::now();
    let mut repeated = recording.some(2).await;
    repeated.sort();
    assert_eq!(repeated, ["= a/n0@2", "= a/n1@3"]);
    assert_eq!(start.elapsed().as_secs(), 10);
    assert_eq!(server.lists(), 1);
    server.delete("a/n0");
    assert_eq!(recording.next().await, "- a/n0@4");
    assert_eq!(
        recording.next().await,
        "= a/n1@3",
        "a deleted object is not repeated"
    );
    informer.shutdown().await;
}

/// A list without changes only notifies handlers with resyncs; the others only get changes.
#[tokio::test(start_paused = true)]
async fn an_unchanged_relist_only_notifies_handlers_with_resyncs() {
    let server = Server::with(&["a/n0", "a/n1", "a/n2"]);
    let informer = server.builder().resync(1_000 * SECOND).build();
    let mut wants = add(&informer, HandlerOptions::new());
    let mut does_not = add(&informer, every(0));
    informer.start().unwrap();
    wants.some(3).await;
    does_not.some(3).await;
    informer.wait_for_version(server.version(), LONG).await.unwrap();

    server.answer_lists(false);
    server.expire();
    server.put("a/n0", "changed");
    server.delete("a/n1");
    server.answer_lists(true);
    assert_eq!(does_not.some(2).await, ["? a/n1@3", "~ a/n0@2>5"]);
    let mut all = wants.some(3).await;
    all.sort();
    assert_eq!(all, ["= a/n2@4", "? a/n1@3", "~ a/n0@2>5"]);
    assert_eq!(server.lists(), 2);

    server.expire();
    let mut all = wants.some(2).await;
    all.sort();
    assert_eq!(all, ["= a/n0@5", "= a/n2@4"]);
    sleep(SECOND).await;
    assert!(does_not.now().is_empty());
    assert!(wants.now().is_empty());
    informer.shutdown().await;
}
