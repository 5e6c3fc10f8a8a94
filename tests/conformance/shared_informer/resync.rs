//! Resync.
//!
//! A resync needs no server, so the clock is paused after the informer has synced, and resumes before the
//! next write. The tests skip less than three minutes at once: after that the informer restarts a silent
//! watch.

use std::time::Duration;

use futures::StreamExt;
use k8s_openapi::api::core::v1::ConfigMap;
use kube_informer::{Event, EventStream, HandlerOptions, SharedInformer};
use tokio::time::{Instant, pause, resume};

use crate::config_maps::ConfigMaps;
use crate::informers::{event_word, soon, started, stopped};
use crate::tap::Tap;

const SECOND: Duration = Duration::from_secs(1);
const HOUR: Duration = Duration::from_hours(1);

fn events(
    informer: &SharedInformer<ConfigMap>,
    period: impl Into<Option<Duration>>,
) -> EventStream<ConfigMap> {
    let options = match period.into() {
        Some(period) => HandlerOptions::new().resync(period),
        None => HandlerOptions::new(),
    };
    informer.events_with(options).expect("a stream")
}

/// Returns the seconds between resyncs. The first resync is ignored: it may be due before the clock is
/// paused.
async fn gaps(events: &mut EventStream<ConfigMap>, count: usize) -> Vec<u64> {
    let mut times = Vec::new();
    while times.len() <= count {
        let event = soon(events.next()).await.expect("no end");
        match event_word(&event).as_str() {
            "*a" => {}
            "=a" => times.push(Instant::now()),
            other => panic!("{other}"),
        }
    }
    // A timer may be a millisecond late.
    times
        .windows(2)
        .map(|pair| (pair[1] - pair[0]).as_secs())
        .collect()
}

/// Skips two and a half minutes. Returns the events of that time and of a following write.
async fn within_minutes(maps: &ConfigMaps, events: &mut EventStream<ConfigMap>) -> Vec<String> {
    pause();
    tokio::time::sleep(150 * SECOND).await;
    resume();
    maps.create("end", "1").await;
    let mut words = Vec::new();
    while words.last().is_none_or(|word| word != "+end") {
        let event = soon(events.next()).await.expect("no end");
        words.push(event_word(&event));
    }
    words
}

#[tokio::test]
async fn resync_repeats_the_cache_with_a_period_of_at_least_a_second() {
    let maps = ConfigMaps::named(["a"]).await;
    let informer = maps.builder().resync(HOUR).build();
    let mut often = events(&informer, Duration::from_millis(1));
    let start = Instant::now();
    started(&informer).await;
    assert_eq!(
        soon(often.next()).await.as_ref().map(event_word).as_deref(),
        Some("*a")
    );
    let again = soon(often.next()).await.expect("a resync");
    assert!(again.is_resync());
    assert!(start.elapsed() >= SECOND, "{:?}", start.elapsed());
    stopped(&informer).await;
}

#[tokio::test]
async fn each_handler_has_its_own_period() {
    let maps = ConfigMaps::named(["a"]).await;
    let informer = maps.builder().resync(20 * SECOND).build();
    let mut by_default = events(&informer, None);
    let mut often = events(&informer, Duration::from_millis(1));
    let mut seldom = events(&informer, 3 * SECOND);
    let mut never = events(&informer, Duration::ZERO);
    started(&informer).await;
    pause();
    // The informer checks at the shortest resync period that was set before the start: every second.
    let (often, seldom, by_default) = tokio::join!(
        gaps(&mut often, 4),
        gaps(&mut seldom, 3),
        gaps(&mut by_default, 2)
    );
    resume();
    assert_eq!(often, [1, 1, 1, 1]);
    assert_eq!(seldom, [3, 3, 3]);
    assert_eq!(by_default, [20, 20]);
    assert_eq!(within_minutes(&maps, &mut never).await, ["*a", "+end"]);
    stopped(&informer).await;
}

#[tokio::test]
async fn shorter_period_after_start_is_raised_to_the_informers_period() {
    let maps = ConfigMaps::named(["a"]).await;
    let informer = maps.builder().resync(20 * SECOND).build();
    started(&informer).await;
    pause();
    let mut shorter = events(&informer, SECOND);
    let mut longer = events(&informer, 30 * SECOND);
    let (shorter, longer) = tokio::join!(gaps(&mut shorter, 3), gaps(&mut longer, 2));
    resume();
    assert_eq!(shorter, [20, 20, 20]);
    // The resync is due after 30 seconds, and the informer checks every 20 seconds.
    assert_eq!(longer, [40, 40]);
    stopped(&informer).await;
}

#[tokio::test]
async fn informer_without_resync_sends_none() {
    let maps = ConfigMaps::named(["a"]).await;
    let informer = maps.informer();
    let mut asking = events(&informer, 10 * SECOND);
    started(&informer).await;
    assert_eq!(within_minutes(&maps, &mut asking).await, ["*a", "+end"]);
    maps.delete("end").await;
    let deleted = soon(asking.next()).await.expect("no end");
    assert_eq!(event_word(&deleted), "-end");
    let mut late = events(&informer, 10 * SECOND);
    assert_eq!(within_minutes(&maps, &mut late).await, ["*a", "+end"]);
    stopped(&informer).await;
}

#[tokio::test]
async fn resync_sends_no_requests() {
    let maps = ConfigMaps::named(["a"]).await;
    let (client, tap) = Tap::on(maps.server.client.clone());
    let informer = maps.builder_with(client).resync(SECOND).build();
    let mut stream = events(&informer, None);
    started(&informer).await;
    let asked = tap.words();
    pause();
    assert_eq!(gaps(&mut stream, 150).await, [1; 150]);
    assert_eq!(tap.words(), asked);
    let object = informer.lister().get_key(&maps.key("a")).expect("the object");
    let Some(Event::Updated { old, new }) = soon(stream.next()).await else {
        panic!("no resync");
    };
    assert!(
        std::ptr::eq(&raw const *old, &raw const *new) && std::ptr::eq(&raw const *new, &raw const *object)
    );
    resume();
    stopped(&informer).await;
}
