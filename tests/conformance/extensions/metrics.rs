//! Metrics, with client-go's names if it has them.

use std::collections::BTreeSet;

use conformance::TestServer;
use futures::StreamExt;
use k8s_openapi::api::core::v1::ConfigMap;
use kube_informer::metrics::prometheus_client::encoding::text;
use kube_informer::metrics::prometheus_client::registry::Registry;
use kube_informer::metrics::{InformerMetrics, Metrics};
use kube_informer::{HandlerOptions, SharedInformerFactory};
use kube_workqueue::WorkQueue;

use crate::config_maps::ConfigMaps;
use crate::informers::{caught_up, recording_handler, soon, started, stopped};
use crate::observed_informer::ObservedInformer;
use crate::tap::failure;

/// A registry with metrics of informers.
struct Page {
    registry: Registry,
    metrics: InformerMetrics,
}

impl Page {
    fn new() -> Page {
        let mut registry = Registry::default();
        let metrics = InformerMetrics::register(&mut registry);
        Page { registry, metrics }
    }

    fn text(&self) -> String {
        let mut page = String::new();
        text::encode(&mut page, &self.registry).expect("writing to a string cannot fail");
        page
    }

    /// Returns the value of a series of the informer called `maps`, with additional labels.
    fn value(&self, name: &str, labels: &str) -> Option<f64> {
        let own = r#"name="maps",group="",version="v1",resource="configmaps""#;
        let comma = if labels.is_empty() { "" } else { "," };
        let series = format!("{name}{{{own}{comma}{labels}}} ");
        let page = self.text();
        let values: Vec<_> = page
            .lines()
            .filter_map(|line| line.strip_prefix(&series))
            .collect();
        assert!(values.len() < 2, "duplicate {series}");
        values.first().map(|value| value.parse().expect("a number"))
    }
}

#[tokio::test]
async fn informer_metrics_cover_the_watch_to_its_handlers() {
    let maps = ConfigMaps::named(["a", "b"]).await;
    let page = Page::new();
    let informer = maps.informer();
    page.metrics.add("maps", &informer);
    assert_eq!(page.value("informer_synced", ""), Some(0.0));
    assert_eq!(
        page.value("informer_watch_age_seconds", ""),
        None,
        "no open watch"
    );
    let (hear, mut received) = recording_handler();
    let handler = HandlerOptions::new().name("cleaner");
    informer.add_handler_with(hear, handler).expect("it lives");
    started(&informer).await;
    received.listed(2).await;
    maps.change("a", "2").await;
    assert_eq!(received.word().await, "~a");
    maps.delete("b").await;
    assert_eq!(received.word().await, "-b");
    let version = maps.create("c", "1").await;
    received.word().await;
    caught_up(&informer, version.clone()).await;

    for (name, labels, value) in [
        ("informer_synced", "", 1.0),
        ("informer_objects", "", 2.0),
        ("informer_queued_items", "", 0.0),
        ("informer_events_total", r#"type="added""#, 3.0),
        ("informer_events_total", r#"type="updated""#, 1.0),
        ("informer_events_total", r#"type="deleted""#, 1.0),
        ("informer_received_objects_total", "", 5.0),
        ("informer_decoded_objects_total", "", 5.0),
        ("informer_errors_total", "", 0.0),
        ("informer_went_back_total", "", 0.0),
        ("informer_relists_total", r#"cause="expired""#, 0.0),
        ("informer_handler_events_total", r#"handler="cleaner""#, 5.0),
        ("informer_handler_backlog", r#"handler="cleaner""#, 0.0),
        ("informer_handler_panics_total", r#"handler="cleaner""#, 0.0),
        (
            "informer_handler_latency_seconds_count",
            r#"handler="cleaner""#,
            3.0,
        ),
    ] {
        assert_eq!(
            page.value(name, labels),
            Some(value),
            "{name} {labels}\n{}",
            page.text()
        );
    }
    let number: f64 = version.to_string().parse().expect("both servers count");
    assert_eq!(
        page.value("informer_store_resource_version", ""),
        Some(number % 1e15)
    );
    let positive = |name: &str, labels: &str| {
        let value = page.value(name, labels);
        assert!(value.is_some_and(|value| value > 0.0), "{name} is {value:?}");
    };
    positive("informer_cache_bytes", "");
    positive("informer_received_bytes_total", "");
    positive("informer_decode_seconds_total", "");
    positive("informer_sync_duration_seconds", "");
    positive("informer_watch_age_seconds", "");
    positive("informer_silence_seconds", "");
    positive("informer_processing_latency_seconds_count", "");
    let bucket = r#"informer_processing_latency_seconds_bucket{le="0.025",name="maps","#;
    assert!(page.text().contains(bucket), "{}", page.text());

    stopped(&informer).await;
    assert_eq!(
        page.value("informer_objects", ""),
        None,
        "stopped informers have no metrics"
    );
}

#[tokio::test]
async fn factory_metrics_cover_all_informers_without_duplicates() {
    let maps = ConfigMaps::named(["a"]).await;
    let page = Page::new();
    let factory = SharedInformerFactory::builder(maps.server.client.clone())
        .namespace(&maps.server.namespace)
        .name("maps")
        .build();
    page.metrics.add_factory(&factory);
    assert_eq!(page.text(), "# EOF\n", "no metrics yet");
    let typed = factory.informer::<ConfigMap>();
    let metadata = factory.metadata::<ConfigMap>();
    let mut streams = [
        typed.events().expect("it lives"),
        typed.events().expect("it lives"),
    ];
    let other = metadata.events().expect("it lives");
    factory.start();
    for stream in &mut streams {
        soon(stream.next()).await;
    }
    drop(other);
    let text = page.text();
    let series: Vec<&str> = text
        .lines()
        .filter(|line| !line.starts_with('#'))
        .filter_map(|line| line.rsplit_once(' ').map(|(series, _)| series))
        .collect();
    let unique: BTreeSet<&str> = series.iter().copied().collect();
    assert_eq!(series.len(), unique.len(), "{text}");
    for part in [
        r#"name="maps","#,
        r#"name="maps-2","#,
        r#"handler="stream""#,
        r#"handler="stream-2""#,
    ] {
        assert!(text.contains(part), "no {part} in\n{text}");
    }
    soon(factory.shutdown()).await;
    drop((factory, typed, metadata, streams));
    assert_eq!(page.text(), "# EOF\n", "dropped informers have no metrics");
}

#[tokio::test]
async fn relists_are_counted_by_cause() {
    let server = TestServer::start().await;
    let mut observed = ObservedInformer::on(&server, |informer| informer.streaming_list(false));
    let page = Page::new();
    page.metrics.add("maps", &observed.informer);
    observed.create("a").await;
    let expired = failure(410, "Expired", "too old resource version");
    observed.tap.answer([("watch last", expired)]);
    observed.start().await;
    observed.error_that(kube_informer::Error::is_expired).await;
    let version = observed.create("b").await;
    observed.reach(version).await;
    let relists = page.value("informer_relists_total", r#"cause="expired""#);
    assert_eq!(relists, Some(1.0), "{}", page.text());
    assert_eq!(page.value("informer_requests_total", r#"verb="list""#), Some(2.0));
    assert_eq!(
        page.value("informer_requests_total", r#"verb="watch""#),
        Some(2.0)
    );
}

/// The metrics of the dashboard and of the alerts exist, with these names and labels.
#[tokio::test]
async fn documented_dashboard_and_alerts_use_existing_metrics() {
    let maps = ConfigMaps::named(["a"]).await;
    let mut page = Page::new();
    let queues = Metrics::register(&mut page.registry);
    let informer = maps.informer();
    page.metrics.add("maps", &informer);
    let (hear, mut received) = recording_handler();
    informer.add_handler(hear).expect("it lives");
    let queue: WorkQueue<String> = WorkQueue::builder("maps").metrics(&queues).build();
    started(&informer).await;
    received.listed(1).await;
    queue.add("a".to_owned());
    drop(queue.try_get());
    let text = page.text();
    stopped(&informer).await;

    let name = regex::Regex::new(r"\b(?:informer|workqueue)_[a-z_]+").expect("a pattern");
    let there: BTreeSet<&str> = text
        .lines()
        .filter(|line| !line.starts_with('#'))
        .filter_map(|line| name.find(line).map(|found| found.as_str()))
        .collect();
    let grafana: serde_json::Value =
        serde_json::from_str(include_str!("../../../docs/operations/grafana.json")).expect("valid JSON");
    let panels = grafana["panels"].as_array().expect("panels");
    let targets = panels
        .iter()
        .filter_map(|panel| panel["targets"].as_array())
        .flatten();
    let drawn: String = targets
        .map(|target| target["expr"].as_str().expect("a query").to_owned() + "\n")
        .collect();
    let alerts = include_str!("../../../docs/operations/alerts.yaml");
    let wanted = [drawn.as_str(), alerts];
    let wanted = wanted.iter().flat_map(|text| name.find_iter(text));
    let unknown: BTreeSet<&str> = wanted
        .map(|found| found.as_str())
        .filter(|name| !there.contains(name))
        .collect();
    assert!(unknown.is_empty(), "unknown metrics {unknown:?} in\n{text}");

    let is_drawn = |series: &&&str| {
        let stem = series
            .strip_suffix("_sum")
            .or(series.strip_suffix("_count"))
            .unwrap_or(series);
        drawn.contains(stem)
    };
    let missing: Vec<_> = there.iter().filter(|series| !is_drawn(series)).collect();
    assert!(missing.is_empty(), "the dashboard lacks {missing:?}");
}
