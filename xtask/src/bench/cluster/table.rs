//! All figures as a table.

use std::fmt::{self, Write as _};

use super::figures::{Figures, Measure};
use super::subjects::Subject;

/// A row per subject, a column per measure, medians.
pub(super) fn of(subjects: &[&Subject], figures: &Figures) -> Result<String, fmt::Error> {
    let mut table = "| |".to_owned();
    for measure in Measure::ALL {
        write!(table, " {} ({}) |", measure.name(), measure.unit())?;
    }
    write!(table, "\n|---|{}", "---:|".repeat(Measure::ALL.len()))?;
    for subject in subjects {
        write!(table, "\n| {} |", subject.name)?;
        for measure in Measure::ALL {
            match figures.median(subject.name, measure) {
                Some(value) => write!(table, " {} |", shown(value))?,
                None => write!(table, " – |")?,
            }
        }
    }
    table.push('\n');
    Ok(table)
}

/// The page in the docs.
pub(super) fn page(pods: &str, rounds: u32, table: &str, ratios: &str, reads: &str) -> String {
    let rounds = in_words(rounds);
    format!(
        "# Informers on a cluster\n\n\
         Written by `cargo xtask bench`: {pods}. A real kube-apiserver and etcd on the same machine; {rounds}, \
         the subjects in turns, each in a process of its own, those in Rust built with link-time optimisation (`lto = \"fat\"`).\n\n\
         ![plot](cluster.svg)\n\n{table}\n\
         A projection keeps a pod's name, namespace, uid, version, owner, node and phase. \
         \"floor\" is this project's client that throws a list's bytes away. RSS per object is what resident memory grew by \
         when all was settled: for Go after a collection that gives memory back to the system, for both Rust subjects with \
         glibc's allocator as it is. The live heap is counted in a run of its own. A relist is forced by a \
         server that restarts without its history. What updates cost is counted until the process rests: a packed cache \
         compresses what has changed half a minute later, which takes of each object what it takes of it after the sync, \
         until all is settled.\n\n\
         ## Ratios\n\n{ratios}\n\
         ## Reads\n\nThe processors' time for objects that nobody holds: the median of 21 parts of 5,000 objects, and of \
         each part the average of the quickest of ten passes.\n\n{reads}"
    )
}

pub(super) fn in_words(rounds: u32) -> String {
    match rounds {
        1 => "one round".to_owned(),
        rounds => format!("medians of {rounds} rounds"),
    }
}

/// Three digits are as many as mean something.
pub(super) fn shown(value: f64) -> String {
    match value.abs() {
        size if size >= 100.0 => format!("{value:.0}"),
        size if size >= 10.0 => format!("{value:.1}"),
        size if size >= 0.1 => format!("{value:.2}"),
        _ => format!("{value:.3}"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::subjects::SUBJECTS;
    use super::*;

    #[test]
    fn what_was_not_measured_is_a_dash() {
        let mut figures = Figures::default();
        figures.add(SUBJECTS[0].name, Measure::SyncCpu, 1.234);
        let table = of(&[&SUBJECTS[0]], &figures).unwrap();
        let row = table.lines().last().unwrap();
        let not_measured = " – |".repeat(Measure::ALL.len() - 2);
        assert_eq!(row, format!("| client-go, protobuf | – | 1.23 |{not_measured}"));
    }
}
