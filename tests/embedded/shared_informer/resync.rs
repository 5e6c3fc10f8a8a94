//! When resyncs are due, starting from the start of the informer.

use std::time::Duration;

use futures::StreamExt;
use k8s_openapi::api::core::v1::ConfigMap;
use kube_informer::{Event, EventStream, HandlerOptions, SharedInformer};
use tokio::time::Instant;

use crate::config_maps::ConfigMaps;
use crate::informers::{event_word, started, stopped};

const SECOND: Duration = Duration::from_secs(1);
const MINUTE: Duration = Duration::from_mins(1);
const HOUR: Duration = Duration::from_hours(1);

fn events(informer: &SharedInformer<ConfigMap>, period: Duration) -> EventStream<ConfigMap> {
    let options = HandlerOptions::new().resync(period);
    informer.events_with(options).expect("a stream")
}

async fn next(events: &mut EventStream<ConfigMap>) -> Event<ConfigMap> {
    let event = tokio::time::timeout(2 * HOUR, events.next()).await;
    event.expect("an event within two hours").expect("no end")
}

/// Returns the times of the next resyncs, in seconds since `start`. The initial object is skipped.
async fn resyncs(events: &mut EventStream<ConfigMap>, start: Instant, count: usize) -> Vec<u64> {
    let mut times = Vec::new();
    while times.len() < count {
        match event_word(&next(events).await).as_str() {
            "*a" => {}
            "=a" => times.push(start.elapsed().as_secs()),
            other => panic!("{other}"),
        }
    }
    times
}

/// Returns the events of an hour, and of a write after it.
async fn within_an_hour(maps: &ConfigMaps, events: &mut EventStream<ConfigMap>) -> Vec<String> {
    let later = async {
        tokio::time::sleep(HOUR).await;
        maps.create("end", "1").await;
    };
    let listen = async {
        let mut words = Vec::new();
        while words.last().is_none_or(|word| word != "+end") {
            words.push(event_word(&next(events).await));
        }
        words
    };
    tokio::join!(later, listen).1
}

#[tokio::test(start_paused = true)]
async fn each_handler_has_its_own_period_from_the_start() {
    let maps = ConfigMaps::paused(["a"]).await;
    let informer = maps.builder().resync(10 * MINUTE).build();
    let mut by_default = informer.events().expect("a stream");
    let mut often = events(&informer, Duration::from_millis(1));
    let mut seldom = events(&informer, 3 * SECOND);
    let mut never = events(&informer, Duration::ZERO);
    let start = Instant::now();
    started(&informer).await;
    // The informer checks at the shortest resync period that was set before the start: every second.
    let (often, seldom, by_default) = tokio::join!(
        resyncs(&mut often, start, 4),
        resyncs(&mut seldom, start, 3),
        resyncs(&mut by_default, start, 2)
    );
    assert_eq!(often, [1, 2, 3, 4]);
    assert_eq!(seldom, [3, 6, 9]);
    assert_eq!(by_default, [600, 1200]);
    assert_eq!(within_an_hour(&maps, &mut never).await, ["*a", "+end"]);
    stopped(&informer).await;
}

#[tokio::test(start_paused = true)]
async fn shorter_period_after_start_is_raised_from_the_first_resync() {
    let maps = ConfigMaps::paused(["a"]).await;
    let informer = maps.builder().resync(MINUTE).build();
    let start = Instant::now();
    started(&informer).await;
    let mut shorter = events(&informer, SECOND);
    let mut longer = events(&informer, 90 * SECOND);
    let (shorter, longer) = tokio::join!(resyncs(&mut shorter, start, 3), resyncs(&mut longer, start, 2));
    assert_eq!(shorter, [60, 120, 180]);
    // The resync is due after 90 seconds, and the informer checks every minute.
    assert_eq!(longer, [120, 240]);
    stopped(&informer).await;
}

#[tokio::test(start_paused = true)]
async fn informer_without_resync_sends_none_within_an_hour() {
    let maps = ConfigMaps::paused(["a"]).await;
    let informer = maps.informer();
    let mut asking = events(&informer, MINUTE);
    started(&informer).await;
    assert_eq!(within_an_hour(&maps, &mut asking).await, ["*a", "+end"]);
    stopped(&informer).await;
}

#[tokio::test(start_paused = true)]
async fn two_hundred_resyncs_send_no_requests() {
    let maps = ConfigMaps::paused(["a"]).await;
    let embedded = maps.server.embedded().expect("an embedded server");
    let informer = maps.builder().resync(SECOND).build();
    let mut stream = informer.events().expect("a stream");
    started(&informer).await;
    let start = Instant::now();
    assert_eq!(resyncs(&mut stream, start, 1).await, [1]);
    embedded.forget_requests();
    // Less than the five minutes after which a watch is renewed.
    let times = resyncs(&mut stream, start, 200).await;
    assert_eq!(times.last(), Some(&201));
    assert!(embedded.requests().is_empty(), "{:?}", embedded.requests());
    stopped(&informer).await;
}
