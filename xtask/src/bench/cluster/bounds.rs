//! The bounds of ratios that the quick benchmark checks.

use std::fmt::{self, Write as _};

use super::figures::{Measurements, Metric};
use super::subjects::{ClusterSubject, SUBJECTS};
use super::table::shown;
use crate::Outcome;

/// Measurements whose ratios are the same on any machine, and their tolerance. A shared CPU may be half as
/// fast for a while, but allocations do not vary.
const CHECKED: [(Metric, f64); 4] = [
    (Metric::SyncCpu, 2.0),
    (Metric::Heap, 1.2),
    (Metric::UpdateCpu, 2.0),
    (Metric::RelistCpu, 2.0),
];
const PEERS: [&str; 2] = ["client-go, protobuf", "kube-runtime, streaming"];

#[derive(Debug)]
pub(super) struct Bounds(Vec<Bound>);

#[derive(Debug, PartialEq)]
struct Bound {
    measure: Metric,
    ours: String,
    peer: String,
    most: f64,
}

impl Bounds {
    /// Returns bounds a little above the measured ratios.
    pub(super) fn of(figures: &Measurements) -> Bounds {
        let ours = SUBJECTS
            .iter()
            .filter(|subject| subject.name.starts_with("kube-informer"));
        let mut bounds = Vec::new();
        for subject in ours {
            for (measure, room) in CHECKED {
                for peer in PEERS {
                    bounds.extend(ratio(figures, measure, subject.name, peer).map(|ratio| Bound {
                        measure,
                        ours: subject.name.to_owned(),
                        peer: peer.to_owned(),
                        most: ratio * room,
                    }));
                }
            }
        }
        Bounds(bounds)
    }

    /// Returns the content of the file.
    pub(super) fn text(&self) -> Result<String, fmt::Error> {
        let mut text = "# Bounds of `cargo xtask bench --quick`: measure | ours | peer | maximum ratio of ours to the peer's.\n\
                        # After a change that improves a ratio, or makes it worse for a good reason, update the file with\n\
                        # `cargo xtask bench --quick --rounds 3 --record` on an idle machine. It includes a tolerance.\n"
            .to_owned();
        for bound in &self.0 {
            writeln!(
                text,
                "{} | {} | {} | {}",
                bound.measure.name(),
                bound.ours,
                bound.peer,
                shown(bound.most)
            )?;
        }
        Ok(text)
    }

    pub(super) fn parse(text: &str) -> Outcome<Bounds> {
        let lines = text
            .lines()
            .filter(|line| !line.is_empty() && !line.starts_with('#'));
        let bounds =
            lines.map(|line| parse_line(line).ok_or_else(|| format!("invalid bound: {line}").into()));
        bounds.collect::<Outcome<_>>().map(Bounds)
    }

    /// Keeps only the bounds of these subjects.
    pub(super) fn among(self, subjects: &[&ClusterSubject]) -> Bounds {
        let is_there = |name: &str| subjects.iter().any(|subject| subject.name == name);
        let kept = |bound: &Bound| is_there(&bound.ours) && is_there(&bound.peer);
        Bounds(self.0.into_iter().filter(kept).collect())
    }

    /// Fails if a ratio is missing or exceeds its bound. The error contains all of them.
    pub(super) fn check(&self, figures: &Measurements) -> Outcome {
        let broken = |bound: &Bound| {
            let (name, ours, peer) = (bound.measure.name(), &bound.ours, &bound.peer);
            match ratio(figures, bound.measure, ours, peer) {
                Some(ratio) if ratio <= bound.most => None,
                Some(ratio) => Some(format!(
                    "{name} of {ours} is {}× that of {peer}, more than {}×",
                    shown(ratio),
                    shown(bound.most)
                )),
                None => Some(format!("{name} of {ours} or of {peer} was not measured")),
            }
        };
        let broken: Vec<String> = self.0.iter().filter_map(broken).collect();
        if broken.is_empty() {
            Ok(())
        } else {
            Err(broken.join("\n").into())
        }
    }
}

fn ratio(figures: &Measurements, measure: Metric, ours: &str, peer: &str) -> Option<f64> {
    Some(figures.least(ours, measure)? / figures.least(peer, measure)?)
}

fn parse_line(line: &str) -> Option<Bound> {
    let mut parts = line.split(" | ");
    let name = parts.next()?;
    Some(Bound {
        measure: Metric::ALL.into_iter().find(|measure| measure.name() == name)?,
        ours: parts.next()?.to_owned(),
        peer: parts.next()?.to_owned(),
        most: parts.next()?.parse().ok()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figures(ours: f64) -> Measurements {
        let mut figures = Measurements::default();
        figures.add("kube-informer, typed, protobuf", Metric::SyncCpu, ours);
        figures.add("kube-informer, typed, protobuf", Metric::SyncCpu, 9.0);
        figures.add("client-go, protobuf", Metric::SyncCpu, 2.0);
        figures
    }

    #[test]
    fn recorded_bounds_hold_until_a_ratio_gets_worse() {
        let recorded = Bounds::of(&figures(1.0)).text().unwrap();
        let bounds = Bounds::parse(&recorded).unwrap();
        assert_eq!(bounds.0.len(), 1);
        bounds.check(&figures(1.9)).unwrap();
        let worse = bounds.check(&figures(2.1)).unwrap_err().to_string();
        assert_eq!(
            worse,
            "sync, CPU of kube-informer, typed, protobuf is 1.05× that of client-go, protobuf, more than 1.00×"
        );
    }

    #[test]
    fn a_missing_measurement_is_an_error() {
        let bounds = Bounds::of(&figures(1.0));
        let missing = bounds.check(&Measurements::default()).unwrap_err().to_string();
        assert_eq!(
            missing,
            "sync, CPU of kube-informer, typed, protobuf or of client-go, protobuf was not measured"
        );
        // Only selected subjects must be measured.
        bounds
            .among(&[&SUBJECTS[0]])
            .check(&Measurements::default())
            .unwrap();
    }

    #[test]
    fn an_invalid_line_is_an_error() {
        let error = Bounds::parse("# a comment\nsync, CPU | ours | peer | much").unwrap_err();
        assert_eq!(error.to_string(), "invalid bound: sync, CPU | ours | peer | much");
    }
}
