//! Encodes the metrics of all informers when they are scraped.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use prometheus_client::collector;
use prometheus_client::encoding::{DescriptorEncoder, MetricEncoder, NoLabelSet};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::Unit;

use self::MetricValue::{Count, CountOfTime, Gauge, Histogram, Time};
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

/// A metric: its name, its help text, and its values of one informer. The name lacks the suffix for its unit or
/// `_total`, which the encoder adds.
type Metric = (
    &'static str,
    &'static str,
    for<'r> fn(&'r InformerRow) -> Vec<LabeledValue<'r>>,
);

const METRICS: &[Metric] = &[
    // The metrics that client-go has.
    (
        "informer_queued_items",
        "Number of changes waiting to be applied to the cache",
        |row| one(Gauge(row.status.queued as u64)),
    ),
    (
        "informer_processing_latency",
        "Time to apply a batch of changes to the cache and queue it for the handlers",
        |row| one(Histogram(row.status.processing.clone())),
    ),
    (
        "informer_store_resource_version",
        "Last 15 digits of the resource version of the cache",
        |row| optional(row.status.version.as_ref().and_then(last_digits).map(Gauge)),
    ),
    // The cache.
    ("informer_objects", "Number of objects in the cache", |row| {
        one(Gauge(row.status.objects as u64))
    }),
    (
        "informer_cache_bytes",
        "Size of the objects in the cache",
        |row| one(Gauge(row.status.bytes)),
    ),
    ("informer_synced", "Whether a full list is in the cache", |row| {
        one(Gauge(u64::from(row.status.has_synced)))
    }),
    (
        "informer_sync_duration",
        "Time from the start until the first full list was in the cache",
        |row| optional(row.status.synced_after.map(Time)),
    ),
    ("informer_events", "Number of changes of the cache", |row| {
        let status = &row.status;
        let counts = [
            ("added", status.added),
            ("updated", status.updated),
            ("deleted", status.deleted),
        ];
        by("type", counts)
    }),
    ("informer_checks", "Number of consistency checks", |row| {
        let status = &row.status;
        let counts = [
            ("consistent", status.checks.saturating_sub(status.inconsistencies)),
            ("inconsistent", status.inconsistencies),
            ("failed", status.unchecked),
        ];
        by("result", counts)
    }),
    // The server.
    (
        "informer_watch_age",
        "Time for which the server has been watched without interruption",
        |row| optional(row.status.watched_for.map(Time)),
    ),
    (
        "informer_silence",
        "Time since the server last reported its version by a list, an event or a bookmark",
        |row| optional(row.status.silent_for.map(Time)),
    ),
    ("informer_requests", "Number of requests to the server", |row| {
        let status = &row.status;
        let counts = [
            ("list", status.lists),
            ("streaming_list", status.streaming_lists),
            ("watch", status.watches),
        ];
        by("verb", counts)
    }),
    ("informer_relists", "Number of relists", |row| {
        by("cause", row.status.relists.by_cause())
    }),
    (
        "informer_errors",
        "Number of errors reported to the watch-error handler",
        |row| one(Count(row.status.errors)),
    ),
    (
        "informer_went_back",
        "Number of times the server was at an older version than before",
        |row| one(Count(row.status.went_back)),
    ),
    (
        "informer_received_objects",
        "Number of objects received in lists and watches",
        |row| one(Count(row.status.received_objects)),
    ),
    (
        "informer_received_bytes",
        "Size of the objects received in lists and watches",
        |row| one(Count(row.status.received_bytes)),
    ),
    (
        "informer_decoded_objects",
        "Number of objects that were decoded",
        |row| one(Count(row.status.decoded_objects)),
    ),
    ("informer_decode_seconds", "Time spent decoding", |row| {
        one(CountOfTime(row.status.decode_time))
    }),
    // The handlers.
    (
        "informer_handler_backlog",
        "Number of events that wait for the handler",
        |row| of_handlers(row, |handler| Gauge(handler.backlog() as u64)),
    ),
    (
        "informer_handler_events",
        "Number of events delivered to the handler",
        |row| of_handlers(row, |handler| Count(handler.delivered())),
    ),
    (
        "informer_handler_duration",
        "Duration of the handler's calls",
        |row| of_handlers(row, |handler| Histogram(handler.calls())),
    ),
    (
        "informer_handler_latency",
        "Time that changes waited for the handler",
        |row| of_handlers(row, |handler| Histogram(handler.waits())),
    ),
    (
        "informer_handler_running",
        "Duration of the handler's current call",
        |row| of_handlers(row, |handler| Time(handler.running_for().unwrap_or_default())),
    ),
    (
        "informer_handler_panics",
        "Number of panics of the handler",
        |row| of_handlers(row, |handler| Count(handler.panics())),
    ),
];

fn one<'a>(value: MetricValue) -> Vec<LabeledValue<'a>> {
    vec![(None, value)]
}

fn optional<'a>(value: Option<MetricValue>) -> Vec<LabeledValue<'a>> {
    value.map(|value| (None, value)).into_iter().collect()
}

fn by<'a>(label: &'static str, counts: impl IntoIterator<Item = (&'a str, u64)>) -> Vec<LabeledValue<'a>> {
    let counts = counts.into_iter();
    counts
        .map(|(value, count)| (Some((label, value)), Count(count)))
        .collect()
}

fn of_handlers(row: &InformerRow, value: impl Fn(&Registration) -> MetricValue) -> Vec<LabeledValue<'_>> {
    let handlers = row.handlers.iter();
    handlers
        .map(|(name, handler)| (Some(("handler", name.as_str())), value(handler)))
        .collect()
}

impl Collector {
    pub(super) fn new(sources: Arc<MetricsSources>) -> Collector {
        Collector { sources }
    }
}

impl collector::Collector for Collector {
    fn encode(&self, mut page: DescriptorEncoder<'_>) -> fmt::Result {
        let rows = rows(self.sources.read());
        for (name, help, values) in METRICS {
            let values: Vec<_> = rows
                .iter()
                .flat_map(|row| {
                    values(row)
                        .into_iter()
                        .map(move |(label, value)| (row.labels(label), value))
                })
                .collect();
            // Omit the name of a metric without values.
            let Some((_, first)) = values.first() else {
                continue;
            };
            let unit = first.unit();
            let mut family = page.encode_descriptor(name, help, unit.as_ref(), first.kind())?;
            for (labels, value) in &values {
                value.encode(family.encode_family(labels)?)?;
            }
        }
        Ok(())
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

impl MetricValue {
    fn kind(&self) -> MetricType {
        match self {
            Count(_) | CountOfTime(_) => MetricType::Counter,
            Gauge(_) | Time(_) => MetricType::Gauge,
            Histogram(_) => MetricType::Histogram,
        }
    }

    /// Returns the unit that is part of the metric's name.
    fn unit(&self) -> Option<Unit> {
        match self {
            Count(_) | CountOfTime(_) | Gauge(_) => None,
            Time(_) | Histogram(_) => Some(Unit::Seconds),
        }
    }

    fn encode(&self, mut encoder: MetricEncoder<'_>) -> fmt::Result {
        match self {
            Count(count) => encoder.encode_counter::<NoLabelSet, _, u64>(count, None),
            CountOfTime(time) => encoder.encode_counter::<NoLabelSet, _, f64>(&time.as_secs_f64(), None),
            Gauge(gauge) => encoder.encode_gauge(gauge),
            Time(time) => encoder.encode_gauge(&time.as_secs_f64()),
            Histogram(durations) => {
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
