//! What was measured.

use std::collections::BTreeMap;

use serde_json::{Value, json};

/// What is measured of every subject, in the order of the tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Measure {
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

/// All figures of all rounds.
#[derive(Debug, Default)]
pub(super) struct Figures {
    by_subject: BTreeMap<&'static str, BTreeMap<Measure, Vec<f64>>>,
}

impl Measure {
    pub(super) const ALL: [Measure; 12] = [
        Measure::SyncWall,
        Measure::SyncCpu,
        Measure::SettledCpu,
        Measure::Peak,
        Measure::Steady,
        Measure::Heap,
        Measure::UpdateCpu,
        Measure::DelayMedian,
        Measure::DelayLate,
        Measure::RelistCpu,
        Measure::GetObject,
        Measure::GetLabel,
    ];

    pub(super) fn name(self) -> &'static str {
        match self {
            Measure::SyncWall => "sync, wall",
            Measure::SyncCpu => "sync, CPU",
            Measure::SettledCpu => "until settled, CPU",
            Measure::Peak => "peak RSS of the sync",
            Measure::Steady => "steady RSS per object",
            Measure::Heap => "live heap per object",
            Measure::UpdateCpu => "CPU per update",
            Measure::DelayMedian => "write to handler, p50",
            Measure::DelayLate => "write to handler, p99",
            Measure::RelistCpu => "relist, CPU",
            Measure::GetObject => "get of an object",
            Measure::GetLabel => "get of a label",
        }
    }

    pub(super) fn unit(self) -> &'static str {
        match self {
            Measure::SyncWall | Measure::SyncCpu | Measure::SettledCpu | Measure::RelistCpu => "s",
            Measure::Peak => "MB",
            Measure::Steady | Measure::Heap => "KB",
            Measure::UpdateCpu | Measure::GetObject | Measure::GetLabel => "µs",
            Measure::DelayMedian | Measure::DelayLate => "ms",
        }
    }
}

impl Figures {
    /// Takes a figure, in the measure's unit.
    pub(super) fn add(&mut self, subject: &'static str, measure: Measure, value: f64) {
        let measures = self.by_subject.entry(subject).or_default();
        measures.entry(measure).or_default().push(value);
    }

    /// The median of all rounds.
    pub(super) fn median(&self, subject: &str, measure: Measure) -> Option<f64> {
        let mut figures = self.by_subject.get(subject)?.get(&measure)?.clone();
        figures.sort_by(f64::total_cmp);
        let (low, high) = (
            figures.get((figures.len() - 1) / 2)?,
            figures.get(figures.len() / 2)?,
        );
        Some(f64::midpoint(*low, *high))
    }

    /// The least of all rounds: what it is when the machine does nothing else.
    pub(super) fn least(&self, subject: &str, measure: Measure) -> Option<f64> {
        let figures = self.by_subject.get(subject)?.get(&measure)?;
        figures.iter().copied().min_by(f64::total_cmp)
    }

    /// Who has been measured.
    pub(super) fn has(&self, subject: &str) -> bool {
        self.by_subject.contains_key(subject)
    }

    /// Every single figure.
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
        let mut figures = Figures::default();
        for value in [3.0, 1.0, 2.0] {
            figures.add("one", Measure::SyncCpu, value);
        }
        figures.add("two", Measure::SyncCpu, 4.0);
        figures.add("two", Measure::SyncCpu, 5.0);
        assert_eq!(figures.median("one", Measure::SyncCpu), Some(2.0));
        assert_eq!(figures.median("two", Measure::SyncCpu), Some(4.5));
        assert_eq!(figures.median("two", Measure::Peak), None);
        assert_eq!(figures.least("one", Measure::SyncCpu), Some(1.0));
        assert_eq!(figures.least("two", Measure::Peak), None);
        assert!(!figures.has("three"));
    }
}
