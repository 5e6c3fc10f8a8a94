//! The measurements.

use std::collections::BTreeMap;

use serde_json::{Value, json};

/// The metrics of every subject, in the order of the tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Metric {
    SyncWall,
    SyncCpu,
    SettledCpu,
    Peak,
    Steady,
    Heap,
    UpdateCpu,
    DelayMedian,
    DelayLate,
    RelistCpu,
    GetObject,
    GetLabel,
}

/// All measurements of all rounds.
#[derive(Debug, Default)]
pub(super) struct Measurements {
    by_subject: BTreeMap<&'static str, BTreeMap<Metric, Vec<f64>>>,
}

impl Metric {
    pub(super) const ALL: [Metric; 12] = [
        Metric::SyncWall,
        Metric::SyncCpu,
        Metric::SettledCpu,
        Metric::Peak,
        Metric::Steady,
        Metric::Heap,
        Metric::UpdateCpu,
        Metric::DelayMedian,
        Metric::DelayLate,
        Metric::RelistCpu,
        Metric::GetObject,
        Metric::GetLabel,
    ];

    pub(super) fn name(self) -> &'static str {
        match self {
            Metric::SyncWall => "sync, wall",
            Metric::SyncCpu => "sync, CPU",
            Metric::SettledCpu => "until settled, CPU",
            Metric::Peak => "peak RSS of the sync",
            Metric::Steady => "steady RSS per object",
            Metric::Heap => "live heap per object",
            Metric::UpdateCpu => "CPU per update",
            Metric::DelayMedian => "write to handler, p50",
            Metric::DelayLate => "write to handler, p99",
            Metric::RelistCpu => "relist, CPU",
            Metric::GetObject => "get of an object",
            Metric::GetLabel => "get of a label",
        }
    }

    pub(super) fn unit(self) -> &'static str {
        match self {
            Metric::SyncWall | Metric::SyncCpu | Metric::SettledCpu | Metric::RelistCpu => "s",
            Metric::Peak => "MB",
            Metric::Steady | Metric::Heap => "KB",
            Metric::UpdateCpu | Metric::GetObject | Metric::GetLabel => "µs",
            Metric::DelayMedian | Metric::DelayLate => "ms",
        }
    }
}

impl Measurements {
    /// Adds a measurement, in the metric's unit.
    pub(super) fn add(&mut self, subject: &'static str, measure: Metric, value: f64) {
        let measures = self.by_subject.entry(subject).or_default();
        measures.entry(measure).or_default().push(value);
    }

    /// Returns the median of all rounds.
    pub(super) fn median(&self, subject: &str, measure: Metric) -> Option<f64> {
        let mut figures = self.by_subject.get(subject)?.get(&measure)?.clone();
        figures.sort_by(f64::total_cmp);
        let (low, high) = (
            figures.get((figures.len() - 1) / 2)?,
            figures.get(figures.len() / 2)?,
        );
        Some(f64::midpoint(*low, *high))
    }

    /// Returns the minimum of all rounds, which is least disturbed by other load.
    pub(super) fn least(&self, subject: &str, measure: Metric) -> Option<f64> {
        let figures = self.by_subject.get(subject)?.get(&measure)?;
        figures.iter().copied().min_by(f64::total_cmp)
    }

    /// Returns whether a subject was measured.
    pub(super) fn has(&self, subject: &str) -> bool {
        self.by_subject.contains_key(subject)
    }

    /// Returns all single measurements.
    pub(super) fn json(&self) -> Value {
        let subjects = self.by_subject.iter().map(|(subject, measures)| {
            let measures = measures.iter().map(|(measure, values)| {
                let entry = json!({"unit": measure.unit(), "figures": values});
                (measure.name().to_owned(), entry)
            });
            ((*subject).to_owned(), Value::Object(measures.collect()))
        });
        Value::Object(subjects.collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_of_all_rounds() {
        let mut figures = Measurements::default();
        for value in [3.0, 1.0, 2.0] {
            figures.add("one", Metric::SyncCpu, value);
        }
        figures.add("two", Metric::SyncCpu, 4.0);
        figures.add("two", Metric::SyncCpu, 5.0);
        assert_eq!(figures.median("one", Metric::SyncCpu), Some(2.0));
        assert_eq!(figures.median("two", Metric::SyncCpu), Some(4.5));
        assert_eq!(figures.median("two", Metric::Peak), None);
        assert_eq!(figures.least("one", Metric::SyncCpu), Some(1.0));
        assert_eq!(figures.least("two", Metric::Peak), None);
        assert!(!figures.has("three"));
    }
}
