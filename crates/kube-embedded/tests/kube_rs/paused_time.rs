//! Watches over hours, in paused time.

use std::time::Duration;

use futures::StreamExt as _;
use http::Request;
use http_body_util::BodyExt as _;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::ResourceExt as _;
use kube::api::{Api, PostParams};
use kube::client::Body;
use kube::runtime::watcher::{self, Event, watcher};
use kube_embedded::{Server, Verb};
use serde_json::Value;
use tokio::time::Instant;

use crate::clients::config_map;

/// A watch without a socket that measures the time of events.
struct TimedWatch {
    body: Body,
    begin: Instant,
}

impl TimedWatch {
    async fn open(server: &Server, query: &str) -> TimedWatch {
        let path = format!("/api/v1/namespaces/default/configmaps?watch=1{query}");
        let request = Request::get(path).body(Body::empty()).expect("a request");
        let response = server.direct_client().send(request).await.expect("a watch");
        assert_eq!(response.status(), 200);
        TimedWatch {
            body: response.into_body(),
            begin: Instant::now(),
        }
    }

    /// Returns the next event and its time, or `None` and the time when the stream ends.
    async fn next(&mut self) -> (Option<Value>, Duration) {
        let event = self.body.frame().await.map(|frame| {
            let bytes = frame.expect("no break").into_data().expect("data");
            serde_json::from_slice(&bytes).expect("one event")
        });
        (event, self.begin.elapsed())
    }
}

fn version(event: &Value) -> u64 {
    let version = event["object"]["metadata"]["resourceVersion"].as_str();
    version.and_then(|v| v.parse().ok()).expect("a version")
}

#[tokio::test(start_paused = true)]
async fn bookmarks_are_sent_every_interval_and_shortly_before_the_end() {
    for (interval, timeout) in [(60, 600), (60, 90), (7, 60), (600, 3600), (60, 30), (3600, 1)] {
        let interval = Duration::from_secs(interval);
        let server = Server::builder()
            .bookmark_interval(interval)
            .start()
            .await
            .expect("a server");
        let from = server.resource_version();
        let query = format!("&allowWatchBookmarks=true&timeoutSeconds={timeout}&resourceVersion={from}");
        let mut watched = TimedWatch::open(&server, &query).await;
        let end = Duration::from_secs(timeout);
        let last = end.saturating_sub(Duration::from_secs(2));
        let mut times = Vec::new();
        let (mut written, mut seen) = (from, from);
        loop {
            let (event, at) = watched.next().await;
            let Some(event) = event else {
                assert_eq!(at, end, "{interval:?} {timeout}");
                break;
            };
            assert_eq!(event["type"], "BOOKMARK");
            assert_eq!(event["object"]["metadata"].get("annotations"), None);
            // It includes all changes up to now, also of other resources.
            assert_eq!(version(&event), written);
            assert!(version(&event) >= seen);
            seen = version(&event);
            times.push(at);
            server.advance_resource_version(3);
            written += 3;
        }
        assert!(times.contains(&last), "{interval:?} {timeout}: {times:?}");
        for pair in times.windows(2) {
            assert!(pair[1] <= pair[0] + interval, "{times:?}");
        }
        let regular = times.iter().filter(|t| **t < last).count();
        let expected = (last.as_millis().saturating_sub(1) / interval.as_millis()) as usize;
        assert_eq!(regular, expected, "{interval:?} {timeout}: {times:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn bookmarks_are_only_sent_on_request() {
    let server = Server::start().await.expect("a server");
    let query = format!(
        "&timeoutSeconds=3600&resourceVersion={}",
        server.resource_version()
    );
    let mut watched = TimedWatch::open(&server, &query).await;
    assert_eq!(watched.next().await, (None, Duration::from_secs(60 * 60)));
}

#[tokio::test(start_paused = true)]
async fn a_watch_without_timeout_ends_after_half_an_hour_to_an_hour() {
    let server = Server::start().await.expect("a server");
    let mut ends = Vec::new();
    for _ in 0..20 {
        let mut watched = TimedWatch::open(
            &server,
            &format!("&resourceVersion={}", server.resource_version()),
        )
        .await;
        let (event, at) = watched.next().await;
        assert_eq!(event, None);
        assert!((1800..3600).contains(&at.as_secs()), "{at:?}");
        ends.push(at);
    }
    ends.dedup();
    assert!(
        ends.len() > 1,
        "the ends are spread, so that clients do not all come back at once"
    );
}

#[tokio::test(start_paused = true)]
async fn requests_wait_for_future_versions() {
    let server = Server::builder()
        .too_large_wait(Duration::from_secs(10 * 60))
        .start()
        .await
        .expect("a server");
    let path = format!("/api/v1/nodes?resourceVersion={}", server.resource_version() + 1);
    let begin = Instant::now();
    let request = Request::get(&path).body(Body::empty()).expect("a request");
    let response = server.direct_client().send(request).await.expect("an answer");
    assert_eq!(
        (response.status().as_u16(), begin.elapsed()),
        (504, Duration::from_secs(10 * 60))
    );
}

#[tokio::test(start_paused = true)]
async fn kubes_watcher_lists_once_per_day_and_misses_nothing() {
    for config in [
        watcher::Config::default(),
        watcher::Config::default().streaming_lists(),
    ] {
        let server = Server::start().await.expect("a server");
        let api: Api<ConfigMap> = Api::default_namespaced(server.direct_client());
        let mut events = watcher(api.clone(), config.clone()).boxed();
        let writing = async {
            for hour in 0..24 {
                tokio::time::sleep(Duration::from_secs(60 * 60)).await;
                api.create(&PostParams::default(), &config_map(&format!("hour-{hour}"), "1"))
                    .await
                    .expect("an object");
            }
        };
        let reading = async {
            let mut hours = 0;
            while hours < 24 {
                match events.next().await.expect("no end").expect("no error") {
                    Event::Apply(object) => {
                        assert_eq!(object.name_any(), format!("hour-{hours}"));
                        hours += 1;
                    }
                    Event::Init | Event::InitDone => {}
                    other => panic!("{other}"),
                }
            }
        };
        let begin = Instant::now();
        tokio::join!(writing, reading);
        assert_eq!(begin.elapsed(), Duration::from_secs(24 * 60 * 60));
        let requests = server.requests();
        let lists = requests
            .iter()
            .filter(|r| r.verb == Some(Verb::List) || r.is_streaming_list())
            .count();
        let watches = requests.iter().filter(|r| r.verb == Some(Verb::Watch)).count();
        assert_eq!(lists, 1, "{config:?}");
        // kube's watches have a timeout of 290 seconds.
        assert!((290..310).contains(&watches), "{watches} watches with {config:?}");
    }
}

/// Like after a restored backup, the server cannot send anything about future versions.
#[tokio::test(start_paused = true)]
async fn a_watch_of_a_future_version_is_silent_until_that_version() {
    let server = Server::start().await.expect("a server");
    let future = server.resource_version() + 100;
    let query = format!("&allowWatchBookmarks=true&timeoutSeconds=600&resourceVersion={future}");
    let mut silent = TimedWatch::open(&server, &query).await;
    let (event, at) = silent.next().await;
    assert_eq!((event, at.as_secs()), (None, 600), "not even a bookmark");

    let mut watched = TimedWatch::open(&server, &query).await;
    server.advance_resource_version(101);
    let (event, at) = watched.next().await;
    assert_eq!(version(&event.expect("a bookmark")), future + 1);
    assert_eq!(at.as_secs(), 60);
}
