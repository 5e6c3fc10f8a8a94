//! The chapter on operations names exactly the existing metrics, and existing alerts.

#[path = "markdown/mod.rs"]
mod markdown;

use std::collections::BTreeSet;
use std::fs;
use std::time::Duration;

use k8s_openapi::api::core::v1::ConfigMap;
use kube_embedded::Server;
use kube_informer::metrics::prometheus_client::{encoding::text, registry::Registry};
use kube_informer::metrics::{InformerMetrics, Metrics};
use kube_informer::prelude::*;
use markdown::root;

#[test]
fn the_chapter_on_operations_explains_each_alert() {
    let read = |path: &str| fs::read_to_string(root().join(path)).expect("a file of the repository");
    let (rules, chapter) = (
        read("docs/operations/alerts.yaml"),
        read("docs/book/src/operations.md"),
    );
    let alerts = rules
        .lines()
        .filter_map(|line| line.trim().strip_prefix("- alert: "));
    let rows = chapter
        .lines()
        .filter_map(|line| line.strip_prefix("| `")?.split_once("` |"));
    let documented = rows
        .map(|(name, _)| name)
        .filter(|name| name.starts_with(char::is_uppercase));
    assert_eq!(documented.collect::<Vec<_>>(), alerts.collect::<Vec<_>>());
}

#[tokio::test]
async fn the_chapter_on_operations_names_every_metric_and_no_other() {
    let chapter = fs::read_to_string(root().join("docs/book/src/operations.md")).expect("the chapter");
    let words = chapter.split(|c: char| !(c.is_ascii_lowercase() || c == '_'));
    let documented: BTreeSet<&str> = words
        .filter(|word| word.starts_with("informer_") || word.starts_with("workqueue_"))
        // In queries, histograms have additional names.
        .map(|word| word.strip_suffix("_bucket").unwrap_or(word))
        .collect();

    let page = page().await;
    let shown: BTreeSet<String> = page
        .lines()
        .filter_map(|line| line.strip_prefix("# TYPE "))
        .filter_map(|line| line.split_once(' '))
        .map(|(name, kind)| {
            if kind == "counter" {
                format!("{name}_total")
            } else {
                name.to_owned()
            }
        })
        .collect();
    let shown: BTreeSet<&str> = shown.iter().map(String::as_str).collect();
    let unknown: Vec<_> = documented.difference(&shown).collect();
    let undocumented: Vec<_> = shown.difference(&documented).collect();
    assert!(
        unknown.is_empty() && undocumented.is_empty(),
        "unknown: {unknown:?}; undocumented: {undocumented:?}"
    );
}

/// Returns the metrics of a program with an informer, a handler and a queue.
async fn page() -> String {
    let server = Server::start().await.expect("a server");
    let mut registry = Registry::default();
    let informers = InformerMetrics::register(&mut registry);
    let queues = Metrics::register(&mut registry);
    let factory = SharedInformerFactory::new(server.client().expect("a client"));
    informers.add_factory(&factory);
    let queue = WorkQueue::builder("maps").metrics(&queues).build();
    let maps = factory.informer::<ConfigMap>();
    maps.add_handler(enqueue_keys(&queue)).expect("a handler");
    factory.start();
    factory
        .wait_for_sync(Duration::from_secs(30))
        .await
        .expect("a list");

    let mut page = String::new();
    text::encode(&mut page, &registry).expect("writing to a string cannot fail");
    factory.shutdown().await;
    server.stop().await;
    page
}
