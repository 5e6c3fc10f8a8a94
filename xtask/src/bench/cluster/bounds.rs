//! The bounds of ratios that the quick form checks.

use std::fmt::{self, Write as _};

use super::figures::{Figures, Measure};
use super::subjects::SUBJECTS;
use super::table::shown;
use crate::Outcome;

/// Room for what the machine does meanwhile.
const ROOM: f64 = 1.35;

/// What is the same on any machine, when taken as a ratio in one run.
const CHECKED: [Measure; 4] = [
    Measure::SyncCpu,
    Measure::Heap,
    Measure::UpdateCpu,
    Measure::RelistCpu,
];
const PEERS: [&str; 2] = ["client-go, JSON", "kube-runtime, streaming"];

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
            for measure in CHECKED {
                for peer in PEERS {
                    bounds.extend(ratio(figures, measure, subject.name, peer).map(|ratio| Bound {
                        measure,
                        ours: subject.name.to_owned(),
                        peer: peer.to_owned(),
                        most: ratio * ROOM,
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

    /// Fails if a ratio is worse than its bound; the error names all of them.
    pub(super) fn check(&self, figures: &Figures) -> Outcome {
        let broken: Vec<String> = self
            .0
            .iter()
            .filter_map(|bound| {
                let ratio = ratio(figures, bound.measure, &bound.ours, &bound.peer)?;
                (ratio > bound.most).then(|| {
                    let name = bound.measure.name();
                    format!(
                        "{name} of {} is {}× that of {}, more than {}×",
                        bound.ours,
                        shown(ratio),
                        bound.peer,
                        shown(bound.most)
                    )
                })
            })
            .collect();
        if broken.is_empty() {
            Ok(())
        } else {
            Err(broken.join("\n").into())
        }
    }
}

fn ratio(figures: &Figures, measure: Measure, ours: &str, peer: &str) -> Option<f64> {
    Some(figures.median(ours, measure)? / figures.median(peer, measure)?)
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
        figures.add("kube-informer, typed, JSON", Measure::SyncCpu, ours);
        figures.add("client-go, JSON", Measure::SyncCpu, 2.0);
        figures
    }

    #[test]
    fn what_is_recorded_holds_until_it_gets_worse() {
        let recorded = Bounds::of(&figures(1.0)).text().unwrap();
        let bounds = Bounds::parse(&recorded).unwrap();
        assert_eq!(bounds.0.len(), 1);
        bounds.check(&figures(1.3)).unwrap();
        let worse = bounds.check(&figures(1.5)).unwrap_err().to_string();
        assert_eq!(
            worse,
            "sync, CPU of kube-informer, typed, JSON is 0.75× that of client-go, JSON, more than 0.68×"
        );
    }

    #[test]
    fn a_line_that_is_no_bound_is_told() {
        let error = Bounds::parse("# a comment\nsync, CPU | ours | peer | much").unwrap_err();
        assert_eq!(error.to_string(), "not a bound: sync, CPU | ours | peer | much");
    }
}
