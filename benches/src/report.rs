//! What was measured, as lines of JSON.

use std::time::Duration;

use serde_json::json;

use crate::clock::Took;
use crate::measure::Longest;

/// Prints the figures of one subject.
#[derive(Debug, Clone, Copy)]
pub struct Report {
    subject: &'static str,
}

impl Report {
    /// For a subject.
    #[must_use]
    pub fn of(subject: &'static str) -> Report {
        Report { subject }
    }

    /// A figure.
    pub fn figure(self, measure: &str, unit: &str, value: f64) {
        self.figure_against(measure, measure, unit, value);
    }

    /// A figure that stands against another measure of the other subjects.
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

    /// Events per second to so many handlers, and the processors' time for each. What only this subject can do stands
    /// against what the others do in any case.
    pub fn events(self, handlers: usize, manner: &str, events: usize, took: Took) {
        let events = events as f64;
        let against = format!("events to {handlers}");
        let measure = format!("{against}{manner}");
        self.figure_against(&measure, &against, "events/s", events / took.wall.as_secs_f64());
        self.figure_against(
            &format!("{measure}, processor time"),
            &format!("{against}, processor time"),
            "ns/event",
            took.processors.as_secs_f64() * 1e9 / events,
        );
    }

    /// What one of so many took, on the wall and on the processors. A manner is told where the others have but one.
    pub fn each(self, against: &str, manner: &str, count: usize, took: Took) {
        let each = |all: Duration| all.as_secs_f64() * 1e9 / count as f64;
        let measure = format!("{against}{manner}");
        self.figure_against(&measure, against, "ns", each(took.wall));
        self.figure_against(
            &format!("{measure}, processor time"),
            &format!("{against}, processor time"),
            "ns",
            each(took.processors),
        );
    }

    /// Nanoseconds per call.
    pub fn calls(self, measure: &str, each: f64) {
        self.figure(measure, "ns", each);
    }

    /// The longest waits of several tries. The shortest of them is what the subject itself does on any machine; the
    /// middle one has what other programs do in it.
    pub fn waits(self, measure: &str, waits: Vec<Duration>) {
        self.waits_in_a_manner(measure, "", waits);
    }

    /// The longest calls of several tries: all, and those in which the system let the thread run.
    pub fn longest(self, measure: &str, calls: &[Longest]) {
        self.waits(measure, calls.iter().map(|call| call.any).collect());
        let let_run = calls.iter().map(|call| call.let_run).collect();
        self.waits_in_a_manner(measure, " while it may run", let_run);
    }

    fn waits_in_a_manner(self, against: &str, manner: &str, mut waits: Vec<Duration>) {
        waits.sort();
        let (Some(least), Some(middle)) = (waits.first(), waits.get(waits.len() / 2)) else {
            return;
        };
        for (which, wait) in [("least", least), ("median", middle)] {
            self.figure_against(
                &format!("{against}{manner}, {which}"),
                &format!("{against}, {which}"),
                "µs",
                wait.as_secs_f64() * 1e6,
            );
        }
    }
}
