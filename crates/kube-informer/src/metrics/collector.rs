//! Encodes the metrics of all informers when they are scraped.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use prometheus_client::collector;
use prometheus_client::encoding::{DescriptorEncoder, MetricEncoder, NoLabelSet};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::Unit;

use super::{MetricsSources, prometheus_client};
use crate::handler::Registration;
use crate::informer::Status;
use crate::measures::Durations;
use crate::object::ResourceVersion;

pub(super) struct Collector {
    sources: Arc<MetricsSources>,
}

/// The metrics of one informer.
struct InformerRow {
    name: String,
    status: Status,
    handlers: Vec<(String, Registration)>,
}

/// A metric. The name lacks the suffix for its unit or `_total`, which the encoder adds.
struct MetricName {
    name: &'static str,
    help: &'static str,
    unit: Option<Unit>,
    kind: MetricType,
}

/// The value of one series.
enum MetricValue {
    Count(u64),
    CountOfTime(Duration),
    Gauge(u64),
    Time(Duration),
    Histogram(Durations),
}

/// A value with its own label, if it has one.
type LabeledValue<'a> = (Option<(&'static str, &'a str)>, MetricValue);

impl Collector {
    pub(super) fn new(sources: Arc<MetricsSources>) -> Collector {
        Collector { sources }
    }
}

impl collector::Collector for Collector {
    fn encode(&self, mut page: DescriptorEncoder<'_>) -> fmt::Result {
        let rows = rows(self.sources.read());
        if rows.is_empty() {
            return Ok(());
        }
        MetricsPage {
            page: &mut page,
            rows: &rows,
        }
        .encode()
    }
}

impl fmt::Debug for Collector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Collector").finish_non_exhaustive()
    }
}

/// Adds numbers to names, so that all labels differ.
fn rows(read: Vec<(String, Status)>) -> Vec<InformerRow> {
    let mut names = DuplicateNames::default();
    let row = |(name, status): (String, Status)| {
        let resource = &status.resource;
        let what = format!(
            "{}/{}/{}",
            resource.group(),
            resource.version(),
            resource.plural()
        );
        let mut handlers = DuplicateNames::default();
        InformerRow {
            name: names.numbered(&what, &name),
            handlers: status
                .handlers
                .iter()
                .map(|handler| (handlers.numbered("", handler.name()), handler.clone()))
                .collect(),
            status,
        }
    };
    read.into_iter().map(row).collect()
}

/// The names in use, with the last number that was added to each.
#[derive(Default)]
struct DuplicateNames(HashMap<(String, String), usize>);

impl DuplicateNames {
    fn numbered(&mut self, of: &str, name: &str) -> String {
        let key = |name: &str| (of.to_owned(), name.to_owned());
        let mut number = self.0.get(&key(name)).copied().unwrap_or_default();
        let free = loop {
            number += 1;
            let numbered = match number {
                1 => name.to_owned(),
                number => format!("{name}-{number}"),
            };
            // The numbered name may be in use, too.
            if !self.0.contains_key(&key(&numbered)) {
                break numbered;
            }
        };
        self.0.insert(key(&free), 1);
        self.0.insert(key(name), number);
        free
    }
}

struct MetricsPage<'p, 'e> {
    page: &'p mut DescriptorEncoder<'e>,
    rows: &'p [InformerRow],
}

impl MetricsPage<'_, '_> {
    fn encode(&mut self) -> fmt::Result {
        self.client_go()?;
        self.cache()?;
        self.server()?;
        self.handlers()
    }

    /// Writes the metrics that client-go has.
    fn client_go(&mut self) -> fmt::Result {
        self.gauge(
            "informer_queued_items",
            "Number of changes waiting to be applied to the cache",
            |s| Some(s.queued as u64),
        )?;
        let latency = MetricName::histogram(
            "informer_processing_latency",
            "Time to apply a batch of changes to the cache and queue it for the handlers",
        );
        self.each(&latency, |row| {
            vec![(None, MetricValue::Histogram(row.status.processing.clone()))]
        })?;
        self.gauge(
            "informer_store_resource_version",
            "Last 15 digits of the resource version of the cache",
            |s| s.version.as_ref().and_then(last_digits),
        )
    }

    fn cache(&mut self) -> fmt::Result {
        self.gauge("informer_objects", "Number of objects in the cache", |s| {
            Some(s.objects as u64)
        })?;
        self.gauge("informer_cache_bytes", "Size of the objects in the cache", |s| {
            Some(s.bytes)
        })?;
        self.gauge("informer_synced", "Whether a full list is in the cache", |s| {
            Some(u64::from(s.has_synced))
        })?;
        self.seconds(
            "informer_sync_duration",
            "Time from the start until the first full list was in the cache",
            |s| s.synced_after,
        )?;
        let events = MetricName::counter("informer_events", "Number of changes of the cache");
        self.each(&events, |row| {
            let status = &row.status;
            let counts = [
                ("added", status.added),
                ("updated", status.updated),
                ("deleted", status.deleted),
            ];
            by("type", counts)
        })?;
        let checks = MetricName::counter("informer_checks", "Number of consistency checks");
        self.each(&checks, |row| {
            let status = &row.status;
            let counts = [
                ("consistent", status.checks.saturating_sub(status.inconsistencies)),
                ("inconsistent", status.inconsistencies),
                ("failed", status.unchecked),
            ];
            by("result", counts)
        })
    }

    fn server(&mut self) -> fmt::Result {
        self.seconds(
            "informer_watch_age",
            "Time for which the server has been watched without interruption",
            |s| s.watched_for,
        )?;
        self.seconds(
            "informer_silence",
            "Time since the server last reported its version by a list, an event or a bookmark",
            |s| s.silent_for,
        )?;
        let requests = MetricName::counter("informer_requests", "Number of requests to the server");
        self.each(&requests, |row| {
            let status = &row.status;
            let counts = [
                ("list", status.lists),
                ("streaming_list", status.streaming_lists),
                ("watch", status.watches),
            ];
            by("verb", counts)
        })?;
        let relists = MetricName::counter("informer_relists", "Number of relists");
        self.each(&relists, |row| by("cause", row.status.relists.by_cause()))?;
        self.count(
            "informer_errors",
            "Number of errors reported to the watch-error handler",
            |s| s.errors,
        )?;
        self.count(
            "informer_went_back",
            "Number of times the server was at an older version than before",
            |s| s.went_back,
        )?;
        self.count(
            "informer_received_objects",
            "Number of objects received in lists and watches",
            |s| s.received_objects,
        )?;
        self.count(
            "informer_received_bytes",
            "Size of the objects received in lists and watches",
            |s| s.received_bytes,
        )?;
        self.count(
            "informer_decoded_objects",
            "Number of objects that were decoded",
            |s| s.decoded_objects,
        )?;
        let decoding = MetricName::counter("informer_decode_seconds", "Time spent decoding");
        self.each(&decoding, |row| {
            vec![(None, MetricValue::CountOfTime(row.status.decode_time))]
        })
    }

    fn handlers(&mut self) -> fmt::Result {
        let backlog = MetricName::gauge(
            "informer_handler_backlog",
            "Number of events that wait for the handler",
        );
        self.each_handler(&backlog, |handler| MetricValue::Gauge(handler.backlog() as u64))?;
        let events = MetricName::counter(
            "informer_handler_events",
            "Number of events delivered to the handler",
        );
        self.each_handler(&events, |handler| MetricValue::Count(handler.delivered()))?;
        let calls = MetricName::histogram("informer_handler_duration", "Duration of the handler's calls");
        self.each_handler(&calls, |handler| MetricValue::Histogram(handler.calls()))?;
        let waits = MetricName::histogram(
            "informer_handler_latency",
            "Time that changes waited for the handler",
        );
        self.each_handler(&waits, |handler| MetricValue::Histogram(handler.waits()))?;
        let running = MetricName::gauge(
            "informer_handler_running",
            "Duration of the handler's current call",
        );
        self.each_handler(&running.seconds(), |handler| {
            MetricValue::Time(handler.running_for().unwrap_or_default())
        })?;
        let panics = MetricName::counter("informer_handler_panics", "Number of panics of the handler");
        self.each_handler(&panics, |handler| MetricValue::Count(handler.panics()))
    }

    fn gauge(
        &mut self,
        name: &'static str,
        help: &'static str,
        value: impl Fn(&Status) -> Option<u64>,
    ) -> fmt::Result {
        let value = |row: &InformerRow| value(&row.status).map(MetricValue::Gauge);
        self.optional(&MetricName::gauge(name, help), value)
    }

    fn seconds(
        &mut self,
        name: &'static str,
        help: &'static str,
        value: impl Fn(&Status) -> Option<Duration>,
    ) -> fmt::Result {
        let value = |row: &InformerRow| value(&row.status).map(MetricValue::Time);
        self.optional(&MetricName::gauge(name, help).seconds(), value)
    }

    fn optional(
        &mut self,
        head: &MetricName,
        value: impl Fn(&InformerRow) -> Option<MetricValue>,
    ) -> fmt::Result {
        self.each(head, |row| {
            let value = value(row).map(|value| (None, value));
            value.into_iter().collect()
        })
    }

    fn count(
        &mut self,
        name: &'static str,
        help: &'static str,
        value: impl Fn(&Status) -> u64,
    ) -> fmt::Result {
        self.each(&MetricName::counter(name, help), |row| {
            vec![(None, MetricValue::Count(value(&row.status)))]
        })
    }

    fn each_handler(
        &mut self,
        head: &MetricName,
        value: impl Fn(&Registration) -> MetricValue,
    ) -> fmt::Result {
        self.each(head, |row| {
            let handlers = row.handlers.iter();
            let samples = handlers.map(|(name, handler)| (Some(("handler", name.as_str())), value(handler)));
            samples.collect()
        })
    }

    fn each<'r>(
        &mut self,
        head: &MetricName,
        samples: impl Fn(&'r InformerRow) -> Vec<LabeledValue<'r>>,
    ) -> fmt::Result
    where
        Self: 'r,
    {
        let rows = self.rows;
        let all: Vec<_> = rows.iter().map(|row| (row, samples(row))).collect();
        // Omit the name of a metric without values.
        if all.iter().all(|(_, samples)| samples.is_empty()) {
            return Ok(());
        }
        let mut family = self
            .page
            .encode_descriptor(head.name, head.help, head.unit.as_ref(), head.kind)?;
        for (row, samples) in all {
            for (label, value) in samples {
                let labels = row.labels(label);
                value.encode(family.encode_family(&labels)?)?;
            }
        }
        Ok(())
    }
}

fn by<'a>(label: &'static str, counts: impl IntoIterator<Item = (&'a str, u64)>) -> Vec<LabeledValue<'a>> {
    let counts = counts.into_iter();
    counts
        .map(|(value, count)| (Some((label, value)), MetricValue::Count(count)))
        .collect()
}

impl InformerRow {
    fn labels<'a>(&'a self, more: Option<(&'a str, &'a str)>) -> Vec<(&'a str, &'a str)> {
        let resource = &self.status.resource;
        let mut labels = vec![
            ("name", self.name.as_str()),
            ("group", resource.group()),
            ("version", resource.version()),
            ("resource", resource.plural()),
        ];
        labels.extend(more);
        labels
    }
}

impl MetricName {
    fn new(name: &'static str, help: &'static str, kind: MetricType) -> MetricName {
        MetricName {
            name,
            help,
            unit: None,
            kind,
        }
    }

    fn gauge(name: &'static str, help: &'static str) -> MetricName {
        MetricName::new(name, help, MetricType::Gauge)
    }

    fn counter(name: &'static str, help: &'static str) -> MetricName {
        MetricName::new(name, help, MetricType::Counter)
    }

    fn histogram(name: &'static str, help: &'static str) -> MetricName {
        MetricName::new(name, help, MetricType::Histogram).seconds()
    }

    fn seconds(mut self) -> MetricName {
        self.unit = Some(Unit::Seconds);
        self
    }
}

impl MetricValue {
    fn encode(&self, mut encoder: MetricEncoder<'_>) -> fmt::Result {
        match self {
            MetricValue::Count(count) => encoder.encode_counter::<NoLabelSet, _, u64>(count, None),
            MetricValue::CountOfTime(time) => {
                encoder.encode_counter::<NoLabelSet, _, f64>(&time.as_secs_f64(), None)
            }
            MetricValue::Gauge(gauge) => encoder.encode_gauge(gauge),
            MetricValue::Time(time) => encoder.encode_gauge(&time.as_secs_f64()),
            MetricValue::Histogram(durations) => {
                let bound = |bound: &Option<Duration>| bound.map_or(f64::MAX, |b| b.as_secs_f64());
                let buckets = durations.buckets.iter();
                let buckets: Vec<_> = buckets.map(|(longest, count)| (bound(longest), *count)).collect();
                encoder.encode_histogram::<NoLabelSet>(
                    durations.sum.as_secs_f64(),
                    durations.count,
                    &buckets,
                    None,
                )
            }
        }
    }
}

/// Returns as many digits as a floating-point number can represent.
fn last_digits(version: &ResourceVersion) -> Option<u64> {
    let text = version.to_string();
    let digits = text.get(text.len().saturating_sub(15)..)?;
    digits.parse().ok()
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::DuplicateNames;

    #[test]
    fn no_name_is_numbered_into_one_that_is_there() {
        for names in [
            ["a", "a-2", "a", "a"],
            ["a", "a", "a-2", "a"],
            ["a-2", "a", "a", "a-2"],
        ] {
            let mut numbers = DuplicateNames::default();
            let numbered: HashSet<_> = names.map(|name| numbers.numbered("", name)).into();
            assert_eq!(numbered.len(), names.len(), "{names:?} became {numbered:?}");
        }
        let mut numbers = DuplicateNames::default();
        let numbered =
            [("x", "a"), ("y", "a"), ("x", "a"), ("x", "a")].map(|(of, name)| numbers.numbered(of, name));
        assert_eq!(numbered, ["a", "a", "a-2", "a-3"]);
    }
}
