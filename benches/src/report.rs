//! Prints measurements as lines of JSON.

use std::time::Duration;

use serde_json::json;

use crate::clock::ElapsedTime;
use crate::measure::Longest;

/// Prints the measurements of one subject.
#[derive(Debug, Clone, Copy)]
pub struct Report {
    subject: &'static str,
}

impl Report {
    /// Returns a report for a subject.
    #[must_use]
    pub fn of(subject: &'static str) -> Report {
        Report { subject }
    }

    /// Prints a measurement.
    pub fn figure(self, measure: &str, unit: &str, value: f64) {
        self.figure_against(measure, measure, unit, value);
    }

    /// Prints a measurement that is compared with a different one of the other subjects.
    pub fn figure_against(self, measure: &str, against: &str, unit: &str, value: f64) {
        let line = json!({
            "subject": self.subject,
            "measure": measure,
            "against": against,
            "unit": unit,
            "value": value,
        });
        println!("{line}");
    }

    /// Prints events per second for a number of handlers, and the CPU time per event. A variant that only
    /// this subject has is compared with the others' default.
    pub fn events(self, handlers: usize, variant: &str, events: usize, took: ElapsedTime) {
        let events = events as f64;
        let against = format!("events to {handlers}");
        let measure = format!("{against}{variant}");
        self.figure_against(&measure, &against, "events/s", events / took.wall.as_secs_f64());
        self.figure_against(
            &format!("{measure}, processor time"),
            &format!("{against}, processor time"),
            "ns/event",
            took.processors.as_secs_f64() * 1e9 / events,
        );
    }

    /// Prints elapsed time and CPU time per item. A variant that only this subject has is compared with the
    /// others' default.
    pub fn each(self, against: &str, variant: &str, count: usize, took: ElapsedTime) {
        let each = |all: Duration| all.as_secs_f64() * 1e9 / count as f64;
        let measure = format!("{against}{variant}");
        self.figure_against(&measure, against, "ns", each(took.wall));
        self.figure_against(
            &format!("{measure}, processor time"),
            &format!("{against}, processor time"),
            "ns",
            each(took.processors),
        );
    }

    /// Prints nanoseconds per call.
    pub fn calls(self, measure: &str, each: f64) {
        self.figure(measure, "ns", each);
    }

    /// Prints the minimum and the median of several tries. The minimum is the subject's own time on any
    /// machine; the median includes interruptions by other programs.
    pub fn waits(self, measure: &str, waits: Vec<Duration>) {
        self.waits_of_variant(measure, "", waits);
    }

    /// Prints the longest calls of several tries: of all calls, and of those that the system did not
    /// interrupt.
    pub fn longest(self, measure: &str, calls: &[Longest]) {
        self.waits(measure, calls.iter().map(|call| call.any).collect());
        let let_run = calls.iter().map(|call| call.let_run).collect();
        self.waits_of_variant(measure, " while it may run", let_run);
    }

    fn waits_of_variant(self, against: &str, variant: &str, mut waits: Vec<Duration>) {
        waits.sort();
        let (Some(least), Some(middle)) = (waits.first(), waits.get(waits.len() / 2)) else {
            return;
        };
        for (which, wait) in [("least", least), ("median", middle)] {
            self.figure_against(
                &format!("{against}{variant}, {which}"),
                &format!("{against}, {which}"),
                "µs",
                wait.as_secs_f64() * 1e6,
            );
        }
    }
}
