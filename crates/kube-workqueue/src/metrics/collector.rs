//! The collector: reads and encodes the metrics of all queues.

use std::fmt;
use std::sync::Arc;

use prometheus_client::collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeGaugeValue, EncodeMetric};
use prometheus_client::metrics::{MetricType, TypedMetric};
use prometheus_client::registry::Unit;

use super::MetricsByName;
use super::series::{GaugeValues, QueueMetrics};
use crate::outcome::AttemptResult;

pub(super) struct Collector {
    queues: Arc<MetricsByName>,
}

/// Metrics of one queue name.
struct Row {
    name: String,
    metrics: Arc<QueueMetrics>,
    gauges: GaugeValues,
}

/// Name, help text and unit of a metric.
struct Descriptor {
    name: &'static str,
    help: &'static str,
    unit: Option<Unit>,
}

impl Collector {
    pub(super) fn new(queues: Arc<MetricsByName>) -> Collector {
        Collector { queues }
    }
}

impl collector::Collector for Collector {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        // Read all queues before encoding: reading queues the items that are due, which changes the counter of adds.
        let rows: Vec<Row> = self.queues.all().into_iter().map(Row::read).collect();
        if rows.is_empty() {
            return Ok(());
        }
        let encoder = &mut encoder;
        let depth = Descriptor::new(
            "workqueue_depth",
            "Number of items that are queued, or were added while being processed",
        );
        gauge(encoder, &rows, &depth, |row| row.gauges.depth)?;
        let adds = Descriptor::new("workqueue_adds", "Number of adds, without duplicates");
        metric(encoder, &rows, &adds, |row| &row.metrics.adds)?;
        let queued = Descriptor::new(
            "workqueue_queue_duration",
            "Time that items were queued before their processing began",
        );
        metric(encoder, &rows, &queued.seconds(), |row| {
            &row.metrics.queue_duration
        })?;
        let worked = Descriptor::new("workqueue_work_duration", "Time that processing items took");
        metric(encoder, &rows, &worked.seconds(), |row| {
            &row.metrics.work_duration
        })?;
        let unfinished = Descriptor::new(
            "workqueue_unfinished_work",
            "Sum of the times since the processing of running items began",
        );
        gauge(encoder, &rows, &unfinished.seconds(), |row| {
            row.gauges.unfinished.as_secs_f64()
        })?;
        let longest = Descriptor::new(
            "workqueue_longest_running_processor",
            "Longest time since the processing of a running item began",
        );
        gauge(encoder, &rows, &longest.seconds(), |row| {
            row.gauges.longest.as_secs_f64()
        })?;
        let retries = Descriptor::new("workqueue_retries", "Number of adds with a delay or a rate limit");
        metric(encoder, &rows, &retries, |row| &row.metrics.retries)?;
        let delayed = Descriptor::new("workqueue_delayed", "Number of delayed items");
        gauge(encoder, &rows, &delayed, |row| row.gauges.delayed)?;
        let running = Descriptor::new("workqueue_running", "Number of items being processed");
        gauge(encoder, &rows, &running, |row| row.gauges.running)?;
        attempts(encoder, &rows)
    }
}

impl fmt::Debug for Collector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Collector").finish_non_exhaustive()
    }
}

impl Row {
    fn read((name, metrics): (String, Arc<QueueMetrics>)) -> Row {
        let gauges = metrics.read();
        Row {
            name,
            metrics,
            gauges,
        }
    }

    fn labels(&self) -> [(&'static str, &str); 1] {
        [("name", &self.name)]
    }
}

impl Descriptor {
    /// Creates a descriptor. The name has no suffix for the unit or `_total`: encoding adds it.
    fn new(name: &'static str, help: &'static str) -> Descriptor {
        Descriptor {
            name,
            help,
            unit: None,
        }
    }

    fn seconds(mut self) -> Descriptor {
        self.unit = Some(Unit::Seconds);
        self
    }
}

fn gauge<V: EncodeGaugeValue>(
    encoder: &mut DescriptorEncoder<'_>,
    rows: &[Row],
    descriptor: &Descriptor,
    value: impl Fn(&Row) -> V,
) -> fmt::Result {
    let mut family = encoder.encode_descriptor(
        descriptor.name,
        descriptor.help,
        descriptor.unit.as_ref(),
        MetricType::Gauge,
    )?;
    for row in rows {
        family.encode_family(&row.labels())?.encode_gauge(&value(row))?;
    }
    Ok(())
}

fn metric<M: EncodeMetric + TypedMetric>(
    encoder: &mut DescriptorEncoder<'_>,
    rows: &[Row],
    descriptor: &Descriptor,
    value: impl Fn(&Row) -> &M,
) -> fmt::Result {
    let mut family = encoder.encode_descriptor(
        descriptor.name,
        descriptor.help,
        descriptor.unit.as_ref(),
        M::TYPE,
    )?;
    for row in rows {
        value(row).encode(family.encode_family(&row.labels())?)?;
    }
    Ok(())
}

fn attempts(encoder: &mut DescriptorEncoder<'_>, rows: &[Row]) -> fmt::Result {
    let help = "Number of attempts of workers, by result";
    let mut family = encoder.encode_descriptor("workqueue_attempts", help, None, MetricType::Counter)?;
    for row in rows {
        for (result, counter) in AttemptResult::LABELS.iter().zip(&row.metrics.attempts) {
            let labels = [("name", row.name.as_str()), ("result", *result)];
            counter.encode(family.encode_family(&labels)?)?;
        }
    }
    Ok(())
}
