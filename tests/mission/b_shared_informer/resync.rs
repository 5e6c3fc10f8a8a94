//! B7: resync. Its rules are about time, so most of them are shown on a paused clock.

use std::time::Duration;

use futures::StreamExt;
use k8s_openapi::api::core::v1::ConfigMap;
use kube_informer::{Event, Events, HandlerOptions, SharedInformer};
use tokio::time::Instant;

use crate::informers::{Maps, said, soon, started, stopped};

const SECOND: Duration = Duration::from_secs(1);
const MINUTE: Duration = Duration::from_mins(1);
const HOUR: Duration = Duration::from_hours(1);

fn events(informer: &SharedInformer<ConfigMap>, period: impl Into<Option<Duration>>) -> Events<ConfigMap> {
    let options = match period.into() {
        Some(period) => HandlerOptions::new().resync(period),
        None => HandlerOptions::new(),
    };
    informer.events_with(options).expect("a stream")
}

async fn next(events: &mut Events<ConfigMap>) -> Event<ConfigMap> {
    let event = tokio::time::timeout(2 * HOUR, events.next()).await;
    event.expect("an event within two hours").expect("no end")
}

/// When the next resyncs come, in seconds from `start`; the object of the beginning is taken first.
async fn resyncs(events: &mut Events<ConfigMap>, start: Instant, count: usize) -> Vec<u64> {
    let mut times = Vec::new();
    while times.len() < count {
        let event = next(events).await;
        match said(&event).as_str() {
            "*a" => {}
            "=a" => times.push(start.elapsed().as_secs()),
            other => panic!("{other}"),
        }
    }
    times
}

/// What is told within an hour to one who listens all the while.
async fn within_an_hour(maps: &Maps, events: &mut Events<ConfigMap>) -> Vec<String> {
    let later = async {
        tokio::time::sleep(HOUR).await;
        maps.create("end", "1").await;
    };
    let listen = async {
        let mut words = Vec::new();
        while words.last().is_none_or(|word| word != "+end") {
            words.push(said(&next(events).await));
        }
        words
    };
    tokio::join!(later, listen).1
}

#[tokio::test]
async fn b7_a_resync_repeats_what_is_known_and_none_is_shorter_than_a_second() {
    let maps = Maps::holding(["a"]).await;
    let informer = maps.builder().resync(HOUR).build();
    let mut often = events(&informer, Duration::from_millis(1));
    let start = Instant::now();
    started(&informer).await;
    assert_eq!(soon(often.next()).await.as_ref().map(said).as_deref(), Some("*a"));
    let again = soon(often.next()).await.expect("a resync");
    assert!(again.is_resync());
    assert!(start.elapsed() >= SECOND, "{:?}", start.elapsed());
    stopped(&informer).await;
}

#[tokio::test(start_paused = true)]
async fn b7_each_handler_has_its_own_period() {
    let Some(maps) = Maps::on_paused_clock(["a"]).await else {
        return;
    };
    let informer = maps.builder().resync(10 * MINUTE).build();
    let mut by_default = events(&informer, None);
    let mut often = events(&informer, Duration::from_millis(1));
    let mut seldom = events(&informer, 3 * SECOND);
    let mut never = events(&informer, Duration::ZERO);
    let start = Instant::now();
    started(&informer).await;
    // The shortest period that was asked for before the start is how often the informer looks: that of a second.
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
async fn b7_after_the_start_a_shorter_period_is_raised_to_the_informers() {
    let Some(maps) = Maps::on_paused_clock(["a"]).await else {
        return;
    };
    let informer = maps.builder().resync(MINUTE).build();
    let start = Instant::now();
    started(&informer).await;
    let mut shorter = events(&informer, SECOND);
    let mut longer = events(&informer, 90 * SECOND);
    let (shorter, longer) = tokio::join!(resyncs(&mut shorter, start, 3), resyncs(&mut longer, start, 2));
    assert_eq!(shorter, [60, 120, 180]);
    // It is due after 90 seconds, and looked at each minute.
    assert_eq!(longer, [120, 240]);
    stopped(&informer).await;
}

#[tokio::test(start_paused = true)]
async fn b7_an_informer_without_resync_gives_none() {
    let Some(maps) = Maps::on_paused_clock(["a"]).await else {
        return;
    };
    let informer = maps.informer();
    let mut asking = events(&informer, MINUTE);
    started(&informer).await;
    assert_eq!(within_an_hour(&maps, &mut asking).await, ["*a", "+end"]);
    maps.delete("end").await;
    let mut late = events(&informer, MINUTE);
    assert_eq!(
        within_an_hour(&maps, &mut late).await.last().map(String::as_str),
        Some("+end")
    );
    stopped(&informer).await;
}

#[tokio::test(start_paused = true)]
async fn b7_a_resync_asks_the_server_nothing() {
    let Some(maps) = Maps::on_paused_clock(["a"]).await else {
        return;
    };
    let embedded = maps.server.embedded().expect("an embedded server");
    let informer = maps.builder().resync(SECOND).build();
    let mut stream = events(&informer, None);
    started(&informer).await;
    let start = Instant::now();
    assert_eq!(resyncs(&mut stream, start, 1).await, [1]);
    embedded.forget_requests();
    // Less than the five minutes after which a watch is renewed.
    let times = resyncs(&mut stream, start, 200).await;
    assert_eq!(times.last(), Some(&201));
    assert!(embedded.requests().is_empty(), "{:?}", embedded.requests());
    let object = informer.lister().get_key(&maps.key("a")).expect("the object");
    let Event::Updated { old, new } = next(&mut stream).await else {
        panic!("no resync");
    };
    assert!(
        std::ptr::eq(&raw const *old, &raw const *new) && std::ptr::eq(&raw const *new, &raw const *object)
    );
    stopped(&informer).await;
}
