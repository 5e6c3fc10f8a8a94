//! The page: every metric of every name, read when it is asked for.

use std::fmt;
use std::sync::Arc;

use prometheus_client::collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeGaugeValue, EncodeMetric};
use prometheus_client::metrics::{MetricType, TypedMetric};
use prometheus_client::registry::Unit;

use super::Names;
use super::series::{Reading, Series, Verdict};

pub(super) struct Collector {
    names: Arc<Names>,
}

/// A name on the page.
struct Row {
    name: String,
    series: Arc<Series>,
    reading: Reading,
}

/// What is said of a metric before its values.
struct Head {
    name: &'static str,
    help: &'static str,
    unit: Option<Unit>,
}

impl Collector {
    pub(super) fn new(names: Arc<Names>) -> Collector {
        Collector { names }
    }
}

impl collector::Collector for Collector {
    fn encode(&self, mut page: DescriptorEncoder<'_>) -> fmt::Result {
        // All are read before anything is written: to read brings in line what is due, and that counts as an add.
        let rows: Vec<Row> = self.names.alive().into_iter().map(Row::read).collect();
        if rows.is_empty() {
            return Ok(());
        }
        let page = &mut page;
        let depth = Head::new("workqueue_depth", "Items to work on");
        gauge(page, &rows, &depth, |row| row.reading.depth)?;
        let adds = Head::new("workqueue_adds", "Adds that were not folded into earlier ones");
        metric(page, &rows, &adds, |row| &row.series.adds)?;
        let queued = Head::new(
            "workqueue_queue_duration",
            "How long items waited to be worked on",
        );
        metric(page, &rows, &queued.seconds(), |row| &row.series.queued)?;
        let worked = Head::new("workqueue_work_duration", "How long the work on items took");
        metric(page, &rows, &worked.seconds(), |row| &row.series.worked)?;
        let unfinished = Head::new(
            "workqueue_unfinished_work",
            "How long the work that is not done takes so far, together",
        );
        gauge(page, &rows, &unfinished.seconds(), |row| {
            row.reading.unfinished.as_secs_f64()
        })?;
        let longest = Head::new(
            "workqueue_longest_running_processor",
            "How long the longest work that is not done takes so far",
        );
        gauge(page, &rows, &longest.seconds(), |row| {
            row.reading.longest.as_secs_f64()
        })?;
        let retries = Head::new(
            "workqueue_retries",
            "Adds with a delay or held back by the rate limiter",
        );
        metric(page, &rows, &retries, |row| &row.series.retries)?;
        let delayed = Head::new("workqueue_delayed", "Items whose time has not come");
        gauge(page, &rows, &delayed, |row| row.reading.delayed)?;
        let running = Head::new("workqueue_running", "Items that are worked on");
        gauge(page, &rows, &running, |row| row.reading.running)?;
        attempts(page, &rows)
    }
}

impl fmt::Debug for Collector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Collector").finish_non_exhaustive()
    }
}

impl Row {
    fn read((name, series): (String, Arc<Series>)) -> Row {
        let reading = series.read();
        Row {
            name,
            series,
            reading,
        }
    }

    fn labels(&self) -> [(&'static str, &str); 1] {
        [("name", &self.name)]
    }
}

impl Head {
    /// The name is without the ending that says its unit or that it is a total: encoding adds it.
    fn new(name: &'static str, help: &'static str) -> Head {
        Head {
            name,
            help,
            unit: None,
        }
    }

    fn seconds(mut self) -> Head {
        self.unit = Some(Unit::Seconds);
        self
    }
}

fn gauge<V: EncodeGaugeValue>(
    page: &mut DescriptorEncoder<'_>,
    rows: &[Row],
    head: &Head,
    value: impl Fn(&Row) -> V,
) -> fmt::Result {
    let mut family = page.encode_descriptor(head.name, head.help, head.unit.as_ref(), MetricType::Gauge)?;
    for row in rows {
        family.encode_family(&row.labels())?.encode_gauge(&value(row))?;
    }
    Ok(())
}

fn metric<M: EncodeMetric + TypedMetric>(
    page: &mut DescriptorEncoder<'_>,
    rows: &[Row],
    head: &Head,
    of: impl Fn(&Row) -> &M,
) -> fmt::Result {
    let mut family = page.encode_descriptor(head.name, head.help, head.unit.as_ref(), M::TYPE)?;
    for row in rows {
        of(row).encode(family.encode_family(&row.labels())?)?;
    }
    Ok(())
}

fn attempts(page: &mut DescriptorEncoder<'_>, rows: &[Row]) -> fmt::Result {
    let help = "Attempts of workers, by what came of them";
    let mut family = page.encode_descriptor("workqueue_attempts", help, None, MetricType::Counter)?;
    for row in rows {
        for (verdict, counter) in Verdict::ALL.iter().zip(&row.series.attempts) {
            let labels = [("name", row.name.as_str()), ("result", verdict.label())];
            counter.encode(family.encode_family(&labels)?)?;
        }
    }
    Ok(())
}
