//! Measurements of several implementations side by side.

use std::collections::BTreeMap;
use std::fmt;

use serde_json::{Value, json};

use crate::Outcome;

/// All measurements, by metric in the order of arrival.
pub(super) struct Comparison {
    ours: &'static str,
    peers: Vec<&'static str>,
    measures: Vec<ComparedMetric>,
}

struct ComparedMetric {
    name: String,
    /// The metric of the peers to compare with; usually the same.
    against: String,
    unit: String,
    figures: BTreeMap<String, Vec<f64>>,
}

impl Comparison {
    /// Compares one implementation with others.
    pub(super) fn of(ours: &'static str, peers: Vec<&'static str>) -> Comparison {
        Comparison {
            ours,
            peers,
            measures: Vec::new(),
        }
    }

    /// Adds a line of a program's output.
    pub(super) fn add(&mut self, line: &Value) -> Outcome {
        let text = |field: &str| {
            line[field]
                .as_str()
                .ok_or_else(|| format!("missing {field} in {line}"))
        };
        let (name, subject) = (text("measure")?, text("subject")?);
        let value = line["value"]
            .as_f64()
            .ok_or_else(|| format!("missing value in {line}"))?;
        let known = self.measures.iter().position(|measure| measure.name == name);
        let at = known.unwrap_or(self.measures.len());
        if known.is_none() {
            self.measures.push(ComparedMetric {
                name: name.to_owned(),
                against: text("against")?.to_owned(),
                unit: text("unit")?.to_owned(),
                figures: BTreeMap::new(),
            });
        }
        let figures = self.measures[at].figures.entry(subject.to_owned()).or_default();
        figures.push(value);
        Ok(())
    }

    /// Returns all single measurements.
    pub(super) fn json(&self) -> String {
        let measures = self.measures.iter().map(|measure| {
            json!({ "measure": measure.name, "unit": measure.unit, "figures": measure.figures }).to_string()
        });
        measures.map(|line| line + "\n").collect()
    }

    fn of_peer(&self, measure: &ComparedMetric, peer: &str) -> Option<f64> {
        let same = self.measures.iter().find(|other| other.name == measure.against)?;
        same.median(peer)
    }
}

impl ComparedMetric {
    fn median(&self, subject: &str) -> Option<f64> {
        let mut figures = self
            .figures
            .get(subject)
            .filter(|figures| !figures.is_empty())?
            .clone();
        figures.sort_by(f64::total_cmp);
        let (low, high) = (
            figures.get((figures.len() - 1) / 2)?,
            figures.get(figures.len() / 2)?,
        );
        Some(f64::midpoint(*low, *high))
    }

    /// Returns how many times better the first value is than the second.
    fn times_better(&self, ours: f64, theirs: f64) -> f64 {
        if self.unit.ends_with("/s") {
            ours / theirs
        } else {
            theirs / ours
        }
    }
}

/// A table of medians, with the factor by which this project is better in brackets.
impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "| measure | unit | {} | {} |",
            self.ours,
            self.peers.join(" | ")
        )?;
        writeln!(f, "|---|---|---:|{}", "---:|".repeat(self.peers.len()))?;
        for measure in &self.measures {
            let Some(ours) = measure.median(self.ours) else {
                continue;
            };
            write!(f, "| {} | {} | {}", measure.name, measure.unit, shown(ours))?;
            for peer in &self.peers {
                match self.of_peer(measure, peer) {
                    Some(theirs) => {
                        let times = measure.times_better(ours, theirs);
                        write!(f, " | {} ({}×)", shown(theirs), shown(times))?;
                    }
                    None => write!(f, " | –")?,
                }
            }
            writeln!(f, " |")?;
        }
        Ok(())
    }
}

/// More than three digits are not significant.
fn shown(value: f64) -> String {
    let decimals = match value.abs() {
        size if size >= 100.0 => 0,
        size if size >= 10.0 => 1,
        _ => 2,
    };
    let text = format!("{value:.decimals$}");
    let whole = text.find('.').unwrap_or(text.len());
    let mut grouped = String::new();
    for (at, digit) in text.char_indices() {
        if at > 0 && at < whole && (whole - at).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(subject: &str, measure: &str, unit: &str, value: f64) -> Value {
        json!({ "subject": subject, "measure": measure, "against": "speed", "unit": unit, "value": value })
    }

    #[test]
    fn medians_are_compared_with_those_of_the_peers() {
        let mut comparison = Comparison::of("ours", vec!["client-go", "kube-runtime"]);
        for value in [3000.0, 1.0, 2000.0] {
            comparison.add(&line("ours", "speed", "events/s", value)).unwrap();
        }
        comparison
            .add(&line("client-go", "speed", "events/s", 500.0))
            .unwrap();
        comparison
            .add(&line("ours", "speed, otherwise", "events/s", 250.0))
            .unwrap();
        let table = comparison.to_string();
        let rows: Vec<&str> = table.lines().skip(2).collect();
        assert_eq!(
            rows,
            [
                "| speed | events/s | 2,000 | 500 (4.00×) | – |",
                "| speed, otherwise | events/s | 250 | 500 (0.50×) | – |",
            ]
        );
    }

    #[test]
    fn less_time_is_better() {
        let measure = ComparedMetric {
            name: String::new(),
            against: String::new(),
            unit: "ns".into(),
            figures: BTreeMap::new(),
        };
        assert!((measure.times_better(10.0, 40.0) - 4.0).abs() < 1e-9);
    }

    #[test]
    fn figures_are_short() {
        assert_eq!(shown(1_234_567.8), "1,234,568");
        assert_eq!(shown(12.345), "12.3");
        assert_eq!(shown(0.5), "0.50");
    }
}
