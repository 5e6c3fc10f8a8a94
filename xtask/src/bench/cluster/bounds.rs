//! The bounds of ratios that the quick form checks.

use std::fmt::{self, Write as _};

use super::figures::{Figures, Measure};
use super::subjects::{SUBJECTS, Subject};
use super::table::shown;
use crate::Outcome;

/// What is the same on any machine when taken as a ratio in one run, and the room for what the machine does meanwhile:
/// a processor that others use, too, may be half as fast for a while, but what is allocated is allocated.
const CHECKED: [(Measure, f64); 4] = [
    (Measure::SyncCpu, 2.0),
    (Measure::Heap, 1.2),
    (Measure::UpdateCpu, 2.0),
    (Measure::RelistCpu, 2.0),
];
const PEERS: [&str; 2] = ["client-go, protobuf", "kube-runtime, streaming"];

#[derive(Debug)]
pub(super) struct Bounds(Vec<Bound>);

#[derive(Debug, PartialEq)]
struct Bound {
    measure: Measure,
    ours: String,
    peer: String,
    most: f64,
}

impl Bounds {
    /// A little above what was measured.
    pub(super) fn of(figures: &Figures) -> Bounds {
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

    /// As the file holds them.
    pub(super) fn text(&self) -> Result<String, fmt::Error> {
        let mut text = "# What `cargo xtask bench --quick` allows: measure | ours | peer | the ratio of ours to the peer's, at most.\n\
                        # After a change that makes a ratio better, or worse for a good reason, write the file anew with\n\
                        # `cargo xtask bench --quick --rounds 3 --record` on a quiet machine; it leaves some room.\n"
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
        let bounds = lines.map(|line| parse_line(line).ok_or_else(|| format!("not a bound: {line}").into()));
        bounds.collect::<Outcome<_>>().map(Bounds)
    }

    /// Leaves those that are about others than these.
    pub(super) fn among(self, subjects: &[&Subject]) -> Bounds {
        let is_there = |name: &str| subjects.iter().any(|subject| subject.name == name);
        let kept = |bound: &Bound| is_there(&bound.ours) && is_there(&bound.peer);
        Bounds(self.0.into_iter().filter(kept).collect())
    }

    /// Fails if a ratio is worse than its bound, or is not there; the error names all of them.
    pub(super) fn check(&self, figures: &Figures) -> Outcome {
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

fn ratio(figures: &Figures, measure: Measure, ours: &str, peer: &str) -> Option<f64> {
    Some(figures.least(ours, measure)? / figures.least(peer, measure)?)
}

fn parse_line(line: &str) -> Option<Bound> {
    let mut parts = line.split(" | ");
    let name = parts.next()?;
    Some(Bound {
        measure: Measure::ALL.into_iter().find(|measure| measure.name() == name)?,
        ours: parts.next()?.to_owned(),
        peer: parts.next()?.to_owned(),
        most: parts.next()?.parse().ok()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figures(ours: f64) -> Figures {
        let mut figures = Figures::default();
        figures.add("kube-informer, typed, protobuf", Measure::SyncCpu, ours);
        figures.add("kube-informer, typed, protobuf", Measure::SyncCpu, 9.0);
        figures.add("client-go, protobuf", Measure::SyncCpu, 2.0);
        figures
    }

    #[test]
    fn what_is_recorded_holds_until_it_gets_worse() {
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
    fn what_was_not_measured_does_not_hold() {
        let bounds = Bounds::of(&figures(1.0));
        let missing = bounds.check(&Figures::default()).unwrap_err().to_string();
        assert_eq!(
            missing,
            "sync, CPU of kube-informer, typed, protobuf or of client-go, protobuf was not measured"
        );
        // Unless it was not to be measured.
        bounds.among(&[&SUBJECTS[0]]).check(&Figures::default()).unwrap();
    }

    #[test]
    fn a_line_that_is_no_bound_is_told() {
        let error = Bounds::parse("# a comment\nsync, CPU | ours | peer | much").unwrap_err();
        assert_eq!(error.to_string(), "not a bound: sync, CPU | ours | peer | much");
    }
}
