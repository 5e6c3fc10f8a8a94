//! Metrics of queues and workers in a registry.

mod page;
mod when;
mod work;

use kube_workqueue::metrics::Metrics;
use kube_workqueue::metrics::prometheus_client::encoding::text;
use kube_workqueue::metrics::prometheus_client::registry::Registry;

/// A registry with metrics.
struct TestRegistry {
    registry: Registry,
    metrics: Metrics,
}

impl TestRegistry {
    fn new() -> TestRegistry {
        let mut registry = Registry::default();
        let metrics = Metrics::register(&mut registry);
        TestRegistry { registry, metrics }
    }

    fn page(&self) -> String {
        let mut page = String::new();
        text::encode(&mut page, &self.registry).expect("writing to a string cannot fail");
        page
    }

    /// Returns the value of a metric with these labels. The name is given without the prefix `workqueue_`.
    fn with(&self, metric: &str, labels: &str) -> Option<String> {
        let before = format!("workqueue_{metric}{{{labels}}} ");
        let page = self.page();
        let value = page.lines().find_map(|line| line.strip_prefix(&before));
        value.map(str::to_owned)
    }

    /// Returns the values of metrics of the queue `q`.
    fn q<const N: usize>(&self, metrics: [&str; N]) -> [String; N] {
        metrics.map(|metric| self.with(metric, "name=\"q\"").expect("it is shown"))
    }
}
